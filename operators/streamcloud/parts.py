"""A plan, ready to be carried: source, instances and sinks, and the routes between them.

Receivers have a *place*: the stages first, in the order of the plan, then the outputs of the query.
A row is sent with this number; the row itself names the instance of the receiver. Everything that
carriers share is here; a carrier only decides when to step.
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
    """A row in flight: the number of the receiver, and the row."""

    to: int
    row: Row


class Target(NamedTuple):
    """The target of a sender's channel: receiver, instances, and the sender's number there."""

    to: int
    receivers: int
    side: int
    sender: int


def places_of(plan: Plan) -> dict[str, list[int]]:
    """Return, by sender, the receiver's number for each of ``plan.channels_from``."""
    stages = {stage.name: place for place, stage in enumerate(plan.stages)}
    outputs = {sink.output.name: place for place, sink in enumerate(plan.sinks, len(stages))}
    return {
        sender: [
            outputs[each.receiver] if each.kind == OUT else stages[each.receiver]
            for each in plan.channels_from(sender)
        ]
        for sender in [*plan.streams, *stages]
    }


def part_names(plan: Plan) -> list[str]:
    """Return the names of the parts of a plan's state, valid as file names."""
    names = ["source"]
    for stage in plan.stages:
        names += [f"stages/{stage.name}/{number}" for number in range(stage.instances)]
    return names + [f"outputs/{sink.output.name}" for sink in plan.sinks]


class Parts:
    """A plan with its state.

    Parameters
    ----------
    plan : Plan
    streams : mapping of str to sequence of int64 array (words, tuples)
        As of `sources.Source`.
    coding : Coding
        Of the texts in the streams and in the query.
    blob : int
        Tuples that a stream sends at once.
    until : int or None
        The number of tuples after which the source pauses.
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
        # By receiver and number, the work of an instance in another process.
        self._elsewhere: dict[tuple[int, int], Work] = {}
        self._stages = {stage.name: place for place, stage in enumerate(plan.stages)}
        self._places = places_of(plan)

    # --- senders and receivers ------------------------------------------------------------------

    def receivers(self) -> Iterator[tuple[int, int]]:
        """Yield receiver and number of each instance, in topological order, then the outputs.

        An output has one, of number 0.
        """
        for place, instances in enumerate(self.instances):
            for number in range(len(instances)):
                yield place, number
        for place in range(len(self.instances), len(self.instances) + len(self.sinks)):
            yield place, 0

    def is_output(self, place: int) -> bool:
        """Say whether a receiver is an output."""
        return place >= len(self.instances)

    def name_of(self, place: int, number: int) -> str:
        """Return the name of a receiver, for messages."""
        if self.is_output(place):
            return f"output {self._sink(place).output.name}"
        return f"{self.plan.stages[place].name} {number}"

    def targets_of(self, sender: str, number: int) -> list[Target]:
        """Return the targets of an instance of a stage, or a stream of an input."""
        found = zip(self._places[sender], self.plan.channels_from(sender), strict=True)
        return [
            Target(to, each.receivers, each.side, sender_number(self.plan, each, number))
            for to, each in found
        ]

    def senders_to(self, place: int) -> list[tuple[int, int]]:
        """Return side and number of each sender to a receiver."""
        return [(target.side, target.sender) for _, _, target in self._targets_into[place]]

    def ended_to(self, place: int) -> list[tuple[int, int]]:
        """Return those of the senders that had ended when the state was loaded."""
        return [
            (target.side, target.sender)
            for sender, number, target in self._targets_into[place]
            if self._has_ended(sender, number)
        ]

    @cached_property
    def _targets_into(self) -> dict[int, list[tuple[str, int, Target]]]:
        """By receiver, the incoming channels, each with the sender."""
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

    # --- steps ----------------------------------------------------------------------------------

    def next_blob(self) -> list[Sent]:
        """Return the rows of the source's next blob; none at the end, or when it pauses."""
        taken = self.source.take()
        return [] if taken is None else self._sent(*taken)

    def step(self, place: int, number: int, rows: Sequence[Row]) -> list[Sent]:
        """Let an instance step, and return the rows that it sends."""
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
        """Compile all kernels: a thread cannot be stopped while it compiles."""
        self.source.compile()
        for instances in self.instances:
            instances[0].compile()  # the others have the same
        for sink in self.sinks:
            sink.compile()

    # --- results and state ----------------------------------------------------------------------

    def outputs(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the columns of each output, as far as this run put them out."""
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
        """Take the state and the work of an instance that stepped in another process."""
        self.instances[place][number].load(state)
        self._elsewhere[place, number] = work

    def save(self) -> dict[str, bytes]:
        """Return the state of everything, by name."""
        return {name: part.save() for name, part in self._named()}

    def load(self, states: Mapping[str, bytes]) -> None:
        """Continue from the states that the parts of the same plan and streams have saved."""
        for name, part in self._named():
            part.load(states[name])

    def _named(self) -> Iterator[tuple[str, Source | Instance | OutputSink]]:
        parts = [self.source, *(each for of_stage in self.instances for each in of_stage)]
        yield from zip(part_names(self.plan), [*parts, *self.sinks], strict=True)
