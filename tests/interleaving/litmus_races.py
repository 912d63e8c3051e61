"""Litmus programs with a plain word: memory orders that keep accesses to it from racing.

A race follows C11's happens-before and shows under every memory; only a program whose flags need
more than happens-before (`dekker`, `peterson`) is race-free until stores are late.
"""

from __future__ import annotations

from operators.check.scenario import Call
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST
from tests.interleaving.litmus import RACE, Litmus, Programs, fenced, get, put

WRITE, READ = Call("plain_write", ("data", 1)), Call("plain_read", ("data",))
ADD = Call("plain_add", ("data", 1))
LOCK, UNLOCK = Call("lock", ("one",)), Call("unlock", ("one",))
SEEN_OR_NOT = "- 1"


def read_if_set(order: int, value: int = 1) -> Call:
    """Return: if x is `value`, read data."""
    return Call("read_behind", ("x", value, order, "data"))


def fence_and_read_if_set(order: int) -> Call:
    """Return: if x is 1 (relaxed), then fence; read data."""
    return Call("read_behind_fence", ("x", 1, order, "data"))


def update_and_read_if_set(update: str, order: int) -> Call:
    """Return: if cas(x, 0, 0) fails, or fetch_add(x, 0) is not 0, read data."""
    return Call("read_behind_update", (update, "x", order, "data"))


def write_if_set(order: int, value: int = 1) -> Call:
    """Return: if x is `value`, write data."""
    return Call("write_behind", ("x", value, order, "data"))


def add_one(order: int) -> Call:
    """Return an addition of 1 to x."""
    return Call("fetch_add", ("x", 1, order))


def publish(*then: Call) -> tuple[Call, ...]:
    """data = 1, followed by the operations that publish it."""
    return (WRITE, *then)


def stored(order: int, seen: Call) -> Programs:
    """data = 1; x = 1 | seen."""
    return publish(put("x", 1, order)), (seen,)


def behind_fence(order: int, seen: Call) -> Programs:
    """data = 1; fence; x = 1 (relaxed) | seen."""
    return publish(fenced(order), put("x", 1, RELAXED)), (seen,)


MESSAGES = (
    Litmus("plain-relaxed", stored(RELAXED, read_if_set(RELAXED)), RACE),
    Litmus("plain-release-relaxed", stored(RELEASE, read_if_set(RELAXED)), RACE),
    Litmus("plain-relaxed-acquire", stored(RELAXED, read_if_set(ACQUIRE)), RACE),
    Litmus("plain-release-acquire", stored(RELEASE, read_if_set(ACQUIRE)), SEEN_OR_NOT),
    Litmus("plain-seq-cst", stored(SEQ_CST, read_if_set(SEQ_CST)), SEEN_OR_NOT),
    # A load that may run before the flag was set.
    Litmus("plain-unconditional", (publish(put("x", 1, SEQ_CST)), (READ,)), RACE),
    Litmus("plain-fences", behind_fence(RELEASE, fence_and_read_if_set(ACQUIRE)), SEEN_OR_NOT),
    Litmus(
        "plain-strong-fences", behind_fence(SEQ_CST, fence_and_read_if_set(SEQ_CST)), SEEN_OR_NOT
    ),
    Litmus("plain-release-fence", behind_fence(RELEASE, read_if_set(ACQUIRE)), SEEN_OR_NOT),
    Litmus("plain-acquire-fence", stored(RELEASE, fence_and_read_if_set(ACQUIRE)), SEEN_OR_NOT),
    Litmus("plain-no-release", stored(RELAXED, fence_and_read_if_set(ACQUIRE)), RACE),
    Litmus("plain-no-acquire", behind_fence(RELEASE, read_if_set(RELAXED)), RACE),
    Litmus("plain-wrong-fence-writes", behind_fence(ACQUIRE, read_if_set(ACQUIRE)), RACE),
    Litmus("plain-wrong-fence-reads", stored(RELEASE, fence_and_read_if_set(RELEASE)), RACE),
    Litmus(
        "plain-fence-too-late",
        (publish(put("x", 1, RELAXED), fenced(RELEASE)), (read_if_set(ACQUIRE),)),
        RACE,
    ),
    Litmus("plain-write-too-late", ((put("x", 1, RELEASE), WRITE), (read_if_set(ACQUIRE),)), RACE),
    # A hand-over covers no later writes.
    Litmus(
        "plain-write-behind-fence",
        ((fenced(RELEASE), WRITE, put("x", 1, RELAXED)), (read_if_set(ACQUIRE),)),
        RACE,
    ),
    Litmus(
        "plain-waits",
        (publish(put("x", 1, RELEASE)), (Call("wait_for", ("x", 1, ACQUIRE)), READ)),
        "1",
    ),
    Litmus(
        "plain-waits-relaxed",
        (publish(put("x", 1, RELEASE)), (Call("wait_for", ("x", 1, RELAXED)), READ)),
        RACE,
    ),
    Litmus(
        "plain-waits-and-fences",
        (
            publish(put("x", 1, RELEASE)),
            (Call("wait_for", ("x", 1, RELAXED)), fenced(ACQUIRE), READ),
        ),
        "1",
    ),
    # data = 1; y = 1 | wait for y; x = 1 | if x is set, read data.
    Litmus(
        "plain-passed-on",
        (
            publish(put("y", 1, RELEASE)),
            (Call("wait_for", ("y", 1, ACQUIRE)), put("x", 1, RELEASE)),
            (read_if_set(ACQUIRE),),
        ),
        SEEN_OR_NOT,
    ),
    Litmus(
        "plain-passed-on-relaxed",
        (
            publish(put("y", 1, RELEASE)),
            (Call("wait_for", ("y", 1, RELAXED)), put("x", 1, RELEASE)),
            (read_if_set(ACQUIRE),),
        ),
        RACE,
    ),
)


