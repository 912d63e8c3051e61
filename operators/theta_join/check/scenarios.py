"""Small programs for every theta join, from its declaration alone.

Processing threads take steps on tuples that wait in front of them, while others deliver more, drive
a chain, or take pairs. Rings hold one message and one pair, so that neighbours cannot always hand
on. Gates are large, so that few of their nodes are tall: small gates are covered by the gates'
scenarios. The exception is a program in which records of outputs are reused.
"""

from __future__ import annotations

from typing import Any

from operators.check.scenario import ITSELF, Scenario
from operators.contract import Variant
from operators.theta_join.check import dimensions
from operators.theta_join.check.programs import (
    Program,
    ThetaProgram,
    Tuples,
    deliver,
    drive,
    scenario_of,
    step,
    take,
)
from operators.theta_join.family import OWN, R, S, make_extent
from operators.theta_join.window import PASS

_OF_OWN = "It reads a word of the thread that calls it, or is asked at the end."
_BEFORE = "It fills windows before any thread begins."
ALONE = {
    **dict.fromkeys(("insert_tuple", "close_source", "step", "get_output", "drive"), ITSELF),
    **dict.fromkeys(("seen", "compared"), _OF_OWN),
    **dict.fromkeys(("comparisons", "peak"), "It is called when all threads have come to an end."),
    **dict.fromkeys(("fill", "drive_past"), _BEFORE),
}
_LEFT = "all tuples have left the chain at the end; this is asked when the windows have been filled"
CANNOT_FAIL = {
    "handshake": {
        "handshake.check_invariants: r == sorted(r)": _LEFT,
        "handshake.check_invariants: s == sorted(s)": _LEFT,
    },
    "handshake-low-latency": {
        "sort_buffer.check_invariants: buffer.keys[(place - 1) // 2] <= buffer.keys[place]": (
            "programs this small leave at most one pair waiting at rest; ordinary tests compare the"
            " order of what comes out of a buffer with many"
        ),
    },
}
ALL = deliver(R, 12) + deliver(S, 12)
LARGE = {"ahead": 64, "ahead_out": 64}

# A thread delivers tuples and does not close; another closes a stream and delivers nothing.
_ONE_EACH = deliver(R, 2), deliver(S)


def a_call_each(then: Program, threads: int = 2, **own: int) -> ThetaProgram:
    """Return a program whose threads make one kind of call each; the third does `then`."""
    return ThetaProgram(
        "a-call-each", ((1, 5), (3, 3)), ((2, 5),), (*_ONE_EACH, then), deliver(S),
        threads=threads, own=own,
    )  # fmt: skip


# --- one thread, and ScaleJoin -------------------------------------------------------------------

# The match of R's last tuple lies in another cell than most candidates.
_R, _S = ((1, 5), (3, 3), (7, 5)), ((2, 7), (5, 6))
# Windows of three ticks: the result depends on the purged window, which keeps a later tuple; and
# one tuple of S differs from all of R by its second number alone.
_SHORT = ((1, 5, 5), (7, 5, 5), (9, 5, 5)), ((3, 5, 5), (4, 5, 9), (8, 5, 5))

ONE_THREAD = (
    ThetaProgram(
        # The last tuple of R may come alone, and has a partner.
        "two-streams",
        *(((1, 5), (3, 4)), ((2, 5),)),
        (deliver(R, 3) + take(2), deliver(S, 2) + take()),
        own=LARGE,
    ),
    ThetaProgram("takers", _R, _S, (take(2), take(2)), before=ALL, own=LARGE),
    a_call_each(take(2), **LARGE),
    ThetaProgram(
        "short-windows", *_SHORT, (take(3), take(3)), before=ALL,
        extent=make_extent(span=3, purge=OWN), own=LARGE, last_slot=True,
    ),
    # Each tuple meets the newest of the other stream alone; of two, the second number decides.
    ThetaProgram(
        "a-tuple-each", ((1, 5, 5), (3, 5, 5), (5, 9, 5)), ((2, 5, 9), (4, 5, 6), (6, 9, 5)),
        (take(3),), before=ALL, extent=make_extent(count=1), own=LARGE, own_condition=True,
    ),
    # A tuple of S is as old as a span when the next one of S comes, and stays.
    ThetaProgram(
        "as-old-as-a-span", ((1, 5), (6, 5)), ((2, 5), (5, 5)), (take(3),), before=ALL,
        extent=make_extent(span=3, purge=OWN), own=LARGE,
    ),
)  # fmt: skip

