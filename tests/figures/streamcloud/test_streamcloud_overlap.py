"""Nothing on a figure of the fifth paper lies over a text, whatever the rows."""

from __future__ import annotations

import pytest

from tests import invented_streamcloud as paper
from tests.covering import covered
from tests.figures.drawn import crosses
from tests.figures.swept import FORMS, SIZES, failed, picture_read, rows_of, written_in

# Throughput, by line and index of the setting.
NASTY = {
    "alike": lambda line, place: (1e6 * (1 + 0.0015 * line + 0.01 * place),),
    "far apart": lambda line, place: (10.0 ** (3 + (line + place) % 5),),
    "growing": lambda line, place: (1.3e5 * (line + 1) * (place + 1),),
}


@covered(figure=paper.DECLARED, kind=NASTY, size=SIZES, form=FORMS)
def test_every_text_can_be_read(figure, kind, size, form, tmp_path):
    rows = rows_of(paper, paper.DECLARED[figure], size, NASTY[kind], cores=3)
    picture_read(paper, figure, tmp_path, rows, form)


@pytest.mark.parametrize("figure", paper.DECLARED.values(), ids=paper.DECLARED)
def test_a_figure_whose_runs_all_failed_says_so(figure, tmp_path):
    rows = failed(rows_of(paper, figure, "quick", NASTY["alike"], cores=3))
    picture = picture_read(paper, figure.id, tmp_path, rows)
    if figure.form in ("bars", "dots", "rows"):
        # Lines with a single point have a red cross at its x.
        assert all(crosses(axes) for axes in picture.axes)
    else:
        assert "no valid run" in written_in(picture)
