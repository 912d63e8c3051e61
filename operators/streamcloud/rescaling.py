"""Rescale the state of a plan to other numbers of instances.

::

    instance 0: mergers, operators   ---.   .---   instance 0: mergers, operators
                                         whole     instance 1
    instance 1: mergers, operators   ---'   '---   instance 2

A state can be rescaled only if no row is in flight: all rows that were sent have been taken in, so
that all instances of a stage have worked on the times below one W. Then, stage by stage:

*Operators*
    The instances' state is put together and split by the new partition
    (`operators.streamcloud.sharing`).
*Mergers*
    The streams of inputs remain the same senders: their tuples that wait, or are held behind a gap,
    are put together and split. The instances of a stage are new senders. They begin with a progress
    that all of the old ones have promised, and with a sequence number that none of the old ones has
    used, so that a receiver of both can tell the rows apart. Waiting tuples of the old senders are
    *carried*: one more sequence of the side, which receives nothing more. It cannot go to the new
    senders, since the slowest of the old ones may still have earlier tuples, which any of the new
    ones may send.
*Balancers*
    Those of stages begin with that sequence number, and with the first turn.

Where a map sets the time, the clock of an instance depends on the tuples that it got. Operators
behind the map in the same stage that go by whole times must be at one time before they are put
together. So all such maps are first set to the latest of their times, and tuples that come out
thereby are carried, too. They would come out anyway: times may not go backwards
(`kernels.stateless.MapOperator`).

# ASSUME: the paper does not say how state moves to other instances. Here a run stops in between, so
# that all of it is split at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.streamcloud.algebra import Aggregate, Map, Node, Output, Product
from operators.streamcloud.instance import Instance
from operators.streamcloud.merger import Given, Sender, Side, Waiting
from operators.streamcloud.partition import Hash, Partition
from operators.streamcloud.plan import ENTRY, TRANSPARENT, Feed, Plan, Stage, clocks
from operators.streamcloud.rows import Row, empty_batch, joined
from operators.streamcloud.saved import Log
from operators.streamcloud.sharing import Splits, is_aligned, places_in, shared, split, whole
from operators.streamcloud.sources import OutputSink


class Rescaled(NamedTuple):
    """A state for other numbers of instances.

    Attributes
    ----------
    states : dict of str to bytes
        By the names of `parts.part_names`.
    seq : int
        The sequence number of the next row of each instance of a stage, above all earlier ones.
    """

    states: dict[str, bytes]
    seq: int


class _Told(NamedTuple):
    """The reports of a stage's instances on one of the outputs.

    Attributes
    ----------
    heard : list of int
        Their progress, as the receivers know it.
    promised : int
        The common promise of all, now.
    put_out : list of list of int64 array (words, tuples)
        The tuples that each put out when all were set to one time.
    seq : int
        The sequence number of the next row of each new instance.
    """

    heard: list[int]
    promised: int
    put_out: list[list[np.ndarray]]
    seq: int


# By stage and output.
_AllTold = Mapping[tuple[str, Output], _Told]


def rescaled(
    before: Plan, after: Plan, states: Mapping[str, bytes], codes: Mapping[str, int]
) -> Rescaled:
    """Return the state of a plan, rescaled from the same plan with other numbers of instances.

    Parameters
    ----------
    before, after : Plan
        Of one query, by one strategy, with the same streams.
    states : mapping of str to bytes
        As `parts.Parts.save` returns it, of `before`. The source may be left out, and outputs;
        of outputs that are, only the tuples that rescaling adds are returned.
    codes : mapping of str to int
        Of texts.

    Raises
    ------
    UsageError
        When the state is tied to the old numbers of instances; the message says why.
    RuntimeError
        When a row is in flight.
    """
    _check(before, after)
    found = {"source": states["source"]} if "source" in states else {}
    all_old = _loaded(before, states, codes)
    seq = max(each.balancer.seq for instances in all_old.values() for each in instances)
    told: dict[tuple[str, Output], _Told] = {}
    for was in before.stages:
        becomes, old = after.stage(was.name), all_old[was.name]
        new = [Instance(after, was.name, number, codes) for number in range(becomes.instances)]
        _take_over(was, becomes, old, new, told, seq)
        for number, instance in enumerate(new):
            found[f"stages/{was.name}/{number}"] = instance.save()
    nothing = Hash(())  # all tuples go to the one receiver
    for was, becomes in zip(before.sinks, after.sinks, strict=True):
        name = f"outputs/{was.output.name}"
        one, other = OutputSink(before, was), OutputSink(after, becomes)
        if name in states:
            one.load(states[name])
        else:
            _have_heard(one.merger.sides[0], told)
        _renew(one.merger.sides, other.merger.sides, nothing, nothing, told)
        found[name] = other.save()
    return Rescaled(found, seq)


def _loaded(
    plan: Plan, states: Mapping[str, bytes], codes: Mapping[str, int]
) -> dict[str, list[Instance]]:
    """Return the instances of all stages."""
    found: dict[str, list[Instance]] = {}
    for stage in plan.stages:
        found[stage.name] = []
        for number in range(stage.instances):
            instance = Instance(plan, stage.name, number, codes)
            instance.load(states[f"stages/{stage.name}/{number}"])
            found[stage.name].append(instance)
    return found


# --- checks ---------------------------------------------------------------------------------------


def _check(before: Plan, after: Plan) -> None:
    changed = [
        (was, becomes)
        for was, becomes in zip(before.stages, after.stages, strict=True)
        if was.instances != becomes.instances
    ]
    if before.merger != TRANSPARENT and changed:
        was, becomes = changed[0]
        raise UsageError(
            f"{before.query.name}: what {before.merger} mergers have lost depends on the instances,"
            f" and {was.name} had {was.instances}, not {becomes.instances}: go on with the same"
            " numbers, or begin anew"
        )
    for was, becomes in changed:
        for node, clock in _behind_clocks(was):
            if isinstance(clock, Aggregate) and not is_aligned(clock):
                raise UsageError(
                    f"{was.name}: the windows of {clock.name} begin at their oldest tuples, so that"
                    f" its instances are at different times, and {node.name} in the same stage with"
                    f" them: it must go on with {was.instances} instances, not {becomes.instances}"
                )


def _behind_clocks(stage: Stage) -> Iterator[tuple[Node, Node]]:
    """Yield operators that go by whole times, each with the operator whose clock it is on.

    Operators on the clock of the stage's input are left out.
    """
    of_clock, by_name = clocks(stage), {node.name: node for node in stage.operators}
    for node in stage.operators:
        clock = of_clock.get(node.inputs[0].node, ENTRY)
        if clock != ENTRY and (is_aligned(node) or isinstance(node, Product)):
            yield node, by_name[clock]


# --- a stage --------------------------------------------------------------------------------------


def _take_over(
    was: Stage,
    becomes: Stage,
    old: Sequence[Instance],
    new: Sequence[Instance],
    told: dict[tuple[str, Output], _Told],
    seq: int,
) -> None:
    """Let new instances continue from the old ones' state; record the reports of the old ones."""
    for side, (one, other) in enumerate(zip(was.mergers, becomes.mergers, strict=True)):
        old_sides, new_sides = (
            [each.merger.sides[side] for each in instances] for instances in (old, new)
        )
        _renew(old_sides, new_sides, one.partition, other.partition, told)
    heard = [instance.progress for instance in old]
    put_out = _set_to_one_time(was, old) if len(old) != len(new) else [{} for _ in old]
    promised = {output: min(each.progress[output] for each in old) for output in heard[0]}
    for output, progress in promised.items():
        sent = [each.get(output, []) for each in put_out]
        told[was.name, output] = _Told([each[output] for each in heard], progress, sent, seq)
    for place, (node, _) in enumerate(old[0].operators):
        operators = [instance.operators[place][1] for instance in old]
        if len(old) == len(new):
            states = [operator.save() for operator in operators]
        else:
            states = shared(node, operators, Splits(was), Splits(becomes))
        for instance, state in zip(new, states, strict=True):
            instance.operators[place][1].load(state)
    for instance in new:
        instance.progress = promised
        instance.balancer.seq = seq


