"""Plans as text: the printed text equals the files `explained/*.txt`.

The first line of such a file says what to compile: a query of `queries`, a strategy, and settings::

    figure-2 subquery-cluster instances=30 [merger=best-effort] [streams=calls:2] [form=standard]

The form ``passes`` is the plan after each pass. ``MILLRACE_WRITE=1`` before the tests writes the
files anew from their first lines; a new file needs only that line. Review the written files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from operators.contract import UsageError
from operators.streamcloud.compiler import compile_query, compile_steps
from operators.streamcloud.deployer import deploy, parse_descriptor
from operators.streamcloud.describe import described
from operators.streamcloud.explain import explain, explain_places, explain_steps
from operators.streamcloud.plan import MERGERS, STRATEGIES, check_invariants
from operators.streamcloud.standard import STANDARD_KINDS, standard_operators
from operators.streamcloud.windows import TimeWindow
from operators.streamcloud.yaml_form import read_query
from tests.operators.streamcloud.making_records import aggregate, join

HERE = Path(__file__).parent
EXPLAINED = sorted((HERE / "explained").glob("*.txt"))
QUERIES = {path.stem: path for path in sorted((HERE / "queries").glob("*.yaml"))}


def query(name):
    return read_query(QUERIES[name])


def explained(line):
    """Return the text requested by the first line of a file."""
    name, strategy, *settings = line.split()
    given = dict(setting.split("=") for setting in settings)
    form = given.pop("form", "fused")
    streams = dict(each.split(":") for each in filter(None, given.pop("streams", "").split(",")))
    asked = query(name), strategy, given.pop("instances"), given.pop("merger", MERGERS[0]), streams
    assert not given, f"unknown settings {given}"
    if form == "passes":
        return explain_steps(compile_steps(*asked))
    return explain(compile_query(*asked), form)


@pytest.mark.parametrize("path", EXPLAINED, ids=lambda path: path.stem)
def test_a_plan_is_explained_as_it_is_written(path):
    first, _, expected = path.read_text(encoding="utf-8").partition("\n")
    text = explained(first)
    if os.environ.get("MILLRACE_WRITE"):
        path.write_text(f"{first}\n{text}", encoding="utf-8")
    assert text == expected


def test_every_query_is_explained_under_some_strategy():
    shown = {path.read_text(encoding="utf-8").split()[0] for path in EXPLAINED}
    assert shown == set(QUERIES)


@pytest.mark.parametrize("strategy, instances, stages, hops, channels", [
    ("query-cluster", 90, 3, 2, 2 * 90 * 90),
    ("operator-cluster", 15, 6, 5, 5 * 15 * 15),
    ("subquery-cluster", 30, 3, 2, 2 * 30 * 30),
])  # fmt: skip
def test_figure_2_has_90_processors_under_each_strategy(
    strategy, instances, stages, hops, channels
):
    plan = compile_query(query("figure-2"), strategy, instances)
    assert len(plan.processors) == 90
    assert [len(plan.stages), plan.hops(), plan.channels_count()] == [stages, hops, channels]


def test_figure_1_has_a_join_with_its_map_and_an_aggregate():
    plan = compile_query(query("figure-1"), "subquery-cluster", 2)
    assert [[node.name for node in stage.nodes] for stage in plan.stages] == [
        ["known", "minutes"],
        ["busy"],
    ]


def test_figure_4_has_both_maps_on_one_subcluster():
    plan = compile_query(query("figure-4"), "subquery-cluster", {"left": 2, "pairs": 4})
    assert [[node.name for node in stage.nodes] for stage in plan.stages] == [
        ["left", "right"],
        ["pairs"],
    ]


@pytest.mark.parametrize("merger", MERGERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", QUERIES)
def test_a_plan_is_made_of_standard_operators_only(name, strategy, merger):
    plan = compile_query(query(name), strategy, 3, merger)
    check_invariants(plan)
    operators = [each for place in standard_operators(plan).values() for each in place]
    assert {each.kind for each in operators} <= set(STANDARD_KINDS)
    # Only filters, unions and orders are added or removed.
    of_query = [node for node in plan.query.operators if node.kind not in ("filter", "union")]
    for node in of_query:
        assert [each.name for each in operators if each.kind == node.kind].count(node.name) == 1
    others = {"filter", "union", "order"}
    assert sum(each.kind not in others for each in operators) == len(of_query)
    assert any(each.kind == "order" for each in operators) == (merger == "transparent")


def test_a_balancer_has_an_output_for_each_instance_and_a_merger_an_input_for_each_sender():
    plan = compile_query(
        query("figure-4"), "subquery-cluster", {"left": 2, "pairs": 6}, streams={"numbers": 5}
    )
    places = standard_operators(plan)
    ways = {
        title.split(" x ")[0]: [(each.kind, each.name, each.ways) for each in operators]
        for title, operators in places.items()
    }
    assert ways == {
        "numbers": [("filter", "numbers", 2)],
        "letters": [("filter", "letters", 2)],
        "S1 left": [
            ("union", "left", 5), ("order", "left", 1),
            ("map", "left", 1), ("map", "right", 1),
            ("filter", "left", 2), ("filter", "right", 3),  # rows, columns
        ],
        "S2 pairs": [
            ("union", "pairs.left", 2), ("order", "pairs.left", 1),
            ("union", "pairs.right", 2), ("order", "pairs.right", 1),
            ("product", "pairs", 1),
        ],
        "output pairs": [("union", "pairs", 6), ("order", "pairs", 1)],
    }  # fmt: skip


def test_what_runs_on_each_processor_is_told():
    plan = compile_query(query("figure-1"), "subquery-cluster", {"known": 2, "busy": 1})
    places = parse_descriptor("10.0.0.1:7000\n10.0.0.1:7001\nn:7\nn:8")
    assert explain_places(deploy(plan, places)) == (
        "10.0.0.1:7000  known 0\n"
        "10.0.0.1:7001  known 1\n"
        "n:7            busy 0\n"
        "n:8            idle\n"
    )
    shared = compile_query(query("figure-1"), "query-cluster", 1)
    assert explain_places(deploy(shared, places[:1])) == "10.0.0.1:7000  known 0, busy 0\n"


def test_what_is_not_usual_of_an_operator_is_told():
    assert described(join(method="nested-loop", time="smaller")) == (
        "join by nested-loop on caller = number, at most 60 apart, at the smaller time:"
        " who = right.name"
    )
    assert described(aggregate(TimeWindow(60, 10, "oldest"))) == (
        "aggregate windows of 60 every 10 from the oldest tuple: n = count()"
    )


def test_an_unknown_form_is_refused():
    plan = compile_query(query("figure-1"), "subquery-cluster", 2)
    with pytest.raises(UsageError, match=r'no form "fuse" .* did you mean "fused"\?'):
        explain(plan, "fuse")