def told_by_update(order: int, seen: Call) -> Programs:
    """data = 1; cas(x, 0, 1) | seen."""
    return publish(Call("cas", ("x", 0, 1, order))), (seen,)


RELEASE_SEQUENCES = (
    Litmus("plain-cas-relaxed", told_by_update(RELAXED, read_if_set(ACQUIRE)), RACE),
    Litmus("plain-cas-acquire", told_by_update(ACQUIRE, read_if_set(ACQUIRE)), RACE),
    Litmus("plain-cas-release", told_by_update(RELEASE, read_if_set(ACQUIRE)), "1- 11"),
    Litmus("plain-cas-acq-rel", told_by_update(ACQ_REL, read_if_set(ACQUIRE)), "1- 11"),
    # A failed cas is a load: of its order only the acquire part remains.
    Litmus(
        "plain-failed-cas-acquire",
        stored(RELEASE, update_and_read_if_set("cas", ACQUIRE)),
        SEEN_OR_NOT,
    ),
    Litmus(
        "plain-failed-cas-acq-rel",
        stored(RELEASE, update_and_read_if_set("cas", ACQ_REL)),
        SEEN_OR_NOT,
    ),
    Litmus(
        "plain-failed-cas-release", stored(RELEASE, update_and_read_if_set("cas", RELEASE)), RACE
    ),
    Litmus(
        "plain-failed-cas-hands-nothing-over",
        # x is 1 before the cas that expects 0, so the cas stores nothing that could be read.
        (
            (put("x", 1, RELAXED), WRITE, Call("cas", ("x", 0, 1, ACQ_REL))),
            (read_if_set(ACQUIRE),),
        ),
        RACE,
    ),
    Litmus(
        "plain-fetch-add-acquire",
        stored(RELEASE, update_and_read_if_set("fetch_add", ACQUIRE)),
        SEEN_OR_NOT,
    ),
    Litmus(
        "plain-fetch-add-relaxed",
        stored(RELEASE, update_and_read_if_set("fetch_add", RELAXED)),
        RACE,
    ),
    # data = 1; x = 1 (release) | fetch_add(x, 1) | if x is 2, read data: the update carries it on.
    Litmus(
        "release-sequence",
        (publish(put("x", 1, RELEASE)), (add_one(RELAXED),), (read_if_set(ACQUIRE, 2),)),
        "0- 1- 11",
    ),
    # The update adds a release to the one that it carries on.
    Litmus(
        "release-sequence-of-releases",
        (publish(add_one(RELEASE)), (add_one(RELEASE),), (read_if_set(ACQUIRE, 2),)),
        "01- 10- 011 101",
    ),
    Litmus(
        "release-sequence-without-head",
        (publish(put("x", 1, RELAXED)), (add_one(RELAXED),), (read_if_set(ACQUIRE, 2),)),
        RACE,
    ),
    # data = 1; x = 1 (release) | wait for x; x = 2 | if x is 2, read data: the store ends it.
    Litmus(
        "release-sequence-ends",
        (
            publish(put("x", 1, RELEASE)),
            (Call("wait_for", ("x", 1, RELAXED)), put("x", 2, RELAXED)),
            (read_if_set(ACQUIRE, 2),),
        ),
        RACE,
    ),
    # Difference 5: early C11 let a later store of the same thread continue its release sequence.
    Litmus(
        "release-sequence-own-store",
        (publish(put("x", 1, RELEASE), put("x", 2, RELAXED)), (read_if_set(ACQUIRE, 2),)),
        RACE,
    ),
)

