"""The family of window joins: what each provides, what a bench takes, and what all agree on.

A band join over sliding windows (section 5 of "Parallel Index-based Stream Join on a Multicore
CPU")::

    SELECT * FROM R, S WHERE ABS(R.x - S.x) <= diff

A tuple of one stream meets those of the other that are in their window when it arrives: the last
`window` of them, or those of the last so many ticks. In a self join there is one stream, and a
tuple meets the earlier ones in its window: each unordered pair once, none with itself.

Pairs are ordered by the probing tuple in its order of arrival, then by the partner's position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter
from operators.index.family import MOST_WINDOW

MOST_THREADS = 16
KEYS = ("uniform", "gaussian", "gamma-3-3", "gamma-1-5", "drift")
TWO_WAY, SELF = "two-way", "self"
# A tuple met no room in an index, which a window within its limits never does.
INDEX_FULL = -3


class JoinOperations(NamedTuple):
    """What a join of two streams provides.

    ``make_state(window, half_width, *, two_way, key_bits, span, **parameters)`` returns a
    NamedTuple of arrays. `window` is the most tuples that a window ever has; `span` 0 for count
    windows, else its ticks: a tuple of time t leaves when one arrives that is over t + span.

    ``process(state, side, key, time, out, probing)`` takes the next tuple of a side (0: R, 1: S; a
    self join has side 0 alone) and writes the positions of its partners into ``out[0:count]``, in
    no order: their count, or INDEX_FULL. `out` has room for `window` + 1. With `probing` False the
    tuple enters its window and looks for nobody.

    ``stamped(state, side, key, time, out, spent)`` is ``process``, and adds the ns that each step
    took to ``spent[0:4]``: insert, delete, search, scan.

    ``merge_ns(state)`` is the time that merges have taken; ``footprint(state)`` the bytes in use by
    component, "window" the sliding windows themselves; ``inserted(state)`` the tuples that each
    subindex of an index got, one side after the other (empty where there are none);
    ``check_invariants(state)`` raises AssertionError.

    A join of several threads has no ``process``: ``make_state(index, window, half_width, threads,
    key_bits, *, two_way, span)`` returns a state a thread, ``make_step(index)`` the compiled part,
    ``step(state, feed)``, which each thread calls again and again (`operators.join.round_robin`
    says what it answers), and ``reopen(states)`` lets a chain that has ended go on.

    ``cycle(state)`` returns after how many tuples of a side the work of its index repeats.

    ``prepare(state, r, s, begin, rows)``, where a join has it, is told of tuples that have arrived
    and are processed next: of each stream the keys from `begin` on, `ahead` rows or fewer. It may
    look for their places together, and changes no answer.
    """

    make_state: Callable[..., Any]
    process: Callable[..., int] | None
    stamped: Callable[..., int] | None
    merge_ns: Callable[..., int]
    footprint: Callable[..., dict[str, int]]
    inserted: Callable[..., np.ndarray]
    cycle: Callable[..., int]
    check_invariants: Callable[..., None]
    make_step: Callable[..., Callable[..., int]] | None = None
    reopen: Callable[..., None] | None = None
    prepare: Callable[..., None] | None = None
    ahead: int = 0


def role_of(settings: Mapping[str, Any]) -> str:
    """Return the role of the data: streams of keys."""
    return "keys"


FAMILY = Family(
    id="join",
    title="pairs of two streams whose keys lie in a band, over sliding windows",
    operations=JoinOperations,
    settings=(
        Parameter("window", 1 << 16, 1, MOST_WINDOW, "tuples", "of each window"),
        Parameter("match_rate", 2.0, 0, 4096, "", "partners of a tuple, on average", decimals=6),
        Parameter("keys", "uniform", meaning="how keys are distributed", choices=KEYS),
        Parameter("kind", TWO_WAY, meaning="of two streams, or of one", choices=(TWO_WAY, SELF)),
        Parameter("drift", 0.0, 0, 1, "", "r: how far the mean of the keys moves", decimals=2),
        Parameter("sigma", 0.125, 0.001, 1, "", "of the drifting keys", decimals=4),
    ),
    failures={INDEX_FULL: "an index had no room for a tuple of its window"},
    role_of=role_of,
)
