"""A plan, simulated: every instance of every stage in plain Python, with transparent mergers.

An operator is the reference's function from whole streams to whole streams. So the simulation
covers the plan's part: which instance gets a tuple, and in which order tuples are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from operators.streamcloud import reference
from operators.streamcloud.algebra import Node, Output
from operators.streamcloud.partition import OF_COLUMNS, OF_POSITION, Partition, hash_of
from operators.streamcloud.plan import Feed, Plan, Stage
from operators.streamcloud.reference import Keyed, Row

# The output of each sender, for each receiving instance or stream.
Sent = dict[tuple[str, Output], list[list[Keyed]]]


def play(plan: Plan, streams: Mapping[str, Sequence[Sequence[Row]]]) -> dict[str, list[Row]]:
    """Return the rows of each output."""
    sent: Sent = {}
    first = 0
    for node in plan.query.inputs:
        found = streams[node.name]
        assert len(found) == plan.streams[node.name]
        sent[node.name, Output(node)] = [
            reference._input(node, [stream], first + number) for number, stream in enumerate(found)
        ]
        first += len(found)
    for stage in plan.stages:
        for instance in range(stage.instances):
            for output, rows in _played(stage, instance, sent).items():
                sent.setdefault((stage.name, output), []).append(rows)
    return {
        sink.output.name: [each.row for each in _merged(sink.feeds, None, 0, 1, sent)]
        for sink in plan.sinks
    }


def _played(stage: Stage, instance: int, sent: Sent) -> dict[Output, list[Keyed]]:
    brought = {}
    for merger in stage.mergers:
        rows = _merged(merger.feeds, merger.partition, instance, stage.instances, sent)
        brought |= dict.fromkeys(merger.takers, rows)
    found: dict[Output, list[Keyed]] = {}
    for node in stage.operators:
        taken = [
            brought[node, number] if (node, number) in brought else found[output]
            for number, output in enumerate(node.inputs)
        ]
        found |= zip(node.outputs, results(node, *taken), strict=True)
    return found


def results(node: Node, *taken: list[Keyed]) -> tuple[list[Keyed], ...]:
    """Return an operator's outputs for whole input streams."""
    return tuple(reference._RESULTS[type(node)](node, *taken))


def _merged(
    feeds: tuple[Feed, ...],
    partition: Partition | None,
    instance: int,
    instances: int,
    sent: Sent,
) -> list[Keyed]:
    """Return, in total order, the tuples that all senders of a merger send to an instance."""
    found = []
    for feed in feeds:
        for rows in sent[feed.sender, feed.output]:
            for position, each in enumerate(rows):
                word = word_of(partition, feed.output, each, position)
                if partition is None or instance in partition.destinations(word, instances):
                    found.append(Keyed((each.key[0], *feed.path, *each.key[1:]), each.row))
    keys = [each.key for each in found]
    assert len(set(keys)) == len(keys), "two tuples have one order key"
    return sorted(found)


def word_of(partition: Partition | None, output: Output, each: Keyed, position: int) -> int:
    """Return the word by which a tuple is routed."""
    if partition is None or partition.made_from == OF_POSITION:
        return position
    if partition.made_from == OF_COLUMNS:
        names = output.schema.names
        return hash_of([each.row[names.index(column)] for column in partition.columns])
    return hash_of(each.key)
