"""The declared figures, typed a second time from the paper's text and the notes on its figures."""

from __future__ import annotations

import pytest

from experiments import papers, plan, series
from experiments.declare import LINES, OFFERED_RATE, SIZES, Sweep, order_of
from experiments.records import quantities
from figures import draw
from operators import registry
from operators.aggregation.queries import QUERIES

PAPER = papers.paper("multiway_aggregation")
# A letter marks a figure that the paper does not have.
FIGURES = tuple(figure for figure in PAPER.figures if figure.id.isdigit())
OF_OURS = tuple(figure for figure in PAPER.figures if not figure.id.isdigit())
OS, OI = {"mq", "mqlf", "tumlsc"}, {"mq", "mqlf", "wiml"}
GROUPS = (("k-OS", "K-OS", "k-OI", "K-OI"), ("w-OS", "W-OS", "w-OI", "W-OI"),
          ("f-OS", "F-OS", "f-OI", "F-OI"))  # fmt: skip
# Figure, query, the paper's variants, x axis. Sections 7.2 to 7.4: OS queries compare MQ, MQLF and
# TuMLSC, OI queries MQ, MQLF and WiML; TuMLMC is shown alone.
FROM_THE_PAPER = {
    7: (None, {"t-gate", "skip-list"}, "sources"),
    8: ("K-OS", OS, LINES),
    9: ("K-OS", OS, OFFERED_RATE),
    10: ("K-OI", OI, LINES),
    11: ("K-OI", OI, OFFERED_RATE),
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
FORMS = {
    "sources": "curves",
    "inputs": "curves",
    "update_threads": "curves",
    LINES: "durations",
    OFFERED_RATE: "over_rate",
}
MEASURED = [(figure, one) for figure in PAPER.figures for one in series.measured(figure)]


def axis(figure):
    return figure.x.setting if isinstance(figure.x, Sweep) else figure.x


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {int(f.id): (f.settings.get("query"), set(f.lines), axis(f)) for f in FIGURES}
    assert declared == FROM_THE_PAPER
    for figure in FIGURES:
        # One more setting is fixed, or swept by panels: 20 inputs, or few and many.
        alone = {name: value for name, value in figure.settings.items() if name != "query"}
        beside = {sweep.setting: set(sweep.values.values()) for sweep in figure.sweeps}
        fixed = {"inputs": 20} if axis(figure) in (LINES, OFFERED_RATE) else {}
        swept = {"inputs": {(2, 20)}} if axis(figure) == "update_threads" else {}
        assert (alone, beside) == (fixed, swept), figure.id


def test_sweeps_go_up_from_one_to_what_the_paper_has():
    most = {"sources": 20, "inputs": 20, "update_threads": 12}
    for sweep in (figure.x for figure in FIGURES if isinstance(figure.x, Sweep)):
        assert sweep.values["paper"][-1] == most[sweep.setting]
        for size in SIZES:
            values = sweep.values[size]
            assert values[0] == 1 and list(values) == sorted(set(values))
            assert set(values) <= set(range(1, most[sweep.setting] + 1))
            assert set(sweep.extended.get(size, ())) <= set(values)
            # Statements are about 20 inputs, in every profile.
            assert sweep.setting == "update_threads" or values[-1] == 20


def test_ids_are_unique_and_in_their_order():
    ids = [figure.id for figure in PAPER.figures]
    assert ids == sorted(set(ids), key=order_of)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_figure_has_the_form_and_the_words_of_its_axis(figure):
    assert figure.form == FORMS[axis(figure)]
    assert callable(draw.form_of(figure).select)
    assert callable(draw.form_of(figure).draw)
    query = figure.settings.get("query")
    assert figure.subject == (query or "sorting")
    assert (query or "orting") in figure.title and (query or "sorting") in figure.caption
    for name in (*figure.quantities, *figure.extended_quantities):
        assert quantities.quantity(name).label


@pytest.mark.parametrize(
    ("figure", "one"), MEASURED, ids=[f"{figure.id}-{one}" for figure, one in MEASURED]
)
def test_every_series_exists_takes_the_query_and_has_its_settings(figure, one):
    variant = registry.variant(figure.family, one.variant)
    assert variant.bench
    swept = {sweep.setting: sweep.values["quick"][-1] for sweep in figure.free}
    settings = series.resolved(figure, one, swept)
    told = {**figure.settings, **swept, **one.settings}
    assert {name: str(settings[name]) for name in told} == {n: str(v) for n, v in told.items()}
    if "query" in figure.settings:
        assert QUERIES[figure.settings["query"]].function in variant.operations.functions


def test_the_extended_form_has_the_papers_series_first():
    for figure in FIGURES:
        found = series.measured(figure)
        assert found[: len(figure.lines)] == figure.lines
        assert len(set(found)) == len(found)
    # Additional variants name the figures that show them.
    assert {"tumlsc", "private-panes", "wiml:levels=1"} <= set(
        series.measured(papers.figure(PAPER.id, "16"))
    )


def test_every_heading_has_figures_and_they_stand_in_their_order():
    named = [figure.heading for figure in FIGURES]
    assert list(dict.fromkeys(named)) == [heading.id for heading in PAPER.headings]
    assert named == sorted(named, key=[heading.id for heading in PAPER.headings].index)


def test_what_is_in_flight_is_swept_around_what_each_design_has():
    (figure,) = OF_OURS
    assert (figure.id, figure.form) == ("16x", "in_flight")
    own = {}
    for line in figure.lines:
        own.setdefault(line.variant, []).append(line.settings)
    assert own.keys() >= {"mq", "mqlf", "tumlsc", "wiml", "private-panes", "wiml-panes"}
    for variant, given in own.items():
        bounds = [p.name for p in registry.variant("aggregation", variant).parameters
                  if p.bounds_flight]  # fmt: skip
        # The default, and at least one smaller and one larger value, of the parameter that bounds
        # it.
        assert {} in given and {name for each in given for name in each} == set(bounds)
        assert len(given) >= 3


def test_figures_are_measured_with_those_of_the_same_query():
    roles = {}
    for figure in FIGURES:
        role = registry.family(figure.family).role_of(figure.settings)
        roles.setdefault(plan.group_name(figure, figure.settings), set()).add(
            (figure.settings.get("query"), role)
        )
    assert roles.pop("gate") == {(None, None)}
    asked = {query for query, _, _ in FROM_THE_PAPER.values() if query}
    assert all(len(found) == 1 for found in roles.values()) and len(roles) == len(asked) == 12
    for ((query, role),) in roles.values():
        assert role == ("meters" if query[0] in "kwW" else "comments")


def test_the_fewest_inputs_that_need_merging_are_in_every_profile_where_order_matters():
    ordered = [f for f in FIGURES if axis(f) == "inputs" and f.settings["query"].endswith("OS")]
    for size in SIZES:
        of_size = [figure.id for figure in ordered if 2 in figure.x.values[size]]
        # A quick run has time for few keys and many, and not for the other queries.
        assert of_size == (["13", "14"] if size == "quick" else [f.id for f in ordered])
