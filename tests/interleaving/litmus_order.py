"""Litmus programs about the order of accesses to several words, with all their outcomes.

``x = 1; read y | y = 1; read x`` is a program of two threads; `LitmusState`'s words start at 0.
"""

from __future__ import annotations

from operators.check.scenario import Call
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST
from tests.interleaving.litmus import Litmus, Programs, fenced, get, put


def update(word: str, order: int) -> Call:
    """Return an exchange for 1."""
    return Call("exchange", (word, 1, order))


def store_buffering(
    store_order: int, load_order: int, left: tuple[Call, ...] = (), right: tuple[Call, ...] = ()
) -> Programs:
    """x = 1; left; read y | y = 1; right; read x."""
    return (
        (put("x", 1, store_order), *left, get("y", load_order)),
        (put("y", 1, store_order), *right, get("x", load_order)),
    )


SEQUENTIAL_FENCE = (fenced(SEQ_CST),)
STORE_BUFFERING = (
    Litmus("sb-relaxed", store_buffering(RELAXED, RELAXED), "01 10 11", tso="00"),
    Litmus("sb-release-acquire", store_buffering(RELEASE, ACQUIRE), "01 10 11", tso="00"),
    Litmus("sb-seq-cst", store_buffering(SEQ_CST, SEQ_CST), "01 10 11"),
    # A SEQ_CST load does not wait for the thread's stores: the store must be SEQ_CST too.
    Litmus("sb-seq-cst-loads", store_buffering(RELEASE, SEQ_CST), "01 10 11", tso="00"),
    Litmus("sb-seq-cst-stores", store_buffering(SEQ_CST, ACQUIRE), "01 10 11", c11="00"),
    Litmus(
        "sb-seq-cst-one-side",
        (store_buffering(SEQ_CST, SEQ_CST)[0], store_buffering(RELAXED, RELAXED)[1]),
        "01 10 11",
        tso="00",
    ),
    Litmus(
        "sb-fences",
        store_buffering(RELAXED, RELAXED, SEQUENTIAL_FENCE, SEQUENTIAL_FENCE),
        "01 10 11",
    ),
    Litmus(
        "sb-fence-one-side",
        store_buffering(RELAXED, RELAXED, SEQUENTIAL_FENCE),
        "01 10 11",
        tso="00",
    ),
    # No weaker fence orders a store before a load.
    Litmus(
        "sb-weak-fences",
        store_buffering(RELAXED, RELAXED, (fenced(ACQ_REL),), (fenced(ACQ_REL),)),
        "01 10 11",
        tso="00",
    ),
    # Later loads pass a relaxed exchange only where stores pass it too.
    Litmus(
        "sb-updates",
        store_buffering(RELAXED, RELAXED, (update("z", RELAXED),), (update("data", RELAXED),)),
        "0001 0100 0101",
        pso="0000",
    ),
    # Difference 4: a releasing exchange waits for the store before it.
    Litmus(
        "sb-updates-acq-rel",
        store_buffering(RELAXED, RELAXED, (update("z", ACQ_REL),), (update("data", ACQ_REL),)),
        "0001 0100 0101",
        c11="0000",
    ),
    # As above, with two uncontended mutexes.
    Litmus(
        "sb-locks",
        (
            (put("x", 1, RELAXED), Call("lock", ("one",)), get("y", RELAXED)),
            (put("y", 1, RELAXED), Call("lock", ("two",)), get("x", RELAXED)),
        ),
        "01 10 11",
        c11="00",
    ),
    # A thread reads its own store before others can: x = 1; read x; read y | the same with y, x.
    Litmus(
        "sb-own-stores-first",
        (
            (put("x", 1, RELAXED), get("x", RELAXED), get("y", RELAXED)),
            (put("y", 1, RELAXED), get("y", RELAXED), get("x", RELAXED)),
        ),
        "1011 1110 1111",
        tso="1010",
    ),
    # x = 1; read x; read y | y = 2; x = 2: the left one may see 1, 0 and still be overwritten late.
    Litmus(
        "sb-n6",
        (
            (put("x", 1, RELAXED), get("x", RELAXED), get("y", RELAXED)),
            (put("y", 2, RELAXED), put("x", 2, RELAXED)),
        ),
        "10|2 12|1 12|2 22|2",
        tso="10|1",
        pso="20|2",
        final=("x",),
    ),
)


def message(
    *,
    before: tuple[Call, ...] = (),
    data: int = RELAXED,
    between: tuple[Call, ...] = (),
    flag: int = RELAXED,
    seen: int = RELAXED,
    then: tuple[Call, ...] = (),
) -> Programs:
    """before; x = 1; between; y = 1 | read y; then; read x."""
    return (
        (*before, put("x", 1, data), *between, put("y", 1, flag)),
        (get("y", seen), *then, get("x", RELAXED)),
    )


