"""A plan whose rows arrive in any order and steps, some of them twice, between loads and saves.

This is not a carrier: stage by stage, each instance is given all of its input. So only the output
of an instance under any arrival of rows is tested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from operators.streamcloud.algebra import Output
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.faults import columns_of
from operators.streamcloud.instance import Instance
from operators.streamcloud.merger import merger_of
from operators.streamcloud.plan import OUT, Plan
from operators.streamcloud.reference import Row as Tuple
from operators.streamcloud.rows import END, Row, empty_batch, joined, pack, unpack, words_of
from operators.streamcloud.schema import DOUBLE, TEXT, Schema
from operators.streamcloud.segments import Head, cut, pack_head, unpack_head, whole

# Key: whether it is an output, name, and number of the instance.
Mail = dict[tuple[bool, str, int], list[Row]]
# The head of a state, and all segments until then.
Versions = list[tuple[Head | None, dict[int, bytes | None]]]


def codes_of(plan: Plan, streams: Mapping[str, Sequence[Sequence[Tuple]]]) -> dict[str, int]:
    """Return codes of all texts, in the streams and in the expressions of a plan."""
    texts = {
        value
        for found in streams.values()
        for stream in found
        for row in stream
        for value in row
        if isinstance(value, str)
    }
    for node in plan.query.operators:
        computed = [each[-1] for each in getattr(node, "columns", ())]
        computed += [*getattr(node, "predicates", ()), getattr(node, "where", None)]
        texts |= {text for each in computed for text in getattr(each, "texts", ())}
    return {text: code for code, text in enumerate(sorted(texts, key=str.encode))}


def batch_of(
    schema: Schema, rows: Sequence[Tuple], source: int, first: int, codes: Mapping[str, int]
) -> np.ndarray:
    """Return tuples of a stream as a batch; the first tuple has position `first`."""
    words = empty_batch(2 + len(schema.columns)) if not rows else np.array(
        [
            [row[0], source, position,
             *(word_of(kind, value, codes) for kind, value in zip(schema.types[1:], row[1:],
                                                                  strict=True))]
            for position, row in enumerate(rows, start=first)
        ],
        dtype=np.int64,
    ).T  # fmt: skip
    return np.ascontiguousarray(words)


def word_of(kind: str, value: object, codes: Mapping[str, int]) -> int:
    """Return the word of a column."""
    if kind == DOUBLE:
        return int(np.array([value], dtype=np.float64).view(np.int64)[0])
    return codes[value] if kind == TEXT else value


def delivered(
    plan: Plan,
    streams: Mapping[str, Sequence[Sequence[Tuple]]],
    random: Random,
    saving: bool = False,
) -> dict[str, list[Tuple]]:
    """Return the rows of each output.

    Parameters
    ----------
    plan : Plan
    streams : mapping of str to sequence of sequence of rows
        In the reference's form.
    random : Random
    saving : bool
        Whether new instances sometimes continue from the saved state of others.
    """
    codes = codes_of(plan, streams)
    mail: Mail = defaultdict(list)
    source = 0
    for node in plan.query.inputs:
        for number, stream in enumerate(streams[node.name]):
            balancer = Balancer(plan, node.name, number)
            _send_stream(plan, Output(node), stream, source, balancer, mail, random, codes)
            source += 1
    for stage in plan.stages:
        for number in range(stage.instances):
            instance = Instance(plan, stage.name, number, codes)
            versions: Versions = [(None, {})]
            for rows in _steps(mail[False, stage.name, number], random):
                if saving and random.random() < 0.15:
                    instance = _saved(instance, codes, versions)
                _post(plan, stage.name, instance.step(rows), mail)
            assert instance.closed
    return {
        sink.output.name: _taken(plan, sink, mail[True, sink.output.name, 0], random, codes)
        for sink in plan.sinks
    }


def _saved(instance: Instance, codes: Mapping[str, int], versions: Versions) -> Instance:
    """Return an instance that continues from a saved state, both whole and in segments."""
    state = instance.save()
    before, segments = versions[-1]
    head, segment = cut(instance.saved(), len(versions), before)
    versions.append((unpack_head(pack_head(head)), segments | {head.number: segment}))
    found = [Instance(instance.plan, instance.stage.name, instance.number, codes) for _ in range(2)]
    found[0].load(state)
    found[1].restore(whole(head, versions[-1][1].__getitem__))
    assert [each.save() for each in found] == [state] * 2
    return found[len(versions) % 2]


def _send_stream(plan, output, stream, source, balancer, mail, random, codes) -> None:
    at, ended = 0, False
    while not ended:
        count = random.randint(0, 4)
        rows = stream[at : at + count]
        batch = batch_of(output.schema, rows, source, at, codes)
        at += len(rows)
        ended = at >= len(stream) and random.random() < 0.7
        progress = END if ended else stream[at][0] if at < len(stream) else _last(stream)
        sent = balancer.send({output: batch}, {output: progress})
        _post(plan, output.node.name, sent, mail)


def _last(stream: Sequence[Tuple]) -> int:
    return stream[-1][0] if stream else 0


def _post(plan: Plan, sender: str, sent: Sequence[Sequence[Row]], mail: Mail) -> None:
    for channels, rows in zip(plan.channels_from(sender), sent, strict=True):
        assert [row.dest for row in rows] == list(range(channels.receivers))
        for row in rows:
            mail[channels.kind == OUT, channels.receiver, row.dest].append(unpack(pack(row)))


def _steps(rows: Sequence[Row], random: Random) -> list[list[Row]]:
    """Return rows in any order, some of them twice, split into any steps."""
    rows = random.sample(rows, len(rows)) if random.random() < 0.7 else list(rows)
    for row in random.sample(rows, min(2, len(rows))):
        rows.insert(random.randint(0, len(rows)), row)
    steps = []
    while rows:
        count = random.randint(0, 5)
        steps.append(rows[:count])
        rows = rows[count:]
    return steps


def _taken(plan, sink, rows, random, codes) -> list[Tuple]:
    merger = merger_of(plan, [sink.feeds])
    found = [given.batches[0] for step in _steps(rows, random) for given in merger.take(step)]
    assert merger.progress == END and merger.waiting == 0
    texts = {code: text for text, code in codes.items()}
    batch = joined(found, words_of(sink.output))
    return [
        tuple(columns_of(sink.output, batch[:, at], texts).values()) for at in range(batch.shape[1])
    ]