SCALE_JOIN = (
    ThetaProgram("two-threads", _R, _S, (step(0, 2), step(1, 2)), before=ALL, own=LARGE),
    ThetaProgram(
        "a-source-each",
        *(((1, 5), (3, 3)), ((2, 5),)),
        (deliver(R, 3) + step(0, 2), deliver(S, 2) + step(1, 2)),
        own=LARGE,
    ),
    a_call_each(step(0, 2), threads=1, **LARGE),
    ThetaProgram(
        "taking", *(((1, 5), (3, 5)), ((2, 5),)),
        (step(0, 2), step(1, 2), take(2)), before=ALL, own=LARGE,
    ),
    ThetaProgram(
        "records-used-again",
        *(((1, 5), (1, 5), (1, 5), (1, 5), (1, 5), (1, 5)), ((2, 5), (3, 9))),
        (step(0, 2), take(3)),
        before=ALL + step(0, 2) + take() + step(0),
        threads=1,
        own={"ahead": 64, "ahead_out": 3},
    ),
    ThetaProgram(
        "own-windows", *_SHORT, (step(0, 2), step(1, 2)), before=ALL,
        extent=make_extent(span=3, purge=OWN), own=LARGE, last_slot=True,
    ),
    ThetaProgram(
        "opposite-windows", *_SHORT, (step(0, 2), step(1, 2)), before=ALL,
        extent=make_extent(span=3, purge="opposite"), own=LARGE, last_slot=True,
    ),
    # Thread 0 has found more pairs than there is room for, thread 1 none; and until thread 0 reads
    # on, no tuple comes from which thread 1 could conclude that none is coming.
    ThetaProgram(
        "asked-to-tell", ((1, 5), (1, 9)) * 5, ((2, 5), *((3, 20),) * 6),
        (step(0), step(1, 2)),
        before=deliver(R) + deliver(S, 3) + step(0),
        filled=10,
        own={"ahead": 3, "ahead_out": 3},
    ),
    # The same, but thread 1 then reads tuples that have a pair: it tells how far it is afterwards.
    ThetaProgram(
        "asked-with-a-pair", (*((1, 5), (1, 9)) * 4, (1, 5), (1, 5)),
        ((2, 5), *((3, 20),) * 6),
        (step(0), step(1, 2)),
        before=deliver(R) + deliver(S, 3) + step(0),
        filled=10,
        own={"ahead": 3, "ahead_out": 3},
        schedules=6,
        graph=False,
    ),
    ThetaProgram(
        "to-the-end", _R, _S,
        (deliver(R) + step(0), deliver(S) + step(1), take()), own=LARGE, to_the_end=True, deep=True,
    ),
)  # fmt: skip


# --- chains --------------------------------------------------------------------------------------

TINY = {"ahead": 64, "messages": 1, "pairs": 1, "sort": 16}
TWO = TINY | {"messages": 2}


def meeting(
    name: str, r: Tuples, s: Tuples, programs: tuple[Program, ...], **more: Any
) -> ThetaProgram:
    """Return a program where a tuple of R waits for the first core, and one of S for the last.

    Those that are `filled` lie in the windows. The next one of R comes before that of S.
    """
    last = more.get("threads", 2) - 1
    # There is room for one message at a time: the expiry, then the tuple.
    before = ALL + drive() + step(0) + drive(2) + step(last) + drive()
    return ThetaProgram(name, r, s, programs, before=before, own=TINY, **more)