def _set_to_one_time(
    stage: Stage, instances: Sequence[Instance]
) -> list[dict[Output, list[np.ndarray]]]:
    """Set maps to the latest of their times where needed; return the tuples that each puts out."""
    found = [{output: [] for output in instance.progress} for instance in instances]
    if not any(isinstance(clock, Map) for _, clock in _behind_clocks(stage)):
        return found
    for place, (node, _) in enumerate(instances[0].operators):
        if isinstance(node, Map) and node.sets_time:
            states = [instance.operators[place][1].save() for instance in instances]
            last = max(int(each[0][0]) for each in states)
            for instance, (_, waiting), sent in zip(instances, states, found, strict=True):
                instance.operators[place][1].load([np.array([last], dtype=np.int64), waiting])
                merger = instance.merger
                nothing = [empty_batch(side.words) for side in merger.sides]
                instance.work_on(Given(nothing, merger.progress), sent)
    return found


# --- a side of a merger ---------------------------------------------------------------------------


def _renew(
    old: Sequence[Side],
    new: Sequence[Side],
    was: Partition,
    becomes: Partition,
    told: _AllTold,
) -> None:
    """Let one side of the new instances continue from the old ones' state."""
    feeds = list(dict.fromkeys(sender.feed for sender in old[0].senders))
    for feed in feeds:
        olds, news = ([_senders(side, feed) for side in sides] for sides in (old, new))
        said = told.get((feed.sender, feed.output))
        for number, senders in enumerate(zip(*news, strict=True)):
            if said is None:
                _go_on([each[number] for each in olds], senders, was, becomes)
                continue
            for sender in senders:
                sender.next, sender.progress = said.seq, said.promised
        if said is not None:
            _check_heard(feed, olds, said)
    width = old[0].width
    waits = whole([_waits(side, told, side is old[0]) for side in old], was, width)
    places = places_in(feeds[0].output, becomes, width)
    for side, share in zip(new, split(waits, becomes, places, len(new)), strict=True):
        if share.shape[1]:
            side.carried.parts.append(share)


