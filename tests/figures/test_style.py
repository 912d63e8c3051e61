"""Looks: a series looks the same in every figure, and like no other."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_rgb

from experiments import papers, series
from experiments.declare import Series
from experiments.judging.points import UsageError
from figures import style
from operators import registry
from operators.contract import Look
from tests.invented import DECLARED

MEASURED = [(figure, line) for figure in DECLARED.values()
            for line in series.measured(figure)]  # fmt: skip


def test_a_variant_keeps_its_look_and_an_unknown_one_depends_on_its_id_alone():
    declared = registry.variant("aggregation", "mq")
    look = style.look_of("aggregation", "mq")
    assert (look.title, look.marker, look.ours) == ("MQ", declared.look.marker, False)
    assert look.color == style.COLORS[declared.look.color]
    unknown = style.look_of("aggregation", "mq-cached-heads")
    assert unknown == style.look_of("aggregation", "mq-cached-heads")
    assert (unknown.title, unknown.ours) == ("mq-cached-heads", True)


def shown_as(figure, line):
    """Return how a form draws a series: over tuples in flight a variant is one line."""
    own = line.variant if figure.form == "in_flight" else line
    return style.look_of(figure.family, own)


def test_no_two_lines_of_a_figure_look_alike():
    for figure in DECLARED.values():
        looks = {shown_as(figure, line) for line in series.measured(figure)}
        assert len({look[1:3] for look in looks}) == len(looks), figure.id


def test_every_line_that_is_measured_has_a_look_of_its_own():
    titles = {}
    for figure, line in MEASURED:
        own = Series(line.variant) if figure.form == "in_flight" else line
        assert series.drawn(figure.family, own).look is not None, line
        titles[figure.family, own] = style.look_of(figure.family, own).title
    assert len(set(titles.values())) == len(titles)
    papers = {(figure.family, line) for figure in DECLARED.values() for line in figure.lines}
    assert {each for each in titles if not style.look_of(*each).ours} <= papers


def test_letters_in_a_variants_colour_are_dark_enough_to_read():
    for color in style.COLORS.values():
        dark = style.readable(color)
        parts = [part**2.2 for part in to_rgb(dark)]
        bright = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        assert 1.05 / (bright + 0.05) >= 4.4, color


def test_text_is_broken_at_blanks_then_at_hyphens_then_anywhere():
    told = style.wrapped("one two-three " + "x" * 40, 0.5, style.SMALL)
    assert told[0] == "one two-" and "".join(told).replace(" ", "").endswith("x" * 40)
    assert all(style.width_of(line, style.SMALL) <= 0.5 for line in told)
    assert style.wrapped("", 1.0, 7.0) == []


def test_values_of_a_swept_setting_look_by_their_order():
    looks = [style.swept_look(place, f"{place} inputs") for place in range(len(style.SWEPT))]
    assert len({look[1:] for look in looks}) == len(looks)
    assert looks[0].title == "0 inputs"


@pytest.mark.parametrize("variant", registry.variants(), ids=lambda one: f"{one.family}-{one.id}")
def test_what_a_variant_declares_of_its_look_can_be_drawn(variant):
    names = [variant.id, *(f"{variant.id}:{shown.settings}" for shown in variant.shown)]
    assert all(style.look_of(variant.family, name).title for name in names)
    for shown in (variant, *variant.shown):
        for paper, figures in shown.extends.items():
            assert all(papers.figure(paper, figure) for figure in figures)


@pytest.mark.parametrize(
    ("paper", "figure"),
    [(paper.id, figure) for paper in papers.papers() for figure in paper.figures if figure.lines],
    ids=lambda each: getattr(each, "id", each),
)
def test_no_two_lines_of_a_papers_figure_look_alike_and_none_is_named_by_raw_settings(
    paper, figure
):
    looks = {shown_as(figure, line) for line in figure.lines}
    assert len({look[1:3] for look in looks}) == len(looks)
    assert not [look.title for look in looks if "_" in look.title]


# In grey an x looks like a failed point.
REFUSED = [("teal", "o"), ("blue", "?"), ("blue", "x"), ("blue", "_"), ("blue", "o", "wavy")]


@pytest.mark.parametrize("look", REFUSED)
def test_a_look_that_there_is_not_is_refused_by_name(look, monkeypatch):
    drawn = series.Drawn("Mine", Look(*look), True)
    monkeypatch.setattr(series, "drawn", lambda family, name: drawn)
    with pytest.raises(UsageError, match="gate mine declares .*colours are black, .* dashes solid"):
        style.look_of("gate", "mine")