KINDS_OF_ACCESS = (
    Litmus("reads-do-not-race", ((READ,), (READ,), (READ,)), "000"),
    Litmus("writes-race", ((WRITE,), (WRITE,)), RACE),
    Litmus("read-and-write-race", ((READ,), (WRITE,)), RACE),
    Litmus("atomic-store-and-read-race", ((put("data", 1, SEQ_CST),), (READ,)), RACE),
    Litmus("atomic-load-and-write-race", ((get("data", SEQ_CST),), (WRITE,)), RACE),
    Litmus("update-and-read-race", ((Call("exchange", ("data", 1, SEQ_CST)),), (READ,)), RACE),
    Litmus("atomic-load-and-read-do-not", ((get("data", RELAXED),), (READ,)), "00"),
    # read data; x = 1 | if x is set, write data.
    Litmus("write-after-read", ((READ, put("x", 1, RELEASE)), (write_if_set(ACQUIRE),)), "0- 02"),
    Litmus(
        "write-after-read-relaxed", ((READ, put("x", 1, RELAXED)), (write_if_set(ACQUIRE),)), RACE
    ),
    # Two readers: the writer has to come after both.
    Litmus(
        "write-after-reads",
        ((READ, add_one(RELEASE)), (READ, add_one(RELEASE)), (write_if_set(ACQUIRE, 2),)),
        "0001- 00012 0100- 01002",
    ),
    Litmus(
        "write-after-one-read-of-two",
        ((READ, add_one(RELEASE)), (READ,), (write_if_set(ACQUIRE),)),
        RACE,
    ),
)


def both(name: str, *arguments: object) -> Programs:
    """Return `name` for x and y by one thread, and for y and x by another."""
    return (
        (Call(name, ("x", "y", *arguments)),),
        (Call(name, ("y", "x", *arguments)),),
    )


def peterson(turn_order: int, with_fence: bool) -> Programs:
    """Return a program of two threads that each enter once."""
    return (
        (Call("peterson", ("x", "y", "z", 0, turn_order, with_fence, "data")),),
        (Call("peterson", ("y", "x", "z", 1, turn_order, with_fence, "data")),),
    )


def spinning(take: int, give_back: int) -> Programs:
    """Return a program of two threads that each take a spin lock once."""
    return ((Call("spin_locked", ("x", take, give_back, "data")),),) * 2


EXCLUSION = (
    Litmus("lock", ((LOCK, ADD, UNLOCK),) * 2, "|2", final=("data",)),
    Litmus("lock-message", ((LOCK, WRITE, UNLOCK), (LOCK, READ, UNLOCK)), "0 1"),
    Litmus("lock-one-side", ((LOCK, WRITE, UNLOCK), (READ,)), RACE),
    Litmus(
        "lock-not-the-same",
        ((LOCK, WRITE, UNLOCK), (Call("lock", ("two",)), READ, Call("unlock", ("two",)))),
        RACE,
    ),
    Litmus("spin-lock", spinning(ACQUIRE, RELEASE), "|2", final=("data",)),
    Litmus("spin-lock-takes-relaxed", spinning(RELAXED, RELEASE), RACE),
    Litmus("spin-lock-gives-relaxed", spinning(ACQUIRE, RELAXED), RACE),
    Litmus("dekker-relaxed", both("dekker", RELAXED, RELAXED, False, "data"), "00 01 10", tso=RACE),
    Litmus("dekker-acquire", both("dekker", RELEASE, ACQUIRE, False, "data"), "00 01 10", tso=RACE),
    Litmus("dekker-seq-cst", both("dekker", SEQ_CST, SEQ_CST, False, "data"), "00 01 10"),
    Litmus("dekker-fences", both("dekker", RELAXED, RELAXED, True, "data"), "00 01 10"),
    Litmus(
        "dekker-fence-one-side",
        (
            both("dekker", RELAXED, RELAXED, True, "data")[0],
            both("dekker", RELAXED, RELAXED, False, "data")[1],
        ),
        "00 01 10",
        tso=RACE,
    ),
    Litmus("peterson-release", peterson(RELEASE, False), "|2", tso=RACE, final=("data",)),
    # The fence keeps both stores before the loads, but does not order the stores.
    Litmus("peterson-fence", peterson(RELAXED, True), "|2", pso=RACE, final=("data",)),
    # RC11: two stores of turn that do not read each other need not be ordered as the fences are.
    Litmus("peterson-release-fence", peterson(RELEASE, True), "|2", c11=RACE, final=("data",)),
)

RACES = (*MESSAGES, *RELEASE_SEQUENCES, *KINDS_OF_ACCESS, *EXCLUSION)
