"""A plan, ready to be carried: source, instances and sinks, and who sends to whom.

Receivers have a *place*: the stages first, in the order of the plan, then the outputs of the query.
What is sent is a row with the place of its receiver; within that the row says which instance it is
for. All that carriers share is here, so that what is left of a carrier is when it steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from operators.streamcloud.coding import Coding
from operators.streamcloud.instance import Instance, Work
from operators.streamcloud.plan import OUT, Plan
from operators.streamcloud.rows import BLOB, Row, sender_number
from operators.streamcloud.sources import OutputSink, Source


class Sent(NamedTuple):
    """A row on its way: the place of its receiver, and the row."""

    to: int
    row: Row


class Target(NamedTuple):
    """Where a sender sends by one of its channels: a place, its instances, and who it is there."""

    to: int
    receivers: int
    side: int
    sender: int


class Parts:
    """A plan with its state.

    Parameters
    ----------
    plan : Plan
    streams : mapping of str to sequence of int64 array (words, tuples)
        As of `sources.Source`.
    coding : Coding
        Of the texts in them and in the query.
    blob : int
        Tuples that a stream sends at once.
    until : int or None
        After how many tuples the source pauses.
    cores : mapping of (str, int) to int, optional
        By stage and number, the core that the thread of an instance is bound to.

    Attributes
    ----------
    source : Source
    sinks : list of OutputSink
    """

    def __init__(
        self,
        plan: Plan,
        streams: Mapping[str, Sequence[np.ndarray]],
        coding: Coding,
        blob: int = BLOB,
        until: int | None = None,
        cores: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        self.plan, self.coding, self.cores = plan, coding, dict(cores or {})
        self.source = Source(plan, streams, blob, until)
        self.instances = [
            [Instance(plan, stage.name, number, coding.codes) for number in range(stage.instances)]
            for stage in plan.stages
        ]
        self.sinks = [OutputSink(plan, sink) for sink in plan.sinks]
        # By place and number, what an instance did in another process.
        self._elsewhere: dict[tuple[int, int], Work] = {}
        self._stages = {stage.name: place for place, stage in enumerate(plan.stages)}
        outputs = {
            sink.output.name: place for place, sink in enumerate(plan.sinks, len(plan.stages))
        }
        # By sender, the place of the receiver of each of its channels.
        self._places = {
            sender: [
                outputs[each.receiver] if each.kind == OUT else self._stages[each.receiver]
                for each in plan.channels_from(sender)
            ]
            for sender in [*plan.streams, *self._stages]
        }

    # --- who there is ---------------------------------------------------------------------------

    def receivers(self) -> Iterator[tuple[int, int]]:
        """Yield place and number of each instance, each behind those that send to it, then outputs.

        An output has one, of number 0.
        """
        for place, instances in enumerate(self.instances):
            for number in range(len(instances)):
                yield place, number
        for place in range(len(self.instances), len(self.instances) + len(self.sinks)):
            yield place, 0

    def is_output(self, place: int) -> bool:
        """Say whether a place is an output."""
        return place >= len(self.instances)

    def name_of(self, place: int, number: int) -> str:
        """Return what a receiver is called in messages."""
        if self.is_output(place):
            return f"output {self._sink(place).output.name}"
        return f"{self.plan.stages[place].name} {number}"

    def targets_of(self, sender: str, number: int) -> list[Target]:
        """Return where an instance of a stage, or a stream of an input, sends to."""
        found = zip(self._places[sender], self.plan.channels_from(sender), strict=True)
        return [
            Target(to, each.receivers, each.side, sender_number(self.plan, each, number))
            for to, each in found
        ]

    def senders_to(self, place: int) -> list[tuple[int, int]]:
        """Return side and number of each sender to a place."""
        return [(target.side, target.sender) for _, _, target in self._targets_into[place]]

    def ended_to(self, place: int) -> list[tuple[int, int]]:
        """Return those of them that had come to their end when the state was loaded."""
        return [
            (target.side, target.sender)
            for sender, number, target in self._targets_into[place]
            if self._has_ended(sender, number)
        ]

    @cached_property
    def _targets_into(self) -> dict[int, list[tuple[str, int, Target]]]:
        """By place, the channels into it, each with who sends by it."""
        found = {place: [] for place, _ in self.receivers()}
        stages = {stage.name: stage.instances for stage in self.plan.stages}
        for sender, count in {**self.plan.streams, **stages}.items():
            for number in range(count):
                for target in self.targets_of(sender, number):
                    found[target.to].append((sender, number, target))
        return found

    def _has_ended(self, sender: str, number: int) -> bool:
        if sender in self.plan.streams:
            return self.source.ended(sender, number)
        return self.instances[self._stages[sender]][number].closed

    # --- what they do ---------------------------------------------------------------------------

    def next_blob(self) -> list[Sent]:
        """Return the rows of the source's next blob; none at the end, or when it pauses."""
        taken = self.source.take()
        return [] if taken is None else self._sent(*taken)

    def step(self, place: int, number: int, rows: Sequence[Row]) -> list[Sent]:
        """Let an instance step, and return what it sends."""
        instance = self.instances[place][number]
        return self._sent(instance.stage.name, instance.step(rows))

    def keep(self, place: int, rows: Sequence[Row]) -> None:
        """Let an output take rows."""
        self._sink(place).take(rows)

    def _sent(self, sender: str, found: Sequence[Sequence[Row]]) -> list[Sent]:
        return [
            Sent(to, row)
            for to, rows in zip(self._places[sender], found, strict=True)
            for row in rows
        ]

    def _sink(self, place: int) -> OutputSink:
        return self.sinks[place - len(self.instances)]

    def compile(self) -> None:
        """Compile all kernels: a thread that compiled could not be told to stop."""
        self.source.compile()
        for instances in self.instances:
            instances[0].compile()  # the others have the same
        for sink in self.sinks:
            sink.compile()

    # --- what is left ---------------------------------------------------------------------------

    def outputs(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the columns of each output, of what came out in this run."""
        return {sink.output.name: sink.columns(self.coding) for sink in self.sinks}

    @property
    def closed(self) -> bool:
        """Whether nothing more comes out."""
        return all(sink.closed for sink in self.sinks)

    def work(self) -> dict[tuple[str, int], Work]:
        """Return the work of each instance in this run."""
        return {
            (self.plan.stages[place].name, number): instance.work
            + self._elsewhere.get((place, number), Work())
            for place, instances in enumerate(self.instances)
            for number, instance in enumerate(instances)
        }

    def take_back(self, place: int, number: int, state: bytes, work: Work) -> None:
        """Take the state of an instance that stepped in another process, and what it did there."""
        self.instances[place][number].load(state)
        self._elsewhere[place, number] = work

    def save(self) -> dict[str, bytes]:
        """Return the state of everything, by name."""
        return {name: part.save() for name, part in self._named()}

    def load(self, states: Mapping[str, bytes]) -> None:
        """Go on from what the parts of the same plan and streams have saved."""
        for name, part in self._named():
            part.load(states[name])

    def names(self) -> list[str]:
        """Return the names that states go by: they are good as names of files."""
        return [name for name, _ in self._named()]

    def _named(self) -> Iterator[tuple[str, Source | Instance | OutputSink]]:
        yield "source", self.source
        for stage, instances in zip(self.plan.stages, self.instances, strict=True):
            for number, instance in enumerate(instances):
                yield f"stages/{stage.name}/{number}", instance
        for sink in self.sinks:
            yield f"outputs/{sink.output.name}", sink
