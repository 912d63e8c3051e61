"""The series of a figure: which are shown, and how and at which settings each is drawn and run."""

from __future__ import annotations

import dataclasses

import pytest

from experiments import papers, series
from experiments.declare import Series
from operators import registry
from operators.contract import Look, Shown, UsageError

PAPER = "multiway_aggregation"


def test_a_series_looks_as_its_variant_says():
    variant = registry.variant("gate", "t-gate")
    assert series.drawn("gate", Series("t-gate")) == (variant.title, variant.look, False, True)
    shown = variant.shown[0]
    ours = series.drawn("gate", Series(f"t-gate:{shown.settings}"))
    assert ours == (shown.title, shown.look, True, True)
    assert not series.drawn("aggregation", Series("tumlsc:unit_divisor=10")).rival
    assert series.drawn("gate", Series("t-gate-batch")).ours


def test_settings_that_no_variant_shows_are_told_in_the_title():
    assert series.drawn("gate", Series("t-gate:ahead=64,levels=3")) == (
        "T-Gate, ahead 64, levels 3", None, True, True,
    )  # fmt: skip


def test_a_series_is_shown_as_its_variant_says_in_whichever_order_its_settings_stand():
    (shown,) = registry.variant("reorder", "lock-based").shown
    turned = ",".join(reversed(shown.settings.split(",")))
    assert turned != shown.settings
    assert series.drawn("reorder", Series(f"lock-based:{turned}")).title == shown.title


def test_a_variant_that_is_gone_is_shown_by_its_id():
    assert series.drawn("gate", Series("scalegate:x=1")) == ("scalegate:x=1", None, True, True)
    assert series.drawn("joins", Series("any")) == ("any", None, True, True)


@pytest.fixture
def gates(monkeypatch):
    """Replace the registered gates by these."""

    def know(*variants):
        monkeypatch.setattr(registry, "variants", lambda family=None: list(variants))

    return know


def gate(**changes):
    return dataclasses.replace(
        registry.variant("gate", "t-gate"), **{"extends": {}, "shown": (), **changes}
    )


def test_a_variant_says_itself_which_figures_it_extends(gates):
    figure = papers.figure(PAPER, "7")
    ours = gate(id="new", extends={PAPER: ("7", "8a")})
    elsewhere = gate(id="other", extends={PAPER: ("8",), "another_paper": ("7",)})
    gates(elsewhere, ours)
    assert series.measured(figure) == (*figure.lines, "new")
    theirs = dataclasses.replace(figure, paper="another_paper")
    assert series.measured(theirs) == (*figure.lines, "other")


def test_so_does_each_of_its_series_at_other_settings(gates):
    figure = papers.figure(PAPER, "7")
    look = Look("blue", "o")
    gates(
        gate(
            id="new",
            shown=(
                Shown("levels=1", "New, 1 level", look, {PAPER: ("7",)}),
                Shown("levels=2", "New, 2 levels", look, {PAPER: ("8",)}),
            ),
        )
    )
    assert series.measured(figure) == (*figure.lines, "new:levels=1")


def test_a_line_of_the_paper_is_measured_once(gates):
    figure = papers.figure(PAPER, "7")
    gates(gate(id=figure.lines[0], extends={PAPER: ("7",)}))
    assert series.measured(figure) == figure.lines


def test_a_variant_that_does_not_take_the_query_extends_no_figure_of_it(monkeypatch):
    unsorted = dataclasses.replace(
        registry.variant("aggregation", "wiml"), extends={PAPER: ("13", "15")}
    )
    monkeypatch.setattr(registry, "variants", lambda family=None: [unsorted])
    sensitive, insensitive = (papers.figure(PAPER, figure_id) for figure_id in ("13", "15"))
    assert "wiml" not in series.measured(sensitive)
    assert "wiml" in series.measured(insensitive)


def test_the_settings_of_a_series_are_the_figure_s_the_swept_its_own_and_defaults():
    figure = papers.figure(PAPER, "28")
    found = series.resolved(figure, Series("tumlmc:ahead=64"), {"inputs": 2, "update_threads": 4})
    assert found == {
        **registry.family("aggregation").resolve(registry.variant("aggregation", "tumlmc"), {}),
        "query": "k-OS", "inputs": 2, "update_threads": 4, "ahead": 64,
    }  # fmt: skip
    # A series' explicit setting overrides the sweep.
    assert series.resolved(figure, Series("tumlmc:inputs=3"), {"inputs": 2})["inputs"] == 3


def test_settings_out_of_their_limits_are_refused():
    figure = papers.figure(PAPER, "28")
    with pytest.raises(UsageError, match="inputs must be between 1 and 512, received 0"):
        series.resolved(figure, Series("tumlmc"), {"inputs": 0})
    with pytest.raises(UsageError, match="aggregation tumlmc has no setting 'speed'"):
        series.resolved(figure, Series("tumlmc:speed=1"), {})
    with pytest.raises(UsageError, match="unknown variant 'none'"):
        series.resolved(figure, Series("none"), {})
