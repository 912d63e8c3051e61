"""Litmus programs about a single word: values that readers see, and read-modify-writes.

``x = 1 | read x`` is a program of two threads; `LitmusState`'s words start at 0.
"""

from __future__ import annotations

from operators.check.scenario import Call
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE
from tests.interleaving.litmus import Litmus, get, put

COHERENCE = (
    Litmus("corr", ((put("x", 1, RELAXED),), (get("x", RELAXED),) * 2), "00 01 11"),
    # x = 1 | x = 2 | read x three times: never back.
    Litmus(
        "corr-two-writers",
        ((put("x", 1, RELAXED),), (put("x", 2, RELAXED),), (get("x", RELAXED),) * 3),
        "000 001 002 011 012 021 022 111 112 122 211 221 222",
    ),
    Litmus(
        "coww",
        ((put("x", 1, RELAXED), put("x", 2, RELAXED)), (get("x", RELAXED),) * 2),
        "00|2 01|2 02|2 11|2 12|2 22|2",
        final=("x",),
    ),
    # A release store does not overtake a relaxed store to the same word, nor the other way round.
    Litmus(
        "coww-release",
        ((put("x", 1, RELEASE), put("x", 2, RELAXED), put("x", 3, RELEASE)), (get("x", ACQUIRE),)),
        "0|3 1|3 2|3 3|3",
        final=("x",),
    ),
    # read x; x = 1 | x = 2
    Litmus(
        "corw",
        ((get("x", RELAXED), put("x", 1, RELAXED)), (put("x", 2, RELAXED),)),
        "0|1 0|2 2|1",
        final=("x",),
    ),
    # x = 1; read x | x = 2
    Litmus(
        "cowr",
        ((put("x", 1, RELAXED), get("x", RELAXED)), (put("x", 2, RELAXED),)),
        "1|1 1|2 2|2",
        final=("x",),
    ),
    # x = 1; read x | x = 2; read x: not both read the other's store.
    Litmus(
        "cowr-both",
        (
            (put("x", 1, RELAXED), get("x", RELAXED)),
            (put("x", 2, RELAXED), get("x", RELAXED)),
        ),
        "11|1 12|1 12|2 22|2",
        final=("x",),
    ),
    # x = 1; x = 2 | x = 3; x = 4: only the last store of a thread can be the last of all.
    Litmus(
        "coww-both",
        (
            (put("x", 1, RELAXED), put("x", 2, RELAXED)),
            (put("x", 3, RELAXED), put("x", 4, RELAXED)),
        ),
        "|2 |4",
        final=("x",),
    ),
)


def add_one(order: int) -> Call:
    """Return an addition of 1 to x."""
    return Call("fetch_add", ("x", 1, order))


READ_MODIFY_WRITES = (
    Litmus("two-fetch-adds", ((add_one(RELAXED),),) * 2, "01|2 10|2", final=("x",)),
    Litmus(
        "three-fetch-adds",
        ((add_one(RELAXED),),) * 3,
        "012|3 021|3 102|3 120|3 201|3 210|3",
        final=("x",),
    ),
    Litmus(
        "two-cas",
        ((Call("cas", ("x", 0, 1, RELAXED)),), (Call("cas", ("x", 0, 2, RELAXED)),)),
        "10|1 01|2",
        final=("x",),
    ),
    # The second cas expects the value that the first one stores.
    Litmus(
        "cas-after-cas",
        ((Call("cas", ("x", 0, 1, RELAXED)),), (Call("cas", ("x", 1, 2, RELAXED)),)),
        "10|1 11|2",
        final=("x",),
    ),
    Litmus(
        "two-exchanges",
        ((Call("exchange", ("x", 1, RELAXED)),), (Call("exchange", ("x", 2, RELAXED)),)),
        "01|2 20|1",
        final=("x",),
    ),
    # No store, late or not, comes between the two halves.
    Litmus(
        "fetch-add-and-store",
        ((add_one(RELAXED),), (put("x", 5, RELAXED),)),
        "0|5 5|6",
        final=("x",),
    ),
    Litmus(
        "fetch-add-of-own-store",
        ((put("x", 1, RELAXED), add_one(RELAXED)), (get("x", RELAXED),)),
        "10|2 11|2 12|2",
        final=("x",),
    ),
    # Two additions without atomicity lose one: read x; x = 1 | the same.
    Litmus(
        "load-and-store-is-no-update",
        ((get("x", RELAXED), put("x", 1, RELAXED)), (add_one(RELAXED),)),
        "00|1 01|2 10|1",
        final=("x",),
    ),
)

WORD = (*COHERENCE, *READ_MODIFY_WRITES)
