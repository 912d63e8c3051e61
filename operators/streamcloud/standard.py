"""A plan with standard operators only: the paper's claim that any engine could run it.

Source: "StreamCloud: A Large Scale Data Streaming System", sections III-A and III-E: a balancer is
a filter with an output for each instance, and a merger is a union, followed by a sort if mergers
are transparent. Nothing else is added to the operators of the query.

A filter sends a tuple to its first output whose predicate is true. A tuple of a product goes to all
instances of a row or a column; these take one output of the filter, which has as many outputs as
there are rows or columns. A balancer that has taken over filters of the query joins both conditions
in one predicate: the filter's, and the tuple's destination.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from operators.streamcloud.algebra import Filter, Input, Node, Output, Union
from operators.streamcloud.describe import described, numbered, taken_by, titled
from operators.streamcloud.partition import LEFT, Grid, Hash
from operators.streamcloud.plan import OUT, TRANSPARENT, Channels, Plan, Stage

# The operators of a standard engine: section II-A, and the order of section III-E.
STANDARD_KINDS = ("filter", "map", "union", "order", "aggregate", "join", "product")


class Operator(NamedTuple):
    """One standard operator of a plan.

    Attributes
    ----------
    kind : str
        One of ``STANDARD_KINDS``.
    name : str
        Of the query's operator; of a merger, the operator that takes it; of a balancer, the output
        that it splits.
    ways : int
        The inputs of a union, or the outputs of a filter; else 1.
    text : str
    """

    kind: str
    name: str
    ways: int
    text: str


def standard_operators(plan: Plan) -> dict[str, list[Operator]]:
    """Return the standard operators of a plan, by the title of their group.

    There is one group for all streams of an input, for all instances of a stage, and for an output:
    each stream and each instance has these operators once.
    """
    places: dict[str, list[Operator]] = {}
    for node in plan.query.inputs:
        places[f"{node.name} x {plan.streams[node.name]}"] = list(_balancers(plan, node.name))
    for stage in plan.stages:
        places[titled(plan, stage)] = [
            *_mergers(plan, stage),
            *(_as_it_is(node) for node in stage.nodes),
            *_balancers(plan, stage.name),
        ]
    for sink in plan.sinks:
        name = sink.output.name
        senders = sum(plan.senders(feed) for feed in sink.feeds)
        places[f"output {name}"] = list(_merged(plan, name, senders))
    return places


def _as_it_is(node: Node) -> Operator:
    kind, _, text = described(node).partition(" ")
    ways = {Union: len(node.inputs), Filter: len(node.schemas)}.get(type(node), 1)
    return Operator(kind, node.name, ways, text)


def _mergers(plan: Plan, stage: Stage) -> Iterator[Operator]:
    for merger in stage.mergers:
        senders = sum(plan.senders(feed) for feed in merger.feeds)
        yield from _merged(plan, taken_by(merger), senders)


def _merged(plan: Plan, name: str, senders: int) -> Iterator[Operator]:
    """Yield the operators that merge so many streams: none for one stream."""
    if senders > 1:
        yield Operator("union", name, senders, f"of {senders}")
        if plan.merger == TRANSPARENT:
            yield Operator("order", name, 1, "by the order key")


def _balancers(plan: Plan, sender: str) -> Iterator[Operator]:
    """Yield the filters that split a sender's output: none if it has one destination."""
    for channels in plan.channels_from(sender):
        parts, word, part = _parts(channels)
        condition = _condition(plan, channels.feed.output, sender)
        tests = [condition] if condition else []
        if parts > 1:
            tests.append(f"{word} % {parts} = k")
        if tests:
            # One output more than predicates: the last part, or the tuples that the query's filter
            # drops.
            ways = parts + 1 if condition else parts
            text = f"of {ways}: {' and '.join(tests)} to {part}{_receiver(plan, channels)}"
            kept_out = ", else to nobody" if condition else ""
            yield Operator("filter", channels.feed.output.name, ways, text + kept_out)


def _parts(channels: Channels) -> tuple[int, str, str]:
    """Return the number of parts, the word that chooses one, and the receivers of part k."""
    partition, receivers = channels.partition, channels.receivers
    if receivers == 1:
        return 1, "", ""
    if isinstance(partition, Grid):
        if partition.parts == 1:
            return 1, "", f"all {receivers} of "
        line = "row" if partition.side == LEFT else "column"
        copies = f"{partition.copies(receivers)} of {receivers}"
        return partition.parts, "hash(order key)", f"{line} k, {copies}, of "
    word = f"hash({', '.join(partition.columns)})" if isinstance(partition, Hash) else "position"
    return receivers, word, "instance k of "


def _receiver(plan: Plan, channels: Channels) -> str:
    if channels.kind == OUT:
        return f"output {channels.receiver}"
    merger = plan.stage(channels.receiver).mergers[channels.side]
    return f"{numbered(plan)[channels.receiver]} {taken_by(merger)}"


def _condition(plan: Plan, output: Output, sender: str) -> str:
    """Return the condition of the tuples that leave through filters of the balancer."""
    if isinstance(output.node, Input) or output.node not in plan.stage(sender).filters:
        return ""
    asked = [f"({each.text})" for each in output.node.predicates]
    own = [f"not {each}" for each in asked[: output.number]] + asked[output.number :][:1]
    before = _condition(plan, output.node.inputs[0], sender)
    return " and ".join([before, *own] if before else own)