RELEASE_FENCE, ACQUIRE_FENCE = (fenced(RELEASE),), (fenced(ACQUIRE),)
MESSAGE_PASSING = (
    Litmus("mp-relaxed", message(), "00 01 11", pso="10"),
    # Difference 1: a missing acquire shows no stale x here, but a race if x is plain.
    Litmus("mp-release-relaxed", message(flag=RELEASE), "00 01 11", c11="10"),
    Litmus("mp-relaxed-acquire", message(seen=ACQUIRE), "00 01 11", pso="10"),
    Litmus("mp-release-acquire", message(flag=RELEASE, seen=ACQUIRE), "00 01 11"),
    Litmus("mp-seq-cst", message(flag=SEQ_CST, seen=SEQ_CST), "00 01 11"),
    Litmus("mp-fences", message(between=RELEASE_FENCE, then=ACQUIRE_FENCE), "00 01 11"),
    Litmus("mp-release-fence-only", message(between=RELEASE_FENCE), "00 01 11", c11="10"),
    Litmus("mp-acquire-fence-only", message(then=ACQUIRE_FENCE), "00 01 11", pso="10"),
    Litmus(
        "mp-acquire-fence-does-not-release",
        message(between=ACQUIRE_FENCE, then=ACQUIRE_FENCE),
        "00 01 11",
        pso="10",
    ),
    # A release orders earlier accesses only: neither the fence nor the store keeps y after x.
    Litmus(
        "mp-fence-too-early",
        message(before=RELEASE_FENCE, then=ACQUIRE_FENCE),
        "00 01 11",
        pso="10",
    ),
    Litmus("mp-release-too-early", message(data=RELEASE, seen=ACQUIRE), "00 01 11", pso="10"),
    # Difference 4: the SEQ_CST store has arrived before the thread goes on.
    Litmus("mp-seq-cst-too-early", message(data=SEQ_CST, seen=ACQUIRE), "00 01 11", c11="10"),
    Litmus(
        "mp-update-as-flag",
        ((put("x", 1, RELAXED), update("y", RELAXED)), (get("y", ACQUIRE), get("x", RELAXED))),
        "000 001 011",
        pso="010",
    ),
    Litmus(
        "mp-releasing-update",
        ((put("x", 1, RELAXED), update("y", RELEASE)), (get("y", ACQUIRE), get("x", RELAXED))),
        "000 001 011",
    ),
    Litmus(
        "mp-update-behind-fence",
        (
            (put("x", 1, RELAXED), fenced(RELEASE), update("y", RELAXED)),
            (get("y", ACQUIRE), get("x", RELAXED)),
        ),
        "000 001 011",
    ),
    # x = 1; y = 1 (release); x = 2: the earlier store must not keep the later one from being seen.
    Litmus(
        "mp-two-values",
        (
            (put("x", 1, RELAXED), put("y", 1, RELEASE), put("x", 2, RELAXED)),
            (get("y", ACQUIRE), get("x", RELAXED)),
        ),
        "00 01 02 11 12",
    ),
    # x = 1; y = 1; z = 1 (release): z waits for both, and they do not wait for each other.
    Litmus(
        "mp-two-before-one-release",
        (
            (put("x", 1, RELAXED), put("y", 1, RELAXED), put("z", 1, RELEASE)),
            (get("z", ACQUIRE), get("y", RELAXED), get("x", RELAXED)),
        ),
        "000 001 011 111",
        pso="010",
    ),
    # The same after one fence: x = 1; fence; y = 1; z = 1. Both wait for x alone.
    Litmus(
        "mp-fence-before-two",
        (
            (put("x", 1, RELAXED), fenced(RELEASE), put("y", 1, RELAXED), put("z", 1, RELAXED)),
            (get("z", ACQUIRE), get("y", RELAXED), get("x", RELAXED)),
        ),
        "000 001 011 111",
        pso="101",
        c11="010",
    ),
    # A mutex passes a message whatever the memory orders of the stores.
    Litmus(
        "mp-lock",
        (
            (
                Call("lock", ("one",)),
                put("x", 1, RELAXED),
                put("y", 1, RELAXED),
                Call("unlock", ("one",)),
            ),
            (
                Call("lock", ("one",)),
                get("y", RELAXED),
                get("x", RELAXED),
                Call("unlock", ("one",)),
            ),
        ),
        "00 11",
    ),
)

SEES_BOTH = "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"
SEES_THREE = "000 001 010 011 100 101 111"


def independent_reads(store_order: int, load_order: int) -> Programs:
    """x = 1 | y = 1 | read x; read y | read y; read x."""
    return (
        (put("x", 1, store_order),),
        (put("y", 1, store_order),),
        (get("x", load_order), get("y", load_order)),
        (get("y", load_order), get("x", load_order)),
    )


def causality(store_order: int, load_order: int, names: tuple[str, str, str]) -> Programs:
    """Write-to-read causality: x = 1 | read x; y = 1 | read y; read x."""
    first, second, third = names
    return (
        (put(first, 1, store_order),),
        (get(first, load_order), put(second, 1, store_order)),
        (get(second, load_order), get(third, load_order)),
    )


