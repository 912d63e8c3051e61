"""Mutants of round robin as printed."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_printed = partial(
    Mutant, variant="join/round-robin-as-printed", module="operators.join.round_robin_as_printed"
)

MUTANTS = (
    _printed(
        name="printed-no-second-look",
        old="            if probing and position % windows.shares == windows.number:\n",
        new="            if probing and position < 0:\n",
        breaks="a tuple that has passed the home of an earlier one before that is there is missed",
    ),
    _printed(
        name="printed-later-tuples-met",
        old="        if position < before:\n",
        new="        if position >= 0:\n",
        breaks="a tuple meets later ones, which meet it, too: a pair is found twice",
    ),
    _printed(
        name="printed-passed-forgotten",
        old="& (core.slots - 1))) > rank:\n",
        new="& (core.slots - 1))) > rank + 1:\n",
        breaks="a tuple lets go of the next one of the other stream, which has passed its home",
    ),
    _printed(
        name="printed-ends-before-it-is-told",
        old="        return END if words[SEEN] == feed.end_r + feed.end_s else NOT_READY\n",
        new="        return END if words[SEEN] >= feed.end_r else NOT_READY\n",
        breaks="the collector ends while cores still have pairs for it",
    ),
)
