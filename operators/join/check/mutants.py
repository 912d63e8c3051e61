"""Mutants of the joins."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_chain = partial(Mutant, variant="join/round-robin")

MUTANTS = (
    _chain(
        name="round-robin-later-tuple-first",
        module="operators.join.round_robin",
        old="words[RANK] < words[SIDE_WORDS + RANK])",
        new="words[RANK] > words[SIDE_WORDS + RANK])",
        breaks="a tuple looks for partners that arrive behind it, and those do not find it",
        canary=True,
    ),
    _chain(
        name="round-robin-kept-by-everyone",
        module="operators.join.window",
        old="        if not whole and position % windows.shares != windows.number:\n",
        new="        if not whole and position < 0:\n",
        breaks="every core keeps each tuple, and finds it",
    ),
    Mutant(
        name="index-join-window-of-one-more",
        variant="join/pim-tree",
        module="operators.join.window",
        old="if mine.words[NEXT] - oldest_of(windows, mine) == windows.length:",
        new="if mine.words[NEXT] - oldest_of(windows, mine) > windows.length:",
        breaks="a tuple meets partners that have left the window",
    ),
    Mutant(
        name="index-join-sides-exchanged",
        variant="join/pim-tree",
        module="operators.join.window",
        old="        return process_on(windows, windows.s, windows.r, key, time, out, probing)\n",
        new="        return process_on(windows, windows.r, windows.s, key, time, out, probing)\n",
        breaks="tuples of S are taken for tuples of R",
    ),
)
