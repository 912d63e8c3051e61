"""Optimizations of a plan: fewer channels between subqueries, fewer unions and filters.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-F.

Three passes, each from a plan to a plan that can run and means the same:

``merge_subqueries``
    A subquery whose input already has the partition that it needs runs in the same instances as the
    subquery before it: a join by phone number, and an aggregate by phone number behind it. *The
    same partition* is traced through maps, filters, unions and joins by the columns that carry the
    hashed values.
``unions_to_mergers``
    A merger merges anyway, so it takes over the unions directly behind it.
``filters_to_balancers``
    A balancer is a filter that sends each tuple to one instance of the next stage, so it takes over
    the filters directly before it.

# ASSUME: "in the same way" is by the same values, not by a part of them. An aggregate by phone
# number and district could run behind a join by phone number as well, on no more instances than
# there are phone numbers; an aggregate by district could not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from operators.streamcloud.algebra import Aggregate, Filter, Join, Map, Node, Output, Union
from operators.streamcloud.partition import Hash
from operators.streamcloud.plan import ENTRY, Feed, Merger, Plan, Stage, clocks

# For each hashed value, the columns that carry it.
Carriers = tuple[frozenset[str], ...]


def merge_subqueries(plan: Plan) -> Plan:
    """Let subqueries that follow each other on one partition run in the same instances."""
    found = next(_mergeable(plan), None)
    return plan if found is None else merge_subqueries(_merged(plan, *found))


def _mergeable(plan: Plan) -> Iterator[tuple[Stage, Stage, list[Merger]]]:
    """Yield a stage, another that can run in it, and the mergers that the other still needs."""
    for number, stage in enumerate(plan.stages):
        for before, host in enumerate(plan.stages[:number]):
            earlier = {*plan.streams, *(each.name for each in plan.stages[:before])}
            still = _still_needed(host, stage, earlier)
            if still is not None:
                yield host, stage, still


def _still_needed(host: Stage, stage: Stage, earlier: set[str]) -> list[Merger] | None:
    """Return the mergers that a stage needs when it runs in another one; None if it cannot.

    Parameters
    ----------
    host, stage : Stage
    earlier : set of str
        The senders before the host: the stage may not wait for a stage that waits for it.
    """
    if None in (host.stateful, stage.stateful) or set(host.nodes) & set(stage.nodes):
        return None
    carriers, of_clock = carriers_in(host), clocks(host)
    orders, others, found_clocks = set(), [], set()
    for merger in stage.mergers:
        senders = {feed.sender for feed in merger.feeds}
        if not isinstance(merger.partition, Hash):
            return None
        if senders <= earlier:
            others.append(merger)
            found_clocks.add(ENTRY)
        elif senders == {host.name} and merger.takers[0][0] is stage.stateful:
            taken = merger.feeds[0].output.node
            orders.add(_order(carriers.get(taken), merger.partition.columns))
            found_clocks.add(of_clock[taken])
        else:
            return None
    if len(orders) != 1 or None in orders or len(found_clocks) != 1:
        return None
    (order,) = orders
    return [
        replace(each, partition=Hash(_in_order(each.partition.columns, order))) for each in others
    ]


def _order(carriers: Carriers | None, columns: Sequence[str]) -> tuple[int, ...] | None:
    """Return which hashed value each column carries; None unless all values, once each."""
    if carriers is None:
        return None
    found = [
        [value for value, names in enumerate(carriers) if column in names] for column in columns
    ]
    order = tuple(each[0] for each in found if len(each) == 1)
    same = len(order) == len(columns) and sorted(order) == list(range(len(carriers)))
    return order if same else None


def _in_order(columns: Sequence[str], order: Sequence[int]) -> tuple[str, ...]:
    """Return columns in the order in which their values were hashed."""
    return tuple(column for _, column in sorted(zip(order, columns, strict=True)))


def carriers_in(stage: Stage) -> dict[Node, Carriers]:
    """Return the columns of each operator's output that carry the hashed values."""
    found: dict[Node, Carriers] = {}
    for node in stage.nodes:
        before = [found[taken.node] for taken in node.inputs if taken.node in found]
        if isinstance(node, Join):
            found[node] = _behind_join(node, [found.get(taken.node) for taken in node.inputs])
        elif isinstance(node, Aggregate):
            groups = before[0] if before else [frozenset([column]) for column in node.group_by]
            found[node] = tuple(names & set(node.group_by) for names in groups)
        elif isinstance(node, Map) and before:
            found[node] = _renamed(before[0], node.columns)
        elif before:  # a filter or a union: the columns stay
            found[node] = tuple(
                frozenset.intersection(*names) for names in zip(*before, strict=True)
            )
    return found


