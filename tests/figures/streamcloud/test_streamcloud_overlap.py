"""Nothing on a figure of the fifth paper lies over a text, whatever the rows."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib
import pytest

from experiments import series
from figures import draw as drawing
from figures import style
from tests.covering import covered
from tests.figures.drawn import footer_of, results_of
from tests.figures.overlap import overlaps
from tests.invented_streamcloud import DECLARED, PAPER, places_of, rows_at

SIZES = ("quick", "laptop")


def rows_of(figure, size: str, values: Callable[[int, int], float], **given):
    """Return rows of every series; ``values(line, place)`` is the throughput."""
    found = {}
    for line, name in enumerate(series.measured(figure)):
        for place, at in enumerate(places_of(figure, size)):
            for row in rows_at(figure, name, at, values(line, place), cores=3, **given):
                about = (row["phase"], row["rate_fraction"])
                found[row["variant"], str(row["settings"]), *about] = row
    return list(found.values())


NASTY = {
    "alike": lambda line, place: 1e6 * (1 + 0.0015 * line + 0.01 * place),
    "far apart": lambda line, place: 10.0 ** (3 + (line + place) % 5),
    "growing": lambda line, place: 1.3e5 * (line + 1) * (place + 1),
}


@covered(figure=DECLARED, kind=NASTY, size=SIZES, form=("papers", "extended"))
def test_every_text_can_be_read(figure, kind, size, form, tmp_path):
    results = results_of(tmp_path, rows_of(DECLARED[figure], size, NASTY[kind]))
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
    # Lines that have one place each have a cross there.
    assert "no valid run" in told or "red cross: no valid run" in footer_of(picture)
