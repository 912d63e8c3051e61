"""The text below a picture: always a single line."""

from __future__ import annotations

import pytest

from figures import plot, style
from figures.footers import line_of
from figures.load import COUNTED, FLOORS

XEON = "Intel(R) Xeon(R) Processor @ 2.10GHz, 16 cores"


def read(*told: str) -> str:
    return line_of(told).replace(style.BOUND, " ")


def test_it_has_machine_cores_processes_and_floor_and_nothing_else():
    told = [XEON, "profile quick", f"{COUNTED}6 processes of 2 rounds", "data: streams",
            f"{FLOORS}throughput 12 %, on grey 40 %; latency 2.1 times"]  # fmt: skip
    line = read(*told)
    assert line.startswith("Intel")
    assert line.endswith("16 cores · n = 6 processes · equal runs within 12 %")
    assert read("nothing was measured for this figure") == "nothing was measured for this figure"


@pytest.mark.parametrize("words", [1, 4, 40])
def test_it_fits_below_the_narrow_width(words):
    told = ["Long" * 5 + " name" * words + ", 128 cores", f"{COUNTED}6 to 12 processes",
            f"{FLOORS}throughput 2.4 times"]  # fmt: skip
    line = line_of(told)
    assert style.width_of(line, style.SMALL) <= plot.room_of(style.NARROW)
    assert "128 cores" in line and "2.4 times" in line
