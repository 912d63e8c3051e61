"""Nothing on a figure of the second paper lies over a text, whatever the rows."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib
import pytest

from experiments import series
from figures import draw as drawing
from figures import style
from tests.covering import covered
from tests.figures.drawn import results_of
from tests.figures.overlap import overlaps
from tests.invented_ordered import DECLARED, PAPER, places_of, rows_at

SIZES = ("quick", "laptop")


def rows_of(figure, size: str, values: Callable[[int, int], tuple[float, float]], **given):
    """Return rows of every series; ``values(line, place)`` is throughput and latency."""
    found = {}
    for line, name in enumerate(series.measured(figure)):
        for place, at in enumerate(places_of(figure, size)):
            throughput, latency = values(line, place)
            for row in rows_at(figure, name, at, throughput, latency, cores=2, **given):
                found[row["variant"], str(row["settings"]), row["phase"]] = row
    return list(found.values())


NASTY = {
    "alike": lambda line, place: (1e6 * (1 + 0.0015 * line), 5.0 + 0.008 * line),
    "far apart": lambda line, place: (
        10.0 ** (3 + (line + place) % 4),
        10.0 ** ((line + place) % 5 - 2),
    ),
    "growing": lambda line, place: (1.3e5 * (line + 1) * (place + 1), 0.03 * (line + 1)),
}  # fmt: skip


@covered(figure=DECLARED, kind=NASTY, size=SIZES, form=("papers", "extended"))
def test_every_text_can_be_read(figure, kind, size, form, tmp_path):
    given = rows_of(DECLARED[figure], size, NASTY[kind])
    results = results_of(tmp_path, given)
    picture = drawing.draw(PAPER, figure, results, extended=form == "extended").figure
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture)
    assert picture.get_figwidth() in (style.NARROW, style.WIDE)


@pytest.mark.parametrize("figure", DECLARED.values(), ids=DECLARED)
def test_a_figure_whose_runs_all_failed_says_so(figure, tmp_path):
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    given = rows_of(figure, "quick", NASTY["alike"])
    results = results_of(tmp_path, [{**row, **wrong} for row in given])
    picture = drawing.draw(PAPER, figure.id, results).figure
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture)
    told = [text.get_text() for axes in picture.axes for text in axes.texts]
    if figure.form == "rows":
        # A red cross at the lower end of its row.
        assert all(axes.lines for axes in picture.axes)
    else:
        assert "no valid run" in told
