"""Small programs for a join of several threads: each takes steps until its end.

Some rows are in the windows when the threads begin, indexed or about to be merged, and a few more
arrive. Tasks have a tuple or two, rooms hardly hold any results, and few tasks run ahead. At the
end the partners that were given out are compared with a nested loop over all tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.contract import END, NOT_READY, READY, Variant
from operators.core import histogram
from operators.core.layout import LINE_WORDS
from operators.join.check import idle_turns
from operators.join.check.dimensions import SCHEDULES, Derived, derived_joins
from operators.join.check.parts import parts
from operators.join.check.scenarios import ALONE
from operators.join.check.updates import (
    HALF_WIDTH,
    Running,
    small,
    takes,
    updates,
    workers_of,
)
from operators.join.family import COUNT, FOUND, State, Timing
from operators.join.feed import in_turns
from operators.join.shared_state import ASKED, OWNS, SIZE, Shared, Worker
from operators.join.work_queue import MERGE_NS, MERGES_BEGAN, TAKEN_AT

__all__ = ["ALONE", "scenarios"]

STEPS, STEP = "steps", "step"
# Steps that a thread takes before it lets others go first, unless it has to wait.
MOST_STEPS = 40
# The most schedules of an exploration in which a thread stays away, or many rows are there.
IDLE_SCHEDULES = 12
# Partners of a tuple, as bits of a word: windows are far shorter.
BITS = 62
# The most schedules of one exploration at plain size: a program has hundreds of steps, and with two
# preemptions many thousands of schedules.
MOST = 30
# Clocks say how long a tuple is in flight; nothing else is timed.
_TIMING = Timing(lambda notes: False, lambda *times: None)


class _Join(NamedTuple):
    """The input of a scenario."""

    r: Sequence[int]
    s: Sequence[int]  # empty for a self join
    there: int  # rows in the windows when the threads begin
    window: int
    parameters: dict[str, Any] = {}
    threads: int = 2
    deep: bool = False
    span: int = 0  # ticks of a time window; one tuple arrives each tick
    # Turns of each thread until the first one stays away; none: both go on to the end.
    turns: tuple[int, ...] = ()
    band: int = HALF_WIDTH
    silent: bool = False  # S is there, and has no tuples
    schedules: float = MOST
    timed: bool = False

    @property
    def two_way(self) -> bool:
        """Whether there are two streams."""
        return bool(self.s) or self.silent


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a join of several threads."""
    merges = "merge" in (each.name for each in variant.parameters)
    equal = [5] * 10
    two_of_r = [40] * 8 + [22, 5], [5, 6, 7, 8, 20, 21, 22, 23], 8, 8
    found = {
        "a-row": _Join([9], [9], 0, 2),
        "two-streams": _Join([9, 3], [4, 9], 1, 2),
        "one-stream": _Join([5, 6, 5, 9], [], 2, 2),
        "a-time-window": _Join([5, 6, 5, 6, 5, 6], [], 2, 6, {"ahead": 4}, span=2),
        "tuples-leave": _Join([5, 6, 5, 6, 5, 6], [], 2, 1, {"ahead": 4}),
        "no-room": _Join(equal[:4], [], 2, 3, {"room": 2}),
        "hardly-room": _Join(equal, [], 7, 8, {"room": 16, "ahead": 4}),
        "a-thread-leaves": _Join([5, 6, 5, 6], [], 1, 2, {"changes": (2, 1), "every": 2}),
        # The ring of a window has 128 slots, and what a search finds lies across its end.
        "round-the-ring": _Join([5] * 131, [], 127, 8, {"ahead": 4}, schedules=IDLE_SCHEDULES),
        "lock-step": _Join([9, 3], [4, 9], 1, 2, {"descents": "lock-step", "task_size": 2}),
        # A task has two tuples of R, and the first one finds its partners in later leaves of S.
        "two-of-r": _Join(*two_of_r, {"task_size": 2}, schedules=IDLE_SCHEDULES),
        "two-of-r-lock-step": _Join(
            *two_of_r, {"descents": "lock-step", "task_size": 2}, schedules=IDLE_SCHEDULES
        ),
        "timed": _Join(equal[:4], [], 2, 3, {"room": 2}, schedules=2, timed=True),
        "three-threads": _Join([5, 6, 5, 9], [], 1, 2, {}, 3, deep=True),
        "tasks-of-two": _Join([5, 6, 5, 9, 6, 6], [], 2, 3, {"task_size": 2}, deep=True),
    }
    if merges:
        # The window is full of new tuples: the next task finds a merge due.
        for name in ("non-blocking", "blocking"):
            own = {"merge": name}
            found[f"merge-{name}"] = _Join([5, 6, 5, 6], [], 2, 2, own)
            found[f"merges-of-both-{name}"] = _Join([5, 6], [6, 5], 1, 1, own, deep=True)
        # So few may be held that the others come to a stop, and help.
        held = {"held": 2, "ahead": 1}
        found["held-up"] = _Join([5, 6, 5, 6, 5, 5, 6], [], 2, 2, held)
    found |= _idle(merges)
    return [
        updates(variant),
        takes(variant),
        *parts(variant),
        *(_scenario(variant, name, each) for name, each in found.items()),
        *(_scenario(variant, each.name, _join_of(each)) for each in derived_joins(variant)),
    ]


