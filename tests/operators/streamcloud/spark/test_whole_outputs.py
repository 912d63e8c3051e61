"""An incomplete output is never returned: here Spark has left none, or a part."""

from __future__ import annotations

from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud.carriers.spark import running
from operators.streamcloud.carriers.spark.forms import OnSpark
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.run import SPARK, run_plan, run_streamcloud
from tests.operators.streamcloud.carrying import inputs_of, plan_of
from tests.operators.streamcloud.spark.forms import BOUNDED
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named


@pytest.fixture
def idle(monkeypatch):
    """Let Spark run nothing, as if another run had taken the rows away."""
    monkeypatch.setattr(running, "spark_session", lambda *_, **__: None)
    monkeypatch.setattr(running, "_runner", lambda how: lambda job: job.begin(how.form))


def test_outputs_that_are_not_whole_are_refused(idle, tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(1), tuples=10)
    inputs = inputs_of(query, streams)
    with pytest.raises(UsageError, match=f"{tmp_path}: a part .* is missing"):
        run_streamcloud(query, inputs, backend=SPARK, work=tmp_path)
    words, coding = encode_inputs(query, inputs)
    kept = []
    with pytest.raises(UsageError, match="is missing"):
        run_plan(plan_of(query, streams), words, coding, SPARK, keep=kept.append,
                 spark=OnSpark(form=BOUNDED))  # fmt: skip
    assert not kept, "they were written"
