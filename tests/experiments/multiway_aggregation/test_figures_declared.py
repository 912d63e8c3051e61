"""The declared figures, typed a second time from the paper's text and the notes on its figures."""

from __future__ import annotations

import importlib

import pytest

from experiments import families, series
from experiments.multiway_aggregation.figures import FIGURES
from operators import registry
from operators.aggregation.queries import QUERIES

OS, OI = {"mq", "mqlf", "tumlsc"}, {"mq", "mqlf", "wiml"}
GROUPS = (("k-OS", "K-OS", "k-OI", "K-OI"), ("w-OS", "W-OS", "w-OI", "W-OI"),
          ("f-OS", "F-OS", "f-OI", "F-OI"))  # fmt: skip
# Figure, query, the paper's variants, x axis. Sections 7.2 to 7.4: OS queries compare MQ, MQLF and
# TuMLSC, OI queries MQ, MQLF and WiML; TuMLMC is shown alone.
FROM_THE_PAPER = {
    7: ("", {"t-gate", "skip-list"}, "inputs"),
    8: ("K-OS", OS, "durations"),
    9: ("K-OS", OS, "rate"),
    10: ("K-OI", OI, "durations"),
    11: ("K-OI", OI, "rate"),
    **{
        first + place: (query, OS if query.endswith("OS") else OI, "inputs")
        for first, group in zip((13, 18, 23), GROUPS, strict=True)
        for place, query in enumerate(group)
    },
    **{
        28 + place: (query, {"tumlmc"}, "update_threads")
        for place, query in enumerate(("k-OS", "K-OS", "w-OS", "W-OS", "f-OS", "F-OS"))
    },
}
MEASURED = [(figure, one) for figure in FIGURES for one in figure.measured]


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {f.number: (f.query, set(f.variants), f.axis) for f in FIGURES}
    assert declared == FROM_THE_PAPER
    assert {f.inputs for f in FIGURES if f.axis in ("rate", "durations")} == {(20,)}
    assert {f.inputs for f in FIGURES if f.axis == "update_threads"} == {(2, 20)}
    assert {f.inputs for f in FIGURES if f.axis == "inputs"} == {()}


def test_ids_are_unique_and_follow_the_numbers():
    assert [f.id for f in FIGURES] == [f"fig_{f.number:02}" for f in FIGURES]
    assert len({f.id for f in FIGURES}) == len(FIGURES)


@pytest.mark.parametrize(("figure", "one"), MEASURED, ids=lambda x: getattr(x, "id", x))
def test_every_series_exists_takes_the_query_and_has_its_settings(figure, one):
    variant_id, settings = series.parse(one)
    variant = registry.variant(figure.family, variant_id)
    assert variant.bench
    assert set(settings) <= set(families.setting_names(variant))
    if figure.query:
        assert QUERIES[figure.query].function in variant.functions
    if figure.axis == "update_threads":
        assert "update_threads" in families.setting_names(variant)


def test_the_extended_form_has_the_papers_series_first():
    for figure in FIGURES:
        assert figure.extended_variants[: len(figure.variants)] == figure.variants
        assert len(set(figure.extended_variants)) == len(figure.extended_variants)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_every_figure_has_a_script_that_draws_it(figure):
    module = importlib.import_module(f"figures.{figure.paper}.{figure.id}")
    assert callable(module.select)
    assert callable(module.draw)


def test_the_roles_are_those_of_the_data_the_queries_run_on():
    roles = {f.query: f.role for f in FIGURES}
    assert roles.pop("") is None
    assert all(role == ("meters" if q[0] in "kwW" else "comments") for q, role in roles.items())
