"""Threads that share an index, each with a script, and a check of their history.

Position ``first + i * threads + t`` is the i-th of thread t. A task searches, inserts some of the
thread's positions and removes some that are outside all windows. Searches ask for positions before
the edge, all of which must be found. With stamps, searches also ask for positions that other
threads are inserting: an entry inserted before the search began must be found, an entry inserted
after the search ended must not.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

import numpy as np

from operators.contract import END, FULL, NOT_READY, READY
from operators.core.atomics import RELAXED, store
from operators.core.jit import kernel
from operators.core.layout import LINE_WORDS, aligned_words, line_at
from operators.index.family import MASK_32
from operators.index.shared import SharedIndexOperations
from operators.index.window import make_answer
from tests.operators.index.shared_driving import (
    COLUMNS,
    ENTER,
    FIND,
    INSERT,
    LEAVE,
    MODE,
    NEXT,
    NOTED,
    RANDOM,
    REMOVE,
    ROW,
    SCAN,
    SEARCHES,
    STOP,
    STOPPED,
    THREADS,
    WINDOW,
    Actor,
    driver_of,
)
from tests.operators.index.shared_scripts import GROUP, crew_words, entries_of, own_words

SECONDS = 120
# Number of spare tasks at the beginning of each script.
SPARE_TASKS = 6


class Plan(NamedTuple):
    """The workload of the threads of a run."""

    keys: np.ndarray  # of all positions; a multiple of the threads
    half_width: int
    threads: int
    window: int
    ahead: int  # limit of a thread's lead over the slowest, in positions
    task: int  # limit of the positions that a task inserts
    first: int
    seed: int
    stamped: bool
    limits: Any

    @property
    def behind(self) -> int:
        """Return the distance before a task's last position at which no search asks for anything.

        A search asks for `window` positions before the edge. While the search is in flight, the
        edge cannot pass the searching thread: other threads lead that thread by less than `ahead`,
        and the thread leads the edge it has seen by less than `ahead` and one task.
        """
        return self.window + 2 * (self.ahead + self.threads * (self.task + 1))

    @property
    def slack(self) -> int:
        return self.behind - self.window + self.ahead + 2 * self.threads * (self.task + 1)


class Script(NamedTuple):
    """The script of a thread."""

    rows: np.ndarray
    lows: np.ndarray  # the descents' lows
    spare: int  # number of leading rows that are spare tasks
    searches: int
    removed: int  # number of the thread's positions that are removed


def script_of(plan: Plan, number: int, random: np.random.Generator) -> Script:
    """Return the script of a thread."""
    rows: list[tuple[int, ...]] = []
    lows: list[int] = []

    def row(*words: int) -> None:
        rows.append((*words, *(COLUMNS - len(words)) * (0,)))

    def search(near: int, changes: list[tuple[int, ...]]) -> None:
        """Descend for some keys, and scan, with some of the changes in between."""
        count = int(random.integers(1, GROUP + 1))
        places = random.integers(near - plan.window - 4, near + plan.ahead, count)
        bands = []
        for key in plan.keys[np.clip(places, 0, len(plan.keys) - 1)].tolist():
            low, high = (key + side * plan.half_width for side in (-1, 1))
            bands.append((max(low, int(plan.limits.min)), min(high, int(plan.limits.max))))
        if random.random() < 0.1:
            row(WINDOW, -plan.window, -1, 1)
        else:
            ahead = int(random.integers(0, min(plan.ahead, plan.window))) if plan.stamped else 0
            row(WINDOW, ahead - plan.window, ahead - 1, 1)
        row(FIND, len(lows), count)
        lows.extend(low for low, _ in bands)
        for at, (low, high) in enumerate(bands):
            if changes and random.random() < 0.5:
                row(*changes.pop(0))
            row(SCAN, low, high, at)

    for _ in range(SPARE_TASKS):
        row(ENTER)
        search(int(random.integers(len(plan.keys))), [])
        row(LEAVE)
    spare = len(rows)
    each, done, removed = len(plan.keys) // plan.threads, 0, 0

    def own(count: int) -> int:
        return count * plan.threads + number

    while done < each:
        if random.random() < 0.3:
            row(ENTER)
            search(own(done), [])
            row(LEAVE)
            continue
        count = min(int(random.integers(1, plan.task + 1)), each - done)
        last = own(done + count - 1)
        following = len(plan.keys) if done + count == each else own(done + count)
        changes = [
            (INSERT, int(plan.keys[own(place)]), plan.first + own(place))
            for place in (done + random.permutation(count)).tolist()
        ]
        while own(removed) <= last - plan.behind:
            changes.append((REMOVE, int(plan.keys[own(removed)]), plan.first + own(removed)))
            removed += 1
        row(ENTER, 1, plan.first + last, plan.first + following)
        if random.random() < 0.5:
            search(own(done), changes)
        for change in changes:
            row(*change)
        row(LEAVE)
        done += count
    searches = sum(each[0] == SCAN for each in rows)
    return Script(
        np.array(rows, np.int64), np.array([*lows, 0], np.int64), spare, searches, removed
    )


def make_actors(
    shared: SharedIndexOperations, plan: Plan, state: Any, scripts: list[Script]
) -> list[Actor]:
    """Return the threads in their initial state."""
    crew = crew_words(plan.threads)
    began, ended = (np.zeros(len(plan.keys), np.int64) for _ in range(2))
    words, actors = int(shared.places_of(state)), []
    for number, view in enumerate(shared.views(state, plan.threads)):
        script = scripts[number]
        spares = script.searches // (GROUP if shared.merges is not None else 4 * GROUP)
        room = script.searches + GROUP * spares
        own = own_words()
        own[ROW], own[RANDOM] = script.spare, plan.seed + number
        crew[line_at(THREADS + number) + NEXT] = plan.first + number
        actors.append(
            Actor(
                index=view,
                script=script.rows,
                lows=script.lows,
                crew=crew,
                began=began,
                ended=ended,
                own=own,
                window=aligned_words(LINE_WORDS),
                places=np.zeros(GROUP * words + 1, np.int64),
                # Room for duplicates, so that they are not written past the end.
                out=make_answer(2 * plan.window + 64),
                searches=np.zeros((room, NOTED), np.int64),
                found=np.zeros(room * (plan.window + 1), np.int64),
                number=number,
                threads=plan.threads,
                place_words=words,
                first=plan.first,
                size=plan.window,
                ahead=plan.ahead,
                spare=script.spare,
                spares=spares,
                stamped=plan.stamped,
            )
        )
    return actors


def run_in_turns(shared: SharedIndexOperations, actors: list[Actor], seed: int) -> None:
    """Let threads take turns of a few rows, in a random order drawn from the seed."""
    act, random = driver_of(shared), np.random.default_rng(seed)
    left, idle = list(actors), 0
    while left:
        actor = left[int(random.integers(len(left)))]
        status = act(actor, int(random.integers(1, 6)))
        assert status in (END, NOT_READY, READY), f"a row was answered with {status}"
        idle = idle + 1 if status == NOT_READY else 0
        assert idle < 100_000, "all threads wait"
        if status == END:
            left = [each for each in left if each is not actor]


def run_threads(shared: SharedIndexOperations, actors: list[Actor]) -> None:
    """Run the threads to completion."""
    act, failures = driver_of(shared), []
    deadline = time.monotonic() + SECONDS
    crew = actors[0].crew

    def run(actor: Actor) -> None:
        try:
            status = READY
            while status in (READY, NOT_READY):
                status = act(actor, 1000)
                if status == NOT_READY:
                    # Sleep briefly, so that the threads waited for can run.
                    time.sleep(2e-5)
                    assert time.monotonic() < deadline, "all threads wait"
                    if int(crew[STOP]):
                        status = STOPPED
            assert status in (END, STOPPED), "FULL" if status == FULL else f"status {status}"
        except BaseException as failure:  # noqa: BLE001 - raised again below, in the main thread
            failures.append(failure)
            store(crew, STOP, 1, RELAXED)

    threads = [threading.Thread(target=run, args=(actor,), daemon=True) for actor in actors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive(), f"no end; mode {crew[MODE]}"
    if failures:
        raise failures[0]


@kernel
def first_wrong(keys, first, began, ended, stamped, searches, count, found, seen):
    """Return the first of `count` searches with a missing or surplus answer, or -1.

    `seen` has one word for each position, initially 0.
    """
    begin = 0
    for number in range(count):
        before, after, low, high = (
            searches[number, 0], searches[number, 1], searches[number, 2], searches[number, 3]
        )  # fmt: skip
        oldest, newest = searches[number, 4] - first, searches[number, 5] - first
        for at in range(begin, searches[number, 6]):
            place = found[at] - first
            if not 0 <= place < len(keys) or not oldest <= place <= newest:
                return number
            if not low <= keys[place] <= high or seen[place] == number + 1:
                return number
            if stamped and began[place] > after:
                return number
            seen[place] = number + 1
        begin = searches[number, 6]
        for place in range(max(oldest, 0), min(newest + 1, len(keys))):
            if low <= keys[place] <= high and seen[place] != number + 1:
                if not stamped or ended[place] < before:
                    return number
    return -1


def check_history(plan: Plan, actor: Actor) -> int:
    """Compare a thread's answers with what must and may be found; return the searches.

    Raises
    ------
    AssertionError
        With the search and the entries of the index.
    """
    count = int(actor.own[SEARCHES])
    wrong = first_wrong(
        plan.keys, plan.first, actor.began, actor.ended, plan.stamped, actor.searches, count,
        actor.found, np.zeros(len(plan.keys), np.int64),
    )  # fmt: skip
    if wrong >= 0:
        before, after, low, high, oldest, newest, end = actor.searches[wrong].tolist()
        begin = int(actor.searches[wrong - 1, 6]) if wrong else 0
        inside = [
            (place, int(actor.began[place]), int(actor.ended[place]))
            for place in range(max(oldest - plan.first, 0), newest + 1 - plan.first)
            if low <= plan.keys[place] <= high
        ]
        raise AssertionError(
            f"thread {actor.number}, from {before} to {after}, keys {low} to {high} of positions"
            f" {oldest - plan.first} to {newest - plan.first}: found"
            f" {sorted((actor.found[begin:end] - plan.first).tolist())}, there are (position,"
            f" stamps) {inside}"
        )
    return count


def check_end(shared: SharedIndexOperations, plan: Plan, state: Any, removed: list[int]) -> None:
    """Compare the quiescent index with the positions inserted and not removed."""
    shared.check_invariants(state)
    gone = {
        place * plan.threads + number
        for number, total in enumerate(removed)
        for place in range(total)
    }
    every = {
        (int(key), (plan.first + place) & MASK_32): place for place, key in enumerate(plan.keys)
    }
    held = entries_of(shared, state)
    assert len(set(held)) == len(held), "an entry is there twice"
    there = {every[each] for each in held}
    if shared.merges is None:
        assert there == set(range(len(plan.keys))) - gone
    else:
        # All positions from the first one that was in the window at the last merge.
        begin = min(there)
        assert there == set(range(begin, len(plan.keys)))
        assert begin <= len(plan.keys) - plan.window


def run_plan(
    shared: SharedIndexOperations,
    plan: Plan,
    on_threads: bool = True,
    rounds: int = 1,
    **own: Any,
) -> int:
    """Run a plan several times, on threads or in turns; return the number of searches compared.

    Raises
    ------
    AssertionError
        When a search, the final index, or an invariant is wrong.
    """
    scripts = [
        script_of(plan, number, np.random.default_rng((plan.seed, number)))
        for number in range(plan.threads)
    ]
    searches = 0
    for turn in range(rounds):
        state = shared.make_state(plan.window, plan.slack, 32, plan.threads, **own)
        actors = make_actors(shared, plan, state, scripts)
        if on_threads:
            run_threads(shared, actors)
        else:
            run_in_turns(shared, actors, plan.seed + turn)
        searches += sum(check_history(plan, actor) for actor in actors)
        check_end(shared, plan, state, [each.removed for each in scripts])
    return searches
