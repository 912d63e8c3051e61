"""Mutants of the theta joins, but for those of chains."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_processing = partial(
    Mutant, variant="theta_join/scale-join", module="operators.theta_join.processing"
)

MUTANTS = (
    _processing(
        name="scale-join-keeps-every-tuple",
        old="        keeps = words[TURN] == own.number\n",
        new="        keeps = words[TURN] >= 0\n",
        breaks="each thread keeps every tuple, so that pairs are found by all",
        canary=True,
    ),
)
