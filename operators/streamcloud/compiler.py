"""From a query to a plan: three ways to cut it into stages, and the optimizations of each.

Source: "StreamCloud: A Large Scale Data Streaming System", sections III-B, III-F and III-G.

====================  ==============================================================================
``query-cluster``     every processor runs the whole query; before each stateful operator all send
                      to all
``operator-cluster``  each operator has a separate subcluster
``subquery-cluster``  each subquery has one: the strategy of StreamCloud
====================  ==============================================================================

::

    query --split--> plan --subqueries--> plan --unions--> plan --filters--> plan --instances-->

The first two strategies have the same stages, on the same or on different processors. Each pass is
a function from a plan to a plan that can run and means the same: the plan before a pass is the
oracle of the plan behind it. ``compile_steps`` keeps them all, for ``explain``. Up to the last pass
each stage has one instance.

# ASSUME: section III-F is not applied to operator-cluster. In the paper that strategy is the
# baseline without these ideas: "as many communication steps as operators in the query".
# ASSUME: the paper's parallel joins over windows of count keep a window on each instance, of the
# tuples that came there, so that their pairs depend on the number of instances. Under transparent
# mergers that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from operators.contract import UsageError, whole
from operators.streamcloud.algebra import (
    Aggregate,
    Join,
    Node,
    Output,
    Product,
    Query,
    Union,
)
from operators.streamcloud.optimizations import (
    filters_to_balancers,
    merge_subqueries,
    unions_to_mergers,
)
from operators.streamcloud.partition import Grid, Hash, Partition, RoundRobin
from operators.streamcloud.plan import (
    MERGERS,
    OPERATOR_CLUSTER,
    QUERY_CLUSTER,
    STRATEGIES,
    SUBQUERY_CLUSTER,
    TRANSPARENT,
    Feed,
    Merger,
    Plan,
    Sink,
    Stage,
    check_invariants,
)
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.subqueries import Subquery, operators_alone, subqueries
from operators.streamcloud.windows import CountWindow

Instances = int | Mapping[str, int]


@dataclass(frozen=True)
class Pass:
    """One step of the compiler.

    Attributes
    ----------
    name : str
    change : callable
        From a plan to a plan.
    strategies : tuple of str
        The strategies that use it.
    """

    name: str
    change: Callable[[Plan], Plan]
    strategies: tuple[str, ...]


PASSES = (
    Pass("merge subqueries on one partition", merge_subqueries, (QUERY_CLUSTER, SUBQUERY_CLUSTER)),
    Pass("give unions to mergers", unions_to_mergers, (QUERY_CLUSTER, SUBQUERY_CLUSTER)),
    Pass("give filters to balancers", filters_to_balancers, (QUERY_CLUSTER, SUBQUERY_CLUSTER)),
)


def compile_query(
    query: Query,
    strategy: str,
    instances: Instances,
    merger: str = TRANSPARENT,
    streams: Mapping[str, int] | None = None,
) -> Plan:
    """Return the plan of a query.

    Parameters
    ----------
    query : Query
    strategy : str
        One of ``STRATEGIES``.
    instances : int or mapping of str to int
        Of each stage; a mapping by stage name if they differ. An aggregate without a group has one.
    merger : str
        One of ``MERGERS``.
    streams : mapping of str to int, optional
        The number of physical streams of an input, if not one.

    Raises
    ------
    UsageError
        When a name or a number is unknown or invalid, or when transparent mergers are asked for
        and cannot hide the number of instances.
    """
    return compile_steps(query, strategy, instances, merger, streams)[-1][1]


def compile_steps(
    query: Query,
    strategy: str,
    instances: Instances,
    merger: str = TRANSPARENT,
    streams: Mapping[str, int] | None = None,
) -> list[tuple[str, Plan]]:
    """Return the name of each pass and the plan behind it; parameters as of ``compile_query``."""
    plan = split(query, strategy, merger, streams or {})
    steps = [("split into stages", plan)]
    for each in PASSES:
        if strategy in each.strategies:
            plan = each.change(plan)
            steps.append((each.name, plan))
    steps.append(("set the instances", with_instances(plan, instances)))
    for _, plan in steps:
        check_invariants(plan)
    return steps


def split(query: Query, strategy: str, merger: str, streams: Mapping[str, int]) -> Plan:
    """Return the plan that has a stage for each subquery, or operator, without optimizations.

    Raises
    ------
    UsageError
        When strategy, merger or an input is unknown, or an input has no stream.
    """
    for kind, given, known in (("strategy", strategy, STRATEGIES), ("merger", merger, MERGERS)):
        if given not in known:
            raise UsageError(
                f'{query.name}: no {kind} "{given}" ({listed(known)})'
                f"{did_you_mean(str(given), known)}"
            )
    of_inputs = {node.name: 1 for node in query.inputs}
    _check_names(query, "input", streams, of_inputs)
    for name, count in streams.items():
        of_inputs[name] = _at_least_one(f"{name}: streams", count)
    pieces = operators_alone(query) if strategy == OPERATOR_CLUSTER else subqueries(query)
    senders = {node: piece.name for piece in pieces for node in piece.nodes}
    senders |= {node: node.name for node in query.inputs}
    return Plan(
        query=query,
        strategy=strategy,
        merger=merger,
        streams=of_inputs,
        stages=tuple(_stage(query, piece, senders) for piece in pieces),
        sinks=tuple(Sink(output, tuple(_feeds(output, senders))) for output in query.outputs),
    )


def _stage(query: Query, piece: Subquery, senders: Mapping[Node, str]) -> Stage:
    inside = {*piece.unions, *piece.nodes}
    nodes = tuple(node for node in query.operators if node in inside)
    takers: dict[tuple, list[tuple[Node, int]]] = {}
    for node, number, partition in _entrances(piece.stateful, nodes):
        # A stream that stateless operators share enters once; a join takes one for each side.
        apart = None if piece.stateful is None else (node, number)
        takers.setdefault((node.inputs[number], partition, apart), []).append((node, number))
    return Stage(
        name=piece.name,
        stateful=piece.stateful,
        nodes=nodes,
        mergers=tuple(
            Merger(tuple(found), (Feed(senders[taken.node], taken),), partition)
            for (taken, partition, _), found in takers.items()
        ),
    )


def _entrances(
    stateful: Node | None, nodes: tuple[Node, ...]
) -> Iterator[tuple[Node, int, Partition]]:
    """Yield each input that is brought from outside, by side, and the partition of the tuples."""

    def through(node: Node, number: int, partition: Partition) -> Iterator:
        before = node.inputs[number].node
        if before not in nodes:
            yield node, number, partition
            return
        for each in range(len(before.inputs)):
            yield from through(before, each, partition)

    if stateful is None:
        for node in nodes:
            for number, taken in enumerate(node.inputs):
                if taken.node not in nodes:
                    yield node, number, RoundRobin()
        return
    found = (
        each
        for number in range(len(stateful.inputs))
        for each in through(stateful, number, _partition_before(stateful, number))
    )
    yield from dict.fromkeys(found)  # a union may be reached twice


def _partition_before(node: Node, side: int) -> Partition:
    """Return the partition of a side of a stateful operator on one instance."""
    if isinstance(node, Aggregate):
        return Hash(node.group_by)
    if isinstance(node, Join):
        return Hash(tuple(pair[side] for pair in node.on))
    return Grid.of(1, side)


def _feeds(
    output: Output, senders: Mapping[Node, str], path: tuple[int, ...] = ()
) -> Iterator[Feed]:
    """Yield the feeds of an output, or of the inputs of a union that is in no stage."""
    if output.node in senders:
        yield Feed(senders[output.node], output, path)
        return
    assert isinstance(output.node, Union)
    for number, taken in enumerate(output.node.inputs):
        yield from _feeds(taken, senders, (*path, number))


def with_instances(plan: Plan, instances: Instances) -> Plan:
    """Return a plan whose stages have so many instances.

    Raises
    ------
    UsageError
        When a stage is unknown or left out, a number is below one, an operator cannot have that
        many, or stages that share processors differ.
    """
    names = [stage.name for stage in plan.stages]
    if isinstance(instances, Mapping):
        _check_names(plan.query, "stage", instances, names)
        missing = [name for name in names if name not in instances]
        if missing:
            raise UsageError(
                f"{plan.query.name}: no instances for the stage {listed(missing)}: give a number"
                f" for each of {listed(names)}, or one for all"
            )
        counts = {name: _at_least_one(f"{name}: instances", instances[name]) for name in names}
    else:
        count = _at_least_one(f"{plan.query.name}: instances", instances)
        alone = {stage.name for stage in plan.stages if stage.runs_alone}
        counts = {name: 1 if name in alone else count for name in names}
    stages = tuple(_on_instances(plan, stage, counts[stage.name]) for stage in plan.stages)
    _check_shared(plan, stages)
    return replace(plan, stages=stages)


def _on_instances(plan: Plan, stage: Stage, count: int) -> Stage:
    if stage.runs_alone and count > 1:
        raise UsageError(
            f"{stage.name}: an aggregate without group_by needs all tuples in one place, received"
            f" {count} instances: give it 1, or a group_by"
        )
    windows_of_count = [
        node.name
        for node in stage.nodes
        if isinstance(node, Product) and isinstance(node.window, CountWindow)
    ]
    if windows_of_count and count > 1 and plan.merger == TRANSPARENT:
        raise UsageError(
            f"{windows_of_count[0]}: on {count} instances a window of count is one of each"
            f" instance, so that the pairs depend on their number, and no merger can hide it:"
            f" give {stage.name} 1 instance, {windows_of_count[0]} a window of time, or take the"
            " best-effort merger"
        )
    mergers = tuple(
        replace(merger, partition=Grid.of(count, merger.partition.side))
        if isinstance(merger.partition, Grid)
        else merger
        for merger in stage.mergers
    )
    return replace(stage, instances=count, mergers=mergers)


def _check_shared(plan: Plan, stages: tuple[Stage, ...]) -> None:
    """Refuse stages of different numbers of instances if each processor runs the whole query."""
    if plan.strategy == QUERY_CLUSTER:
        counts = {stage.name: stage.instances for stage in stages if not stage.runs_alone}
        if len(set(counts.values())) > 1:
            found = listed(f"{name} {count}" for name, count in counts.items())
            raise UsageError(
                f"{plan.query.name}: under {QUERY_CLUSTER} every processor runs every stage, so all"
                f" have the same number of instances, received {found}: give one number"
            )


def _check_names(query: Query, kind: str, given: Mapping[str, int], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(
                f'{query.name}: no {kind} "{name}" ({listed(known)})'
                f"{did_you_mean(str(name), known)}"
            )


def _at_least_one(where: str, given: object) -> int:
    count = whole(where, given)
    if count < 1:
        raise UsageError(f"{where} must be at least 1, received {count}")
    return count