def carry_over(old: Side, new: Side) -> None:
    """Carry the waiting tuples of a side on another, with those carried there already."""
    waits = old.merged([(each, list(each.parts)) for each in (*old.senders, old.carried)])
    pieces = [each for each in (waits, *new.carried.parts) if each.shape[1]]
    batch = new.merged([(Waiting(stays=True), [each]) for each in pieces])
    new.carried.go_on(Log(0, batch))


def _senders(side: Side, feed: Feed) -> list[Sender]:
    return [sender for sender in side.senders if sender.feed == feed]


def _go_on(
    old: Sequence[Sender], new: Sequence[Sender], was: Partition, becomes: Partition
) -> None:
    """Let a stream of an input remain the same sender, for other instances."""
    first = old[0]
    output, words = first.feed.output, first.words
    said = {(each.next, each.progress, *sorted(each.held)) for each in old}
    if len(said) > 1:
        raise RuntimeError(
            f"{output.name}: instances have rows of one stream up to {sorted(said)}: a row is on"
            " the way"
        )
    width = words - len(output.schema.columns) + 1
    places = places_in(output, becomes, width)

    def shares(batches: Sequence[np.ndarray]) -> list[np.ndarray]:
        return split(whole(batches, was, width), becomes, places, len(new))

    waiting = shares([joined(each.parts, words) for each in old])
    for sender, share in zip(new, waiting, strict=True):
        sender.next, sender.progress = first.next, first.progress
        if share.shape[1]:
            sender.parts.append(share)
    for seq, row in first.held.items():
        for dest, share in enumerate(shares([each.held[seq].batch for each in old])):
            held = Row(dest, row.side, new[dest].number, seq, row.progress, share)
            new[dest].held[seq] = held


def _have_heard(side: Side, told: _AllTold) -> None:
    """Set the progress of the senders of a side that has taken nothing."""
    for feed in dict.fromkeys(sender.feed for sender in side.senders):
        said = told[feed.sender, feed.output]
        for sender, progress in zip(_senders(side, feed), said.heard, strict=True):
            sender.progress = progress


def _check_heard(feed: Feed, old: Sequence[Sequence[Sender]], said: _Told) -> None:
    """Refuse a state in which a row of a stage has been sent, and not taken in."""
    for senders in old:
        if [each.progress for each in senders] != said.heard or any(each.held for each in senders):
            raise RuntimeError(
                f"{feed.output.name}: {feed.sender} is at {said.heard}, and one of those that take"
                f" it has heard {[each.progress for each in senders]}: a row is on the way"
            )


def _waits(side: Side, told: _AllTold, takes: bool) -> np.ndarray:
    """Return the waiting tuples from the instances of stages, in the total order.

    Parameters
    ----------
    side : Side
    told : mapping
    takes : bool
        Whether to add the tuples that they put out when they were set to one time.
    """
    pieces = [(side.carried, list(side.carried.parts))]
    for feed in dict.fromkeys(sender.feed for sender in side.senders):
        said = told.get((feed.sender, feed.output))
        if said is not None:
            for sender, more in zip(_senders(side, feed), said.put_out, strict=True):
                more = [each for each in more if takes and each.shape[1]]
                pieces.append((sender, [*sender.parts, *more]))
    return side.merged(pieces)
