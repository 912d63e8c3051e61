"""The forest plot: every measured statement once, on one axis, and nothing cut."""

from __future__ import annotations

import csv
import io
from math import isclose

import matplotlib
import pytest
from matplotlib.patches import Rectangle

from experiments.judging import claims
from experiments.judging.pool import DIRECTIONS
from figures import forest, style
from figures.files import FOREST, KINDS
from figures.forest_page import drawn, small
from figures.forest_rows import TICKS, Axis, Group, Row, csv_of, groups_of
from figures.statements import paper_ratio
from tests.figures.overlap import overlaps
from tests.invented import PAPER, as_in_the_paper, write_raw
from tests.invented_paper import paper_rows

LONG = "a comparison of many words and of one withoutanyplacetobreakwhereverthelinemayend " * 3


def row(ratio=2.0, direction="holds", **given):
    fields = {
        "finding": "asked", "statement": "said", "direction": direction, "label": "A over B",
        "ratio": ratio, "low": None, "high": None, "interval": "", "floor": None, "paper": None,
        "counts": True, "quote": "A is faster",
    }  # fmt: skip
    return Row(**fields | given)


def group(*rows, absent=()):
    return Group("asked", "Is A faster?", "holds", rows, absent)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    files = write_raw(folder / "raw", paper_rows(cores=2, repetitions=1))
    return claims.judge(PAPER, files, folder / "claims" / f"{PAPER}.json")


def test_each_statement_stands_once_under_its_finding(verdicts):
    groups = groups_of(verdicts)
    listed = [each.statement for own in groups for each in (*own.rows, *own.absent)]
    wanted = [claim["id"] for claim in verdicts["claims"] if not claim["repeats"]
              and not (claim["comparator"] == "absolute" and claim["parts"])]  # fmt: skip
    assert sorted(listed) == sorted(wanted)
    by_finding = {each["id"]: set(each["statements"]) for each in verdicts["findings"]}
    for each in groups:
        own = {row.statement for row in each.rows} | {one.statement for one in each.absent}
        assert own <= by_finding[each.id]


def test_a_row_has_the_numbers_of_the_verdict(verdicts):
    told = {claim["id"]: claim for claim in verdicts["claims"]}
    rows = [row for each in groups_of(verdicts) for row in each.rows]
    assert len(rows) > 20
    for each in rows:
        claim = told[each.statement]
        assert (each.ratio, each.floor) == (claim["ratio"], claim["floor"])
        assert [each.low, each.high] == (claim["interval"] or [None, None])


@pytest.mark.parametrize(
    ("given", "ratio"),
    [({}, 10.0), ({"wanted": "lower"}, 0.1), ({"wanted": "falls"}, 0.1), ({"value": "lost"}, None),
     ({"value": None}, None), ({"unit": "ms"}, None)],
)  # fmt: skip
def test_the_number_of_a_paper_is_on_the_scale_of_the_ratio(given, ratio):
    assert paper_ratio({"unit": "times", "value": 10, "wanted": "higher"} | given) == ratio


@pytest.mark.parametrize(
    ("values", "ends"),
    [((1.1,), (0.5, 2.0)), ((3.0,), (0.5, 5.0)), ((0.3, 7.0), (0.2, 10.0)),
     ((1e-6, 1e6), (TICKS[0], TICKS[-1]))],
)  # fmt: skip
def test_the_axis_ends_at_ticks_and_not_further_than_the_last(values, ends):
    axis = Axis.of([group(*(row(value) for value in values))])
    assert (axis.low, axis.high) == ends
    assert (axis.share(axis.low), axis.share(axis.high)) == (0.0, 1.0)
    assert isclose(axis.share((axis.low * axis.high) ** 0.5), 0.5)
    assert [axis.beyond(value) for value in (axis.low / 2, 1.0, axis.high * 2)] == [-1, 0, 1]


def test_nothing_lies_over_a_text_and_nothing_is_cut(verdicts):
    picture = forest.draw_forest(verdicts)
    with matplotlib.rc_context(style.PARAMETERS):
        assert overlaps(picture) == []
    written = " ".join(text.get_text() for axes in picture.axes for text in axes.texts)
    assert "…" not in written and "..." not in written
    for each in groups_of(verdicts):
        assert all(word in written for word in each.question.split())