def _idle(merges: bool) -> dict[str, _Join]:
    """Return the joins in which a thread stays away after some turns (`idle_turns`)."""
    six = [5, 6, 5, 9, 6, 5]
    found = {
        "idle-early": _Join(six, [], 2, 3, turns=(2, 3)),
        "idle-late": _Join(six, [], 2, 3, {"ahead": 1}, turns=(4, 5)),
        "idle-no-room": _Join([5] * 6, [], 2, 5, {"room": 2}, turns=(3, 4)),
        "idle-two-streams": _Join([9, 3, 4], [4, 9, 3], 1, 2, {"task_size": 2}, turns=(2, 3)),
    }
    if merges:
        for name in ("non-blocking", "blocking"):
            for turns in ((3, 4), (6, 5), (9, 8)):
                own = {"merge": name, "held": 2}
                join = _Join([5, 6, 5, 6, 5, 5], [], 2, 2, own, turns=turns)
                found[f"idle-{name}-{turns[0]}"] = join
        both = {"held": 2, "ahead": 4}
        found["idle-merges-of-both"] = _Join([5, 6, 5], [6, 5, 6], 1, 1, both, turns=(7, 6))
    return found


def _join_of(derived: Derived) -> _Join:
    """Return the join of a row of the table."""
    case = derived.case
    return _Join(
        derived.r,
        derived.s,
        int(case["begin"] == "waiting"),
        case["window"],
        derived.parameters,
        case["threads"],
        span=case["span"],
        band=case["band"],
        silent=case["streams"] == "silent",
        schedules=SCHEDULES,
    )


def _partners(join: _Join) -> list[int]:
    """Return the partners of each tuple in the order of arrival, a bit each."""
    found = []
    # Where S has fewer tuples, those of R go on without it.
    arriving = [(row, 0) for row in range(len(join.r))] + [(row, 1) for row in range(len(join.s))]
    for row, side in sorted(arriving):
        own, other = ((join.r, join.s), (join.s, join.r))[side] if join.two_way else (join.r,) * 2
        end = min(row + side, len(other))
        met = (n for n in range(max(end - join.window, 0), end))
        met = (n for n in met if abs(own[row] - other[n]) <= join.band)
        # Tuple n of a stream arrives at tick n.
        met = (n for n in met if not join.span or row - n <= join.span)
        found.append(sum(1 << n % BITS for n in met))
    return found


def _check_held(shared: Shared, worker: Worker) -> None:
    """Check that a task was taken when no more tuples than may be held were after the edge.

    It uses words of the thread alone: the edge that the thread read then is no older.
    """
    for at in range(int(worker.words[SIZE])):
        side, position = int(worker.task.sides[at]), int(worker.task.positions[at])
        behind = position + 1 - int(worker.words[ASKED + side])
        assert behind <= shared.queue.held_most, f"{behind} tuples are held"


