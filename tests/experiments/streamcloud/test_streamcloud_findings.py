"""Every question has two answers: from results as the paper reports them, and from opposite ones.

Results are invented at the paper's sizes, on a machine with a core for each thread. So the answers
depend on the statements, and not on a machine that is too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from experiments.judging.claims import judge_paper
from experiments.judging.findings import findings_of
from experiments.judging.pool import DOES_NOT_HOLD, HOLDS
from experiments.judging.published import read_published
from tests import invented_streamcloud
from tests.invented_streamcloud import PAPER, of_every_figure, places_of
from tests.quiet import floors

CORES = 1_000
# Throughput of the strategies, and the uses of the processor time of their nodes.
HEIGHT = {"subquery-cluster": 5.0, "operator-cluster": 2.0, "query-cluster": 1.0}
AGAINST = {"subquery-cluster": 1.0, "operator-cluster": 2.0, "query-cluster": 5.0}
OTHER = {"subquery-cluster": 0.1, "operator-cluster": 0.3, "query-cluster": 0.45}
IDLE = {"subquery-cluster": 0.08, "operator-cluster": 0.35, "query-cluster": 0.02}
# The gain of instances: in proportion, unless comparisons are avoided or windows are shared.
POWER = {"join-by-nested-loop": 1.5, "fixed-windows": 1.2}
LONG, SHORT = 2_400.0, 100.0


def queue_of(row: Mapping[str, Any], alike: bool) -> float | None:
    """Return a queue: none at first, for a join one that more instances shorten, and then any."""
    share, join = row["rate_fraction"], row["settings"]["query"].startswith("join")
    if share is None or share > 1.0:
        return None if share is None else 1e6
    if not alike:
        # Only the slowest rate has the queue, and more instances lengthen it.
        long = share < 0.5 or not join
        return 1e5 if long else SHORT * row["settings"]["instances"] ** 0.3
    if join and share > 0.5:
        return LONG * (1.0 + 10.0 / row["settings"]["instances"])
    return 0.0


def told(row: dict[str, Any], alike: bool) -> dict[str, Any]:
    """Return a row in agreement with the paper, or as it would be if the paper were wrong."""
    settings, own, strategy = row["settings"], {}, row["variant"]
    query, instances = settings["query"], settings["instances"]
    grown = instances ** (POWER.get(query, 1.0) if alike else -0.3)
    factor = grown * (HEIGHT if alike else AGAINST)[strategy]
    for name in ("throughput_tps", "achieved_tps"):
        own[name] = row.get(name) and row[name] * factor
    if row["phase"] == "open" and (row["rate_fraction"] or 0) > 1.2 and not alike:
        own["achieved_tps"] /= 2
    if alike and query == "join-by-nested-loop":
        own["compared_a_tuple"] = row["compared_a_tuple"] / instances**0.5
    if row.get("processor_use") is not None:
        own["processor_use"] = row["processor_use"] if alike else 0.5
    if (queue := queue_of(row, alike)) is not None:
        own["queue_tuples"] = queue
    if row.get("communication_share") is not None:
        other, idle = OTHER[strategy], IDLE[strategy]
        if not alike:
            other, idle = 0.39 - other / 2, 0.6 - idle
        own |= {"communication_share": other, "idle_share_measured": idle}
        own["processing_share"] = 1.0 - other - idle
    return row | own


@pytest.mark.parametrize(("alike", "answer"), [(True, HOLDS), (False, DOES_NOT_HOLD)])
def test_each_question_is_answered_both_ways(monkeypatch, alike, answer):
    monkeypatch.setattr(
        invented_streamcloud, "places_of", lambda figure: places_of(figure, "paper")
    )
    # Nothing is published about the figures on Spark, which are not the paper's.
    rows = [
        told(row, alike)
        for row in of_every_figure(repetitions=3, cores=CORES)
        if row["variant"] in HEIGHT
    ]
    claims = judge_paper(PAPER, rows, floors())
    found = findings_of(PAPER, read_published(PAPER).findings, claims)
    wrong = {
        each["id"]: {
            claim["id"]: claim["reason"] for claim in claims
            if claim["id"] in each["counted"] and claim["direction"] != answer
        }
        for each in found if each["direction"] != answer
    }  # fmt: skip
    assert wrong == {}
