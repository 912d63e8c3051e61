"""Queries and their plans as plain records, for pictures.

A name stands for one of the queries of the evaluation; any other query can be given as a YAML file,
as on the command line, as the contents of such a file, or as objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.streamcloud.snapshots import (
    OperatorBox,
    PlanDrawn,
    QueryDrawn,
    StageDrawn,
    Taken,
    WayDrawn,
)
from operators.streamcloud.algebra import Input, Node, Output, Query, Union, is_stateful
from operators.streamcloud.compiler import Instances, compile_query
from operators.streamcloud.describe import described
from operators.streamcloud.partition import Grid, Hash, Partition
from operators.streamcloud.plan import QUERY_CLUSTER, STRATEGIES, TRANSPARENT, Feed, Plan, Stage
from operators.streamcloud.queries import QUERIES, query_of
from operators.streamcloud.yaml_form import read_query

Asked = Query | str | Path | Mapping[str, Any]
INPUT = "input"


def query(asked: Asked) -> Query:
    """Return a query: of the evaluation by id, from a file, or as given."""
    if isinstance(asked, Query):
        return asked
    if isinstance(asked, str) and asked in QUERIES:
        return query_of(asked)
    return read_query(asked)


def drawn_query(asked: Asked) -> QueryDrawn:
    """Return a query in the form for pictures.

    Parameters
    ----------
    asked : str, path, mapping or Query
        The id of a query of the evaluation, or any other query.

    Raises
    ------
    UsageError
        When the query is invalid.
    """
    found = query(asked)
    inputs = [OperatorBox(each.name, INPUT, "", False, ()) for each in found.inputs]
    operators = [_box(node) for node in found.operators]
    outputs = tuple((output.name, _taken(output)) for output in found.outputs)
    return QueryDrawn(found.name, (*inputs, *operators), outputs)


def _box(node: Node) -> OperatorBox:
    # An "else" output is drawn as a separate output, so that the text need not name it.
    text = described(node).removesuffix(" | else")
    taken = tuple(_taken(output) for output in node.inputs)
    return OperatorBox(node.name, node.kind, text, is_stateful(node), taken)


def _taken(output: Output) -> Taken:
    return Taken(output.node.name, output.schema.names)


def drawn_plans(
    asked: Asked,
    instances: Instances = 2,
    strategies: Iterable[str] = STRATEGIES,
    merger: str = TRANSPARENT,
    streams: Mapping[str, int] | None = None,
) -> list[PlanDrawn]:
    """Return the plans of a query by some strategies, in the form for pictures.

    Parameters
    ----------
    asked : str, path, mapping or Query
        As of `drawn_query`.
    instances, merger, streams
        As of ``operators.streamcloud.compiler.compile_query``.
    strategies : iterable of str

    Raises
    ------
    UsageError
        When query, strategy or instances are invalid.
    """
    found = query(asked)
    return [
        drawn_plan(compile_query(found, each, instances, merger, streams)) for each in strategies
    ]


def drawn_plan(plan: Plan) -> PlanDrawn:
    """Return a plan in the form for pictures."""
    return PlanDrawn(
        query=drawn_query(plan.query),
        strategy=plan.strategy,
        shared=plan.strategy == QUERY_CLUSTER,
        stages=tuple(map(_stage, plan.stages)),
        ways=tuple(
            WayDrawn(each.feed.sender, each.receiver, each.kind, _split(each.partition), each.count)
            for each in plan.channels
        ),
        processors=len(plan.processors),
        hops=plan.hops(),
        channels=plan.channels_count(),
    )


def _stage(stage: Stage) -> StageDrawn:
    unions = dict.fromkeys(
        union
        for merger in stage.mergers
        for node, number in merger.takers
        for union in _stood_for(node.inputs[number], merger.feeds)
    )
    return StageDrawn(
        stage.name,
        tuple(each.name for each in unions),
        tuple(each.name for each in stage.nodes),
        tuple(each.name for each in stage.filters),
        stage.instances,
    )


def _stood_for(output: Output, feeds: tuple[Feed, ...]) -> list[Union]:
    """Return the unions between the feeds and an operator's input."""
    if output in {feed.output for feed in feeds} or isinstance(output.node, Input):
        return []
    return [each for taken in output.node.inputs for each in _stood_for(taken, feeds)] + [
        output.node
    ]


def _split(partition: Partition | None) -> str:
    """Return a short description of how tuples are split."""
    if partition is None:
        return ""
    if isinstance(partition, Grid):
        return f"grid {partition.rows} × {partition.columns}"
    return "by hash" if isinstance(partition, Hash) else "in turn"
