"""Labelled rows: sorted by the first quantity, a block for each measured value of x."""

from __future__ import annotations

import matplotlib
import pytest
from matplotlib.colors import to_hex

from figures import draw as drawing
from figures import marks, style
from figures.cells import having
from tests import invented_pim_tree as pim_tree
from tests.figures.drawn import (
    brackets,
    carets,
    crosses,
    dots,
    failed,
    picture_of,
    results_of,
    table_of,
    texts,
)
from tests.figures.overlap import overlaps
from tests.invented import (
    at_common_rate,
    equal_runs,
    points_over,
    row,
)

RATES = {"mq": 1e6, "mqlf": 3e6, "tumlsc": 2e6, "mq-cached": 4e6, "tumlsc-panes": 1.5e6}


def rows_of(rates=RATES, x=20, **given):
    return [
        each
        for line, tps in rates.items()
        for each in (
            *points_over("14", line, {x: (tps, 1e7 / tps)}, 1, **given),
            *at_common_rate("14", line, x, 1e7 / tps, 1, **given),
        )
    ]


def drawn(folder, rows):
    table = table_of(results_of(folder, rows), "14", extended=True)
    return table, picture_of(table, "14", extended=True)


def names(axes):
    return [text.get_text().replace("\n", " ") for text in axes.get_yticklabels()]


def test_lines_are_rows_from_the_worst_below_to_the_best_above(tmp_path):
    _, picture = drawn(tmp_path, rows_of())
    ordered = sorted(RATES, key=RATES.get)
    titles = [style.look_of("aggregation", line).title for line in ordered]
    assert names(picture.axes[0]) == titles
    upwards = sorted(dots(picture.axes[0]), key=lambda dot: dot.get_ydata()[0])
    assert [dot.get_xdata()[0] for dot in upwards] == [RATES[line] / 1e6 for line in ordered]
    # The other panels have the same rows.
    for axes in picture.axes:
        assert sorted(dot.get_ydata()[0] for dot in dots(axes)) == [0, 1, 2, 3, 4]


def test_each_place_of_series_that_the_paper_lacks_has_a_block(tmp_path):
    rows = rows_of() + rows_of(x=2) + points_over("14", "mq", {4: (1e6, 2.0)}, 1)
    table, picture = drawn(tmp_path, rows)
    assert set(table["x"]) == {2, 20}
    assert {"2 inputs", "20 inputs"} < set(texts(picture))
    assert len(picture.axes) == 2 * len(set(table["panel"]))


def test_what_is_saturated_or_failed_keeps_its_row(tmp_path):
    rows = [each for each in rows_of() if each["variant"] not in ("mq", "mqlf")]
    rows += [{**each, "saturated": True} for each in rows_of({"mq": 1e6})]
    rows.append(failed("14", "mqlf", 20))
    _, picture = drawn(tmp_path, rows)
    rates, latencies, *_ = picture.axes
    assert names(rates)[0] == "MQLF"
    assert [(each.get_xdata()[0], each.get_ydata()[0]) for each in crosses(rates)] == [(0.0, 0)]
    (caret,) = carets(latencies)
    assert (caret.get_xdata()[0], caret.get_marker()) == (1.0, marks.CARET_RIGHT)


def tied_bars(axes):
    """Return the ends and the row of each grey bar behind a tied value."""
    found = [line for line in axes.lines if to_hex(line.get_color()) == style.TIED]
    return [(*line.get_xdata(), line.get_ydata()[0]) for line in found]


def test_a_bar_leads_from_the_best_value_to_each_that_cannot_be_told_from_it(tmp_path):
    near = RATES | {"mqlf": 3.8e6}
    rows = rows_of(near)
    table, picture = drawn(tmp_path, [*rows, *equal_runs(1.1)])
    # The best line itself is not tied.
    assert set(table[having(table, "tied")]["line"]) == {"mqlf"}
    (best, other) = tied_bars(picture.axes[0])
    assert (best, other) == ((4.0, 4.0, 4), (4.0, 3.8, 3))
    assert "cannot be told from the best" in texts(picture)


def test_a_row_with_more_threads_than_cores_is_grey(tmp_path):
    _, picture = drawn(tmp_path, rows_of({"mq": 1e6, "mq-cached": 2e6}, cores=2))
    colors = [to_hex(each.get_facecolor()) for each in picture.axes[0].patches]
    assert colors == [style.CROWDED] * 2


def test_a_bracket_stands_below_its_dot(tmp_path):
    searched = {"phase": "sustained", "bracket_low_tps": 6e5, "bracket_high_tps": 7e5, "probes": 5}
    _, picture = drawn(tmp_path, [*rows_of(), row("14", "mq", 20, **searched)])
    (ends,) = brackets(picture.axes[0])
    assert list(ends.get_xdata()) == [0.6, 0.7] and set(ends.get_ydata()) == {-0.33}


def test_a_row_with_too_few_latencies_for_the_percentile_says_so(tmp_path):
    found = table_of(results_of(tmp_path, rows_of()), "14", True)
    latency = found["panel"].iloc[-1]
    lost = (found["panel"] == latency) & (found["line"] == "mqlf")
    found.loc[lost, ["value", "low", "high"]] = None
    found["states"] = [("scarce",) if own else () for own in lost]
    picture = picture_of(found, "14", True)
    told = [[text.get_text() for text in axes.texts].count("few") for axes in picture.axes]
    assert told == [0] * (len(told) - 1) + [1]
    assert len(dots(picture.axes[-1])) == len(RATES) - 1


# The axis ends 12 % above the largest value: here exactly at one of its numbers.
@pytest.mark.parametrize("end", [0.1, 0.12, 0.14, 0.16, 0.5])
def test_a_number_at_the_end_of_an_axis_is_in_the_picture(tmp_path, end):
    joins = pim_tree.DECLARED["12c"]
    (*_, at) = pim_tree.places_of(joins)
    lines = (*joins.lines, "pim-tree-lock-step")
    given = [
        {**one, "merge_seconds": one["seconds"] * 1.001 * end / 1.12}
        for line in lines for one in pim_tree.rows_at(joins, line, at)
    ]  # fmt: skip
    results = results_of(tmp_path, given)
    picture = drawing.draw(pim_tree.PAPER, joins.id, results, extended=True).figure
    (axes,) = [each for each in picture.axes if each.get_xlabel() == "Share of merges"]
    with matplotlib.rc_context(style.PARAMETERS):
        numbers = [float(label.get_text()) for label in axes.get_xticklabels()]
        assert end in numbers and axes.get_xlim()[1] == pytest.approx(end, rel=0.002)
        assert overlaps(picture) == []
