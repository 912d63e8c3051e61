"""Looks: a series looks the same wherever it stands, and like no other."""

from __future__ import annotations

import pytest

from experiments import papers, series
from experiments.judging.claims import UsageError
from figures import style
from operators import registry
from operators.contract import Look
from tests.invented import DECLARED, PAPER

MEASURED = [(figure, line) for figure in DECLARED.values()
            for line in series.measured(PAPER, figure)]  # fmt: skip


def test_a_variant_keeps_its_look_and_an_unknown_one_depends_on_its_id_alone():
    declared = registry.variant("aggregation", "mq")
    look = style.look_of("aggregation", "mq")
    assert (look.title, look.marker, look.ours) == ("MQ", declared.look.marker, False)
    assert look.color == style.COLORS[declared.look.color]
    unknown = style.look_of("aggregation", "mq-cached-heads")
    assert unknown == style.look_of("aggregation", "mq-cached-heads")
    assert (unknown.title, unknown.ours) == ("mq-cached-heads", True)


def test_no_two_series_of_a_figure_look_alike():
    for figure in DECLARED.values():
        looks = [style.look_of(figure.family, line)[1:3]
                 for line in series.measured(PAPER, figure)]  # fmt: skip
        assert len(set(looks)) == len(looks), figure.id


def test_every_series_that_is_measured_has_a_look_of_its_own():
    measured = {(figure.family, line) for figure, line in MEASURED}
    for family, line in measured:
        assert series.drawn(family, line).look is not None, line
    papers = {(figure.family, line) for figure in DECLARED.values() for line in figure.lines}
    assert {each for each in measured if not style.look_of(*each).ours} == papers
    titles = [(family, style.look_of(family, line).title) for family, line in measured]
    assert len(set(titles)) == len(titles)


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


@pytest.mark.parametrize("look", [("teal", "o"), ("blue", "?"), ("blue", "o", "wavy")])
def test_a_look_that_there_is_not_is_refused_by_name(look, monkeypatch):
    drawn = series.Drawn("Mine", Look(*look), True)
    monkeypatch.setattr(series, "drawn", lambda family, name: drawn)
    with pytest.raises(UsageError, match="gate mine declares .*colours are black, .* dashes solid"):
        style.look_of("gate", "mine")