CHAIN = (
    ThetaProgram(
        "ending", ((1, 5),), ((2, 5),), (step(0, 2), take(2)),
        before=ALL + drive(5), threads=1, own=TINY | {"messages": 8},
    ),
    # More tuples of R wait than a core compares in one pass.
    ThetaProgram(
        "more-than-a-pass", tuple((2 + n, 5) for n in range(PASS + 2)), ((1, 5),),
        (step(0, 2), take(2)), before=ALL + drive(PASS + 4), threads=1,
        extent=make_extent(count=4), own=TINY | {"messages": 32}, schedules=4, graph=False,
    ),
    # S is silent: the other end hears of each tuple of R, and then the very next one is of S.
    ThetaProgram(
        "a-silent-stream", ((1, 5), (2, 5)), ((3, 5),),
        (step(0, 2), step(1, 2), drive(2) + take(2)),
        before=ALL + drive() + step(0) + step(1) + drive(),
        own=TINY | {"messages": 8, "punctuate_each": 1},
    ),
    a_call_each(drive(2), **TINY),
    # The right core has published the watermark of its pair; the left core's pair comes before it.
    ThetaProgram(
        "in-order", ((1, 5), (2, 5), (4, 9)), ((3, 5),), (step(0), take(2)),
        before=ALL + drive(5) + (step(0) + step(1)) * 2,
        filled=2, own=TINY | {"messages": 8},
    ),
    # The same, but that pair has yet to be found; the tuple before is done in both cores.
    ThetaProgram(
        "in-turn", ((1, 5), (2, 5), (5, 9)), ((3, 9), (4, 5)), (step(0, 2), take(2)),
        before=ALL + drive() + (step(1) + step(0)) * 2 + drive(6) + step(0) + step(1, 2),
        filled=2, own=TINY | {"messages": 8},
    ),
    meeting("meeting", ((1, 5),), ((2, 5),), (step(0, 2), step(1, 2))),
    # Before the tuple of R comes, that of S has ended; its home is on the right.
    ThetaProgram(
        "one-through", ((1, 9), (4, 5)), ((2, 5), (3, 5)),
        (step(0) + drive() + step(0), step(1, 2)),
        before=ALL + drive() + step(1) + drive() + step(1) + step(0) + drive(),
        filled=2, own=TINY,
    ),
    # The tuple of R comes to the left core between two of S.
    ThetaProgram(
        "between-two", ((3, 5),), ((1, 5), (2, 5)), (step(0) + drive() + step(0), step(1, 2)),
        before=ALL + drive() + step(1) + drive(), own=TWO, last_slot=True,
    ),
    # The left core has not taken the first of S yet when the right one would hand on the second.
    ThetaProgram(
        "both-to-the-left", ((3, 5),), ((1, 5), (2, 5)), (step(0), step(1)),
        before=ALL + (drive() + step(1)) * 3 + drive(), own=TINY,
    ),
    # The first of R has expired when that of S arrives.
    ThetaProgram(
        "expiry", ((1, 5), (2, 5)), ((3, 5),), (step(0), step(1, 2)),
        before=ALL + drive() + step(0) + drive(2), extent=make_extent(count=1), own=TWO,
        last_slot=True,
    ),
    # S is silent, and windows have one tuple: nothing but punctuations tells that R's have expired.
    ThetaProgram(
        "a-silent-stream-expires", ((1, 5), (2, 5), (3, 5)), ((4, 5),),
        (step(0, 2), step(1, 2), drive(2)),
        before=ALL + drive() + step(0) + step(1) + drive(),
        extent=make_extent(count=1), own=TINY | {"messages": 8, "punctuate_each": 2},
    ),
    meeting(
        "three-cores", ((1, 5),), ((2, 5),), (step(0, 3), step(1, 3), step(2, 3)), threads=3,
        deep=True,
    ),
    ThetaProgram(
        "to-the-end", ((1, 5), (3, 5)), ((2, 5),),
        (step(0), step(1), drive(), take()), before=ALL, own=TINY, to_the_end=True, deep=True,
    ),
)  # fmt: skip

# The index of each thread's windows belongs to the thread: no schedule affects it, and these
# programs and a few schedules of those with short windows reach all of it.
OVERHEAD = ("scale-join-index", "scale-join-hash")
OF_OVERHEAD = (
    *SCALE_JOIN[:4],
    *(each._replace(schedules=6) for each in SCALE_JOIN if each.r == _SHORT[0]),
)


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a theta join."""
    programs = OF_OVERHEAD if variant.id in OVERHEAD else SCALE_JOIN
    if variant.operations.drive:
        programs = (*CHAIN, *dimensions.derived_programs())
    elif variant.progress == "blocking":
        programs = ONE_THREAD
    return [scenario_of(variant, program) for program in programs]


def uncovered(variant: Variant) -> list[str]:
    """Return what no derived program of a join has, with the reasons."""
    return dimensions.uncovered(variant)
