r"""A plan as one chain: which stages Spark computes in parallel, and which one after the other.

Stages send to several others, and Spark computes a table twice if it is used twice. So all stages
are put into one chain of *levels*: the level of a stage is the number of hops on the longest path
from an input. ::

    plan    calls --> known ---> busy --> (busy)     level 1   known, short
                \-> short -------^                   level 2   busy

A level is one step of Spark. It has a *slot* for each instance of the level's stages, which is a
partition there. Rows for a later level, or for an output of the query, pass through the levels in
between unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from operators.streamcloud.parts import places_of
from operators.streamcloud.plan import Plan


@dataclass(frozen=True)
class Levels:
    """The levels of a plan, counted from 1; before the first are the inputs.

    Parameters
    ----------
    plan : Plan
    """

    plan: Plan

    @cached_property
    def of_place(self) -> tuple[int, ...]:
        """The level of each stage, by number (`parts.Parts`); outputs are behind all of them."""
        of_name = dict.fromkeys(self.plan.streams, 0)
        for stage in self.plan.stages:
            senders = [feed.sender for merger in stage.mergers for feed in merger.feeds]
            of_name[stage.name] = 1 + max(of_name[sender] for sender in senders)
        behind = 1 + max(of_name.values())
        return (
            *(of_name[stage.name] for stage in self.plan.stages),
            *(behind for _ in self.plan.sinks),
        )

    @cached_property
    def slots(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """By level, the first one first: the instance in each slot, as (stage, number)."""
        return tuple(
            tuple(
                (place, number)
                for place, stage in enumerate(self.plan.stages)
                if self.of_place[place] == level
                for number in range(stage.instances)
            )
            for level in range(1, self.of_place[-1])
        )

    @property
    def count(self) -> int:
        """The number of levels."""
        return len(self.slots)

    @cached_property
    def _offsets(self) -> dict[int, int]:
        """By number of a stage, the slot of instance 0."""
        return {
            place: slot
            for slots in self.slots
            for slot, (place, number) in enumerate(slots)
            if number == 0
        }

    def total(self, level: int) -> int:
        """Return the number of slots of a level."""
        return len(self.slots[level - 1])

    def slot(self, level: int, place: int, dest: int) -> int:
        """Return the slot of a row on a level, for an instance of that level or of later ones.

        Behind the last level there are no slots: 0.
        """
        if level > self.count:
            return 0
        if self.of_place[place] == level:
            return self._offsets[place] + dest
        return dest % self.total(level)

    @cached_property
    def receivers(self) -> dict[str, list[int]]:
        """By sender, the receiver's number for each of ``plan.channels_from``."""
        return places_of(self.plan)
