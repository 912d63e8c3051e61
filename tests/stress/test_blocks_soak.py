"""A soak of pipelines in blocks: memory and lateness stay level, at full rate and at a rate.

A short one; `make soak` runs ten minutes of each.
"""

from __future__ import annotations

import re

import pytest

from experiments import soak
from operators.core.jit import INTERPRETED

pytestmark = [
    pytest.mark.full,
    pytest.mark.xdist_group("pipeline-parametric"),
    pytest.mark.skipif(INTERPRETED, reason="a few hundred tuples a second"),
]

SECONDS = 20
BLOCKS = ("--variant", "pipeline/ct", "--set", "form=blocks", "parts=1")


@pytest.mark.parametrize("walk", ["completion", "ends", "scheduler"])
def test_memory_and_lateness_are_level_at_a_rate(walk, capsys):
    # A fiftieth of what two cores take, so that other programs may run.
    given = ["--seconds", str(SECONDS), "--rate", "20000", *BLOCKS, f"walk={walk}"]
    assert soak.main(given) == 0, capsys.readouterr().err
    told = capsys.readouterr().err
    assert re.search(r"tuples/s for [12]\d s, memory .* lateness .* output right", told), told


def test_memory_is_level_at_full_rate(capsys):
    assert soak.main(["--seconds", str(SECONDS), *BLOCKS]) == 0, capsys.readouterr().err