def _behind_join(join: Join, before: Sequence[Carriers | None]) -> Carriers:
    """Return the columns that carry the hashed values behind a join: both columns of a pair do."""
    left, right = before
    if left is None and right is None:
        carriers = [{f"left.{a}", f"right.{b}"} for a, b in join.on]
    else:
        known = "left" if left is not None else "right"
        by_side = {"left": left, "right": right}
        carriers = [
            {f"{side}.{name}" for side, all_names in by_side.items() if all_names is not None
             for name in all_names[value]}
            for value in range(len(by_side[known]))
        ]  # fmt: skip
        for pair in join.on:
            ends = {f"left.{pair[0]}", f"right.{pair[1]}"}
            for names in carriers:
                if names & ends:
                    names |= ends
    return _renamed(carriers, join.columns)


def _renamed(carriers: Sequence[set[str] | frozenset[str]], columns: Sequence) -> Carriers:
    """Return the columns that copy one of the carriers unchanged."""
    return tuple(
        frozenset(name for name, value in columns if value.column in names) for names in carriers
    )


def _merged(plan: Plan, host: Stage, stage: Stage, still: Sequence[Merger]) -> Plan:
    """Return a plan in which a stage runs in another."""
    inside = {*host.nodes, *stage.nodes}
    both = replace(
        host,
        nodes=tuple(node for node in plan.query.operators if node in inside),
        mergers=(*host.mergers, *still),
    )

    def renamed(feeds: Sequence[Feed]) -> tuple[Feed, ...]:
        return tuple(
            replace(feed, sender=host.name) if feed.sender == stage.name else feed for feed in feeds
        )

    stages = [both if each is host else each for each in plan.stages if each is not stage]
    return replace(
        plan,
        stages=tuple(
            replace(
                each,
                mergers=tuple(replace(m, feeds=renamed(m.feeds)) for m in each.mergers),
            )
            for each in stages
        ),
        sinks=tuple(replace(sink, feeds=renamed(sink.feeds)) for sink in plan.sinks),
    )


def unions_to_mergers(plan: Plan) -> Plan:
    """Let mergers take over the unions directly behind them."""
    leaving = _leaving(plan)
    return replace(plan, stages=tuple(_without_unions(each, leaving) for each in plan.stages))


def _without_unions(stage: Stage, leaving: set[tuple[str, Output]]) -> Stage:
    for union in stage.nodes:
        output = Output(union, 0)
        if not isinstance(union, Union) or (stage.name, output) in leaving:
            continue
        found = [_merger_of(stage, union, number) for number in range(len(union.inputs))]
        if None not in found:
            takers = tuple(
                (node, number)
                for node in stage.nodes
                for number, taken in enumerate(node.inputs)
                if taken == output
            )
            feeds = tuple(
                replace(feed, path=(number, *feed.path))
                for number, merger in enumerate(found)
                for feed in merger.feeds
            )
            mergers = [
                replace(each, takers=takers, feeds=feeds) if each is found[0] else each
                for each in stage.mergers
                if each is found[0] or each not in found
            ]
            nodes = tuple(node for node in stage.nodes if node is not union)
            return _without_unions(replace(stage, nodes=nodes, mergers=tuple(mergers)), leaving)
    return stage


def _merger_of(stage: Stage, union: Node, number: int) -> Merger | None:
    """Return the merger that brings one input of a union, and nothing but that."""
    return next((each for each in stage.mergers if each.takers == ((union, number),)), None)


def _leaving(plan: Plan) -> set[tuple[str, Output]]:
    """Return the outputs that leave their stages, each with the stage's name."""
    to_outputs = {(feed.sender, feed.output) for sink in plan.sinks for feed in sink.feeds}
    return _onward(plan) | to_outputs


def _onward(plan: Plan) -> set[tuple[str, Output]]:
    """Return the outputs that are sent to a stage, each with the name of the sender."""
    feeds = (feed for stage in plan.stages for merger in stage.mergers for feed in merger.feeds)
    return {(feed.sender, feed.output) for feed in feeds}


def filters_to_balancers(plan: Plan) -> Plan:
    """Let balancers take over the filters directly before them.

    A filter that sends to no other stage stays: at the end of the query there is no balancer.
    """
    onward = _onward(plan)
    return replace(plan, stages=tuple(_without_filters(each, onward) for each in plan.stages))


def _without_filters(stage: Stage, onward: set[tuple[str, Output]]) -> Stage:
    taken: list[Node] = []
    for node in reversed(stage.nodes):
        behind = {each for each in stage.nodes if any(t.node is node for t in each.inputs)}
        sends = bool(behind) or any((stage.name, output) in onward for output in node.outputs)
        if isinstance(node, Filter) and sends and behind <= set(taken):
            taken.insert(0, node)
    nodes = tuple(node for node in stage.nodes if node not in taken)
    return replace(stage, nodes=nodes, filters=tuple(taken))
