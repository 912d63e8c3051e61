"""The declared figures, typed a second time from the paper's text and the notes on its figures."""

from __future__ import annotations

import importlib

import pytest

from experiments.multiway_aggregation.figures import FIGURES
from operators import registry

# Figure, query, the paper's variants that exist here, x axis. Section 7.3: OS queries compare MQ,
# MQLF and TuMLSC, OI queries MQ, MQLF and WiML; Fig. 9 is at 20 inputs.
FROM_THE_PAPER = {
    9: ("K-OS", {"mq", "mqlf", "tumlsc"}, "rate"),
    13: ("k-OS", {"mq", "mqlf", "tumlsc"}, "inputs"),
    14: ("K-OS", {"mq", "mqlf", "tumlsc"}, "inputs"),
    15: ("k-OI", {"mq", "mqlf"}, "inputs"),
    16: ("K-OI", {"mq", "mqlf"}, "inputs"),
}


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {f.number: (f.query, set(f.variants), f.axis) for f in FIGURES}
    assert declared == FROM_THE_PAPER
    assert {f.number: f.inputs for f in FIGURES if f.axis == "rate"} == {9: 20}


def test_ids_are_unique_and_follow_the_numbers():
    assert [f.id for f in FIGURES] == [f"fig_{f.number:02}" for f in FIGURES]
    assert len({f.id for f in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_every_variant_exists_and_takes_the_query(figure):
    for variant_id in figure.measured:
        variant = registry.variant(figure.family, variant_id)
        assert variant.bench
    assert set(figure.variants) <= set(figure.extended_variants)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_every_figure_has_a_script_that_draws_it(figure):
    module = importlib.import_module(f"figures.{figure.paper}.{figure.id}")
    assert callable(module.select)
    assert callable(module.draw)


def test_the_roles_are_those_of_the_data_the_queries_run_on():
    assert {f.query: f.role for f in FIGURES} == {
        "K-OS": "comments",
        "k-OS": "meters",
        "k-OI": "meters",
        "K-OI": "comments",
    }