def chain(store_order: int, load_order: int) -> Programs:
    """A message passed on: x = 1; y = 1 | read y; z = 1 | read z; read x."""
    return (
        (put("x", 1, RELAXED), put("y", 1, store_order)),
        *causality(store_order, load_order, ("y", "z", "x"))[1:],
    )


# Differences 1 and 2: all threads see stores in one order, and read them in program order.
MANY_THREADS = (
    Litmus("iriw-relaxed", independent_reads(RELAXED, RELAXED), SEES_BOTH, c11="1010"),
    Litmus("iriw-acquire", independent_reads(RELEASE, ACQUIRE), SEES_BOTH, c11="1010"),
    Litmus("iriw-seq-cst", independent_reads(SEQ_CST, SEQ_CST), SEES_BOTH),
    Litmus("wrc-relaxed", causality(RELAXED, RELAXED, ("x", "y", "x")), SEES_THREE, c11="110"),
    Litmus("wrc-release-acquire", causality(RELEASE, ACQUIRE, ("x", "y", "x")), SEES_THREE),
    Litmus("isa2-relaxed", chain(RELAXED, RELAXED), SEES_THREE, pso="110"),
    Litmus("isa2-release-relaxed", chain(RELEASE, RELAXED), SEES_THREE, c11="110"),
    Litmus("isa2-release-acquire", chain(RELEASE, ACQUIRE), SEES_THREE),
)


def both_written(first: int, second: int) -> Programs:
    """2+2W: x = 1; y = 2 | y = 1; x = 2."""
    return (
        (put("x", 1, first), put("y", 2, second)),
        (put("y", 1, first), put("x", 2, second)),
    )


def shape_r(second: int, left: tuple[Call, ...] = (), right: tuple[Call, ...] = ()) -> Programs:
    """R: x = 1; left; y = 1 | y = 2; right; read x."""
    return (
        (put("x", 1, RELAXED), *left, put("y", 1, second)),
        (put("y", 2, RELAXED), *right, get("x", RELAXED)),
    )


def shape_s(second: int, look: int) -> Programs:
    """S: x = 2; y = 1 | read y; x = 1."""
    return (
        (put("x", 2, RELAXED), put("y", 1, second)),
        (get("y", look), put("x", 1, RELAXED)),
    )


TWO_WORDS = (
    # Difference 3: read x; y = 1 | read y; x = 1.
    Litmus(
        "lb-relaxed",
        ((get("x", RELAXED), put("y", 1, RELAXED)), (get("y", RELAXED), put("x", 1, RELAXED))),
        "00 01 10",
        never="11",
    ),
    Litmus(
        "lb-release-acquire",
        ((get("x", ACQUIRE), put("y", 1, RELEASE)), (get("y", ACQUIRE), put("x", 1, RELEASE))),
        "00 01 10",
    ),
    Litmus(
        "2+2w-relaxed", both_written(RELAXED, RELAXED), "|12 |21 |22", pso="|11", final=("x", "y")
    ),
    # Difference 6.
    Litmus(
        "2+2w-release", both_written(RELAXED, RELEASE), "|12 |21 |22", c11="|11", final=("x", "y")
    ),
    Litmus("2+2w-seq-cst", both_written(SEQ_CST, SEQ_CST), "|12 |21 |22", final=("x", "y")),
    Litmus("s-relaxed", shape_s(RELAXED, RELAXED), "0|1 0|2 1|1", pso="1|2", final=("x",)),
    Litmus("s-release-relaxed", shape_s(RELEASE, RELAXED), "0|1 0|2 1|1", c11="1|2", final=("x",)),
    Litmus("s-release-acquire", shape_s(RELEASE, ACQUIRE), "0|1 0|2 1|1", final=("x",)),
    Litmus("r-relaxed", shape_r(RELAXED), "0|1 1|1 1|2", tso="0|2", final=("y",)),
    Litmus("r-release", shape_r(RELEASE), "0|1 1|1 1|2", tso="0|2", final=("y",)),
    # A fence before the load keeps y = 2 before it; keeping x = 1 before y = 1 takes another fence.
    Litmus(
        "r-fence-one-side",
        shape_r(RELAXED, (), SEQUENTIAL_FENCE),
        "0|1 1|1 1|2",
        pso="0|2",
        final=("y",),
    ),
    Litmus(
        "r-release-and-fence",
        shape_r(RELEASE, (), SEQUENTIAL_FENCE),
        "0|1 1|1 1|2",
        c11="0|2",
        final=("y",),
    ),
    Litmus(
        "r-fences",
        shape_r(RELAXED, SEQUENTIAL_FENCE, SEQUENTIAL_FENCE),
        "0|1 1|1 1|2",
        final=("y",),
    ),
)

ORDER = (*STORE_BUFFERING, *MESSAGE_PASSING, *MANY_THREADS, *TWO_WORDS)
