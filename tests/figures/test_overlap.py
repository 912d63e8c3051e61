"""Nothing on a figure lies over a text, whatever the rows: they are invented to be nasty."""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import pytest

from figures import draw as drawing
from figures import load, plot, style
from tests.covering import covered
from tests.figures.drawn import picture_of, results_of, table_of
from tests.figures.nasty import NASTY
from tests.figures.overlap import overlaps, texts_of
from tests.invented import DECLARED, PAPER

# One of each form, with the most series, and of each axis.
FIGURES = ("7", "8", "9", "16", "16x", "28")


def long_named(monkeypatch):
    """Give every variant a name of thirty letters, some of them unbreakable."""
    given = style.look_of

    def look_of(family, variant):
        look = given(family, variant)
        filler = ("of-many-words-", "withoutanyplacetobreak")[len(variant) % 2]
        return look._replace(title=f"{variant}-{filler * 3}"[:30])

    monkeypatch.setattr(style, "look_of", look_of)


@covered(figure=FIGURES, kind=NASTY, form=("papers", "extended"), names=("names", "long-names"))
def test_every_text_can_be_read(figure, kind, form, names, tmp_path, monkeypatch):
    if names == "long-names":
        long_named(monkeypatch)
    results = results_of(tmp_path, NASTY[kind](DECLARED[figure]))
    picture = drawing.draw(PAPER, figure, results, extended=form == "extended").figure
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture)
        sizes = {text.get_fontsize() for text in texts_of(picture)}
    assert sizes <= {style.SMALL, style.FONT_SIZE}
    assert picture.get_figwidth() in (style.NARROW, style.WIDE)


@pytest.mark.parametrize("extended", [False, True], ids=["papers", "extended"])
@pytest.mark.parametrize("figure", [each for each in DECLARED if each not in FIGURES])
def test_every_other_figure_can_be_read(figure, extended, tmp_path):
    results = results_of(tmp_path, NASTY["few"](DECLARED[figure]))
    picture = drawing.draw(PAPER, figure, results, extended=extended).figure
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture)


def test_labels_of_many_panels_are_broken_to_fit(tmp_path):
    names = ("throughput_tps", "latency_ms_mean", "latency_ms_p99", "common_latency_ms_mean",
             "common_latency_ms_p99")  # fmt: skip
    figure = replace(DECLARED["16"], extended_quantities=names)
    rows = NASTY["few"](figure)
    rows += [{**row, "phase": "common"} for row in rows if row["phase"] == "open"]
    rows = [{**row, "latency_samples": 1_000} for row in rows]
    table = table_of(results_of(tmp_path, rows), figure, True)
    with matplotlib.rc_context(style.PARAMETERS):
        picture = picture_of(table, figure, True)
        assert len(picture.axes) == 2 * len(names)
        assert not overlaps(picture)


def test_the_test_sees_what_lies_over_a_text(tmp_path):
    results = results_of(tmp_path, NASTY["few"](DECLARED["7"]))
    assert isinstance(results, load.Results)
    picture = drawing.draw(PAPER, "7", results).figure
    axes = picture.axes[0]
    axes.text(0.5, 0.5, "one", transform=axes.transAxes)
    axes.text(0.51, 0.52, "other", transform=axes.transAxes)
    dot = axes.lines[-1]
    axes.text(dot.get_xdata()[0], dot.get_ydata()[0], "on a marker", ha="center", va="center")
    axes.text(0.5, 0.0, "on the frame", transform=axes.transAxes, va="center")
    picture.text(0.9, 0.5, "far too long for the figure")
    axes.plot([0.0, 1.0], [0.8, 0.9], transform=axes.transAxes, zorder=2)
    axes.text(0.5, 0.85, "on a line", transform=axes.transAxes, va="center")
    axes.bar(0.0, 0.4 * axes.get_ylim()[1], zorder=1)
    axes.text(0.0, 0.4 * axes.get_ylim()[1], "on a bar's edge", va="center")
    found = " ".join(overlaps(picture))
    for told in ("'one' and 'other'", "'on a marker' and a marker", "'on the frame' and the lower",
                 "leaves the figure", "'on a line' and a line", 'edge" and a bar'):  # fmt: skip
        assert told in found


def test_a_line_behind_a_bar_lies_over_no_text_in_it():
    with matplotlib.rc_context(style.PARAMETERS):
        picture, [axes] = plot.canvas(style.WIDE, (1, 1), 1.0, "t", [], [])
        axes.set(xlim=(0, 4), ylim=(0, 1), xticks=[], yticks=[])
        for place in (1, 3):
            axes.bar(place, 0.9, 0.7, zorder=1)
            axes.text(place, 0.5, f"in bar {place}", ha="center", va="center")
        axes.plot([0.5, 1.5], [0.5, 0.5], zorder=0.9)
        assert not overlaps(picture)
        # In front of the bar, where the text is wider than the bar.
        axes.plot([2.5, 3.5], [0.5, 0.5], zorder=1.1)
        axes.text(1.3, 0.5, "over its edge", va="center")
        found = " ".join(overlaps(picture))
        assert "'in bar 3' and a line" in found and "'over its edge' and a line" in found
        assert "'in bar 1' and a line" not in found


def test_a_number_that_reaches_the_panel_beside_it_is_seen():
    with matplotlib.rc_context(style.PARAMETERS):
        picture, panels = plot.canvas(style.WIDE, (1, 2), 1.0, "t", [], [], between=(0.3, 0.0))
        for axes in panels:
            axes.set_xticks([])
            axes.set_yticks([0.5], ["0.5"])
            axes.set_title("panel")
        assert not overlaps(picture)
        panels[1].set_yticks([0.5], ["0.00005"])
        assert overlaps(picture) == ["'0.00005' and the panel 'panel'"]