def test_long_words_wrap(monkeypatch, verdicts):
    many = [group(*(row(2.0, each, label=LONG, paper=3.0, low=1e-3, high=4e4) for each in
                    DIRECTIONS[:4]))]  # fmt: skip
    monkeypatch.setattr(forest, "groups_of", lambda told: many)
    picture = forest.draw_forest(verdicts)
    with matplotlib.rc_context(style.PARAMETERS):
        assert overlaps(picture) == []
    written = "".join(text.get_text() for text in picture.axes[0].texts).replace(" ", "")
    assert written.count(LONG.replace(" ", "")) == 4


def test_floor_zone_interval_and_paper_are_drawn(monkeypatch, verdicts):
    one = row(2.0, low=1.5, high=3.0, floor=1.25, paper=4.0)
    monkeypatch.setattr(forest, "groups_of", lambda told: [group(one)])
    (axes,) = forest.draw_forest(verdicts).axes
    bars = [each for each in axes.patches if isinstance(each, Rectangle)]
    ends = sorted((each.get_x(), each.get_x() + each.get_width()) for each in bars)
    assert [(round(low, 3), round(high, 3)) for low, high in ends] == [(0.8, 1.25), (0.952, 1.05)]
    points = {line.get_marker(): list(line.get_xdata()) for line in axes.lines}
    assert points["o"] == [2.0] and points["D"] == [4.0] and points["None"] == [1.5, 3.0]


def test_answers_differ_by_more_than_colour():
    assert len({look[1:] for look in forest.MARKS.values()}) == len(forest.MARKS) == 4


def test_a_ratio_beyond_the_axis_is_an_arrow(monkeypatch, verdicts):
    monkeypatch.setattr(forest, "groups_of", lambda told: [group(row(1e6), row(1e-6))])
    (axes,) = forest.draw_forest(verdicts).axes
    markers = {line.get_marker(): line.get_xdata()[0] for line in axes.lines}
    assert markers == {">": TICKS[-1], "<": TICKS[0]}


def test_the_files_are_written_and_equal_verdicts_give_equal_bytes(verdicts, tmp_path):
    file = tmp_path / "verdicts.json"
    files = write_raw(tmp_path / "raw", as_in_the_paper(cores=2, repetitions=1))
    claims.judge(PAPER, files, file)
    first, again = (forest.write_forest(file, tmp_path / name) for name in ("one", "other"))
    assert sorted(path.name for path in first) == sorted(f"{FOREST}.{kind}" for kind in KINDS)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_the_table_has_every_row_and_why_a_number_is_missing(verdicts):
    groups = groups_of(verdicts)
    table = list(csv.DictReader(io.StringIO(csv_of(groups))))
    assert list(table[0]) == list(Row._fields)
    assert len(table) == sum(len(each.rows) + len(each.absent) for each in groups)
    absent = {one.statement: one.reason for each in groups for one in each.absent}
    assert absent
    for each in table:
        assert (each["ratio"] == "") == (each["statement"] in absent)
        if each["statement"] in absent:
            assert each["interval"] == absent[each["statement"]]


def test_positions_on_the_page_are_those_of_the_axis():
    axis = Axis(0.5, 2.0)
    markup = drawn(row(1.0, low=0.5, high=2.0, floor=2.0**0.5, paper=2.0), axis, "grid")
    assert '<rect class="floor" x="25.00%" width="50.00%"' in markup
    # The zone of practical equality is above the noise floor, and below the marks.
    assert markup.index("floor") < markup.index('<use href="#grid"/>') < markup.index("<line")
    assert '<line class="yes" x1="0.00%" x2="100.00%"' in markup
    assert '<svg x="100.00%" y="50%" overflow="visible"><path class="paper"' in markup
    assert '<svg x="50.00%" y="50%" overflow="visible"><path class="yes"' in markup


def test_a_small_plot_has_a_mark_a_row():
    markup = small([group(row(1.0), row(2.0)), group(row(0.5, "does not hold"))])
    assert markup.count("<circle") == 3
    assert markup.count('<circle class="no"') == 1