def _scenario(variant: Variant, name: str, join: _Join) -> Scenario:
    operations = variant.operations
    own = small(variant)
    own |= {"task_size": 1, "ahead": 2, "room": 16, "threads": join.threads, **join.parameters}
    step = operations.make_step(_TIMING if join.timed else None, **own)
    merges = "merge" in (each.name for each in variant.parameters)
    wanted = _partners(join)
    # A self join ignores S.
    streams = np.array(join.r), np.array(join.s or [0])
    times = np.arange(len(join.r))

    def make() -> Running:
        state = operations.make_state(
            join.window, join.band, two_way=join.two_way, span=join.span, **own
        )
        feed = in_turns(*streams, join.there, two_way=bool(join.s))
        feed = feed._replace(times_r=times, times_s=times)
        given = np.zeros(len(wanted) + 1, np.int64)
        running = Running(state.shared, workers_of(state, join.timed), state.output, feed, given)
        for worker in range(join.threads):
            list(until(END, partial(perform, running, Call(STEPS, (worker,)))))
        # Clear the words written by clocks: a replay starts from the same words.
        state.shared.queue.words[MERGES_BEGAN : MERGE_NS + 1] = 0
        if join.timed:
            _check_noted(running, join.there)
            state.shared.queue.tasks[TAKEN_AT::LINE_WORDS] = 0
            for worker in running.workers:
                histogram.forget(worker.tuple_times)
                histogram.forget(worker.task_times)
        return running._replace(feed=feed._replace(end_r=len(join.r), end_s=len(join.s)))

    def perform(state: Running, call: Call) -> int:
        worker = state.workers[call.arguments[0]]
        for _ in range(MOST_STEPS if call.name == STEPS else 1):
            status = step(state.shared, worker, state.output, state.feed)
            if status == FOUND:
                # The first word counts the tuples given out.
                state.given[0] += 1
                count = int(state.output.words[COUNT])
                found = (int(state.output.partners[at]) for at in range(count))
                state.given[state.given[0]] = sum(1 << place % BITS for place in found)
            elif status != READY:
                break
            if merges:
                _check_held(state.shared, worker)
        if status == NOT_READY:
            assert worker.words[OWNS] == 0, "a thread waits, and keeps the output from the others"
        if status == END:
            arrived = state.feed.end_r + state.feed.end_s
            last = wanted[arrived - 1].bit_count() if arrived else 0
            assert state.output.words[COUNT] == last, "the output is not that of the last tuple"
        return int(status)

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        if join.turns:
            idle_turns.go_on_alone(state, merges, perform, STEP)
            idle_turns.go_on_together(state, perform, STEP)
        if join.timed:
            _check_noted(state, len(wanted) - join.there)
        given = [int(word) for word in state.given]
        assert given == [len(wanted), *wanted], f"given out: {given}, and it is {wanted}"

    def invariants(state: Running) -> None:
        operations.check_invariants(State(state.shared, tuple(state.workers), state.output))

    programs = tuple((Call(STEPS, (worker,)),) for worker in range(join.threads))
    retry = frozenset({READY, NOT_READY, FOUND})
    if join.turns:
        programs = tuple((Call(STEP, (n,)),) * turns for n, turns in enumerate(join.turns))
        retry = frozenset()
    return Scenario(
        name, make, programs, perform, finish=finish, invariants=invariants, rests=False,
        retry=retry, declines=frozenset({NOT_READY}), deep=join.deep,
        schedules=IDLE_SCHEDULES if join.turns else join.schedules,
    )  # fmt: skip


def _check_noted(state: Running, came: int) -> None:
    """Check that each tuple's time in flight has been noted."""
    noted = sum(histogram.count(each.tuple_times) for each in state.workers)
    assert noted == came, f"of {came} tuples the times of {noted} have been noted"
