"""What the threads of a parallel join have in memory, and how it is made and looked at.

The algorithm is that of `operators.join.shared_join`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core import histogram
from operators.core.histogram import Histogram, make_histogram
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import LIVE
from operators.index.family import check_window
from operators.index.shared import SharedIndexOperations, check_holds
from operators.index.window import make_window
from operators.join.family import MOST_THREADS, State, make_output
from operators.join.window import widest
from operators.join.work_queue import (
    HEAD,
    MERGE_NS,
    MERGES,
    NEXT,
    NEXT_TASK,
    REMOVED,
    Queue,
    Task,
    horizon_of,
    make_queue,
    make_task,
    power_of_two,
    slack_of,
)

# Words of a thread.
# Of its room of results: how much it has put there, counted on, and how much of it was given out
# when it last looked.
PUT, FREED = 0, 1
# Whether it has the output, what it is at, and how many tuples it has processed.
OWNS, PHASE, SEEN = 2, 3, 4
# Whether it found no task when it last looked for one.
REFUSED = 5
# Of its task: the number, how many tuples it has, the one that is next, and how many results it has
# if they have found no room; by side: what it removes from the index, up to where; up to where the
# index was asked; whether tuples are held; and how many look into the index.
TASK, SIZE, AT, COUNTED, REMOVE, REMOVE_UNTIL, ASKED, HOLDS = 16, 17, 18, 19, 20, 22, 24, 26
LOWS = 28
# Of the merge that it makes: of which side, at which stage, of how many pieces of work, and which
# tuple is entered next, up to which.
MERGE_SIDE, STAGE, PIECES, ENTERED, ENTER_UNTIL = 32, 33, 34, 35, 36
WORKER_WORDS = 5 * LINE_WORDS
NO_STAGE = -1

# Words of a merge, by side: the piece that is next, with its stage, and how many are made.
TICKET, FINISHED = 0, LINE_WORDS
MERGE_WORDS = 2 * LINE_WORDS

# Results of a tuple are counted by so many bits, and there are less of them than words in a room.
COUNT_BITS = 20
MOST_ROOM = 1 << COUNT_BITS
# Phases: no task; its tuples are processed; the results of one have found no room.
FREE, AT_WORK, STUCK = range(3)

# Tuples that may be under way at least, whatever the tasks: a thread that loses its core for a
# while does not stop the others at once.
LEAST_AHEAD = 1024
ROOM = 1 << 15
ONE_BY_ONE, LOCK_STEP = "one-by-one", "lock-step"
NON_BLOCKING, BLOCKING = "non-blocking", "blocking"
MOST_TASK = 64


class Indexes(NamedTuple):
    """The index of each stream, of a self join that of R twice: what views are views of."""

    r: Any
    s: Any


class Shared(NamedTuple):
    """What all threads share."""

    queue: Queue
    tickets: np.ndarray  # of merges, by side
    indexes: Indexes
    half_width: int
    lowest: int  # the range of keys: a band that goes beyond it ends there
    highest: int
    blocking: int  # whether a merge stops the join


class Worker(NamedTuple):
    """What belongs to one thread."""

    number: int
    words: np.ndarray  # see above
    r: Any  # its view of the index of R
    s: Any
    task: Task
    lows_r: np.ndarray  # lower ends of bands that are looked for in the index of R
    lows_s: np.ndarray
    spots_r: np.ndarray  # where each of them belongs there
    spots_s: np.ndarray
    spot_words: int
    orders: np.ndarray  # of each tuple: which of those that look into its index it is
    together: int  # whether descents are made in lock-step
    found: np.ndarray  # (window, and a vector): partners of a tuple
    asked: np.ndarray  # which positions the index is asked for: see operators.index.window
    # With clocks: what its tasks took, and what was since the taking of tuples it has given out.
    task_times: Histogram
    tuple_times: Histogram


def make_state(
    index: SharedIndexOperations,
    window: int,
    half_width: int,
    *,
    two_way: bool = True,
    key_bits: int = 32,
    span: int = 0,
    threads: int = 2,
    task_size: int = 8,
    descents: str = ONE_BY_ONE,
    merge: str = NON_BLOCKING,
    changes: tuple[int, ...] = (),
    every: int = 1,
    ahead: int = 0,
    room: int = ROOM,
    held: int = 0,
    **parameters: Any,
) -> State:
    """Return a join with empty windows.

    Parameters
    ----------
    window, half_width, two_way, key_bits, span
        As of any join.
    threads : int
    task_size : int
        Tuples of a task.
    descents : str
        "one-by-one" or "lock-step", of a task's tuples in the index.
    merge : str
        "non-blocking" or "blocking", of an index that merges.
    changes : tuple of int
        How many threads take part: for the first `every` tuples, the next ones, and so on; the last
        number holds from then on. Empty for all of them.
    every : int
        Tuples.
    ahead : int
        Tasks that may be under way, rounded up to a power of two; 0 for as many as are good.
    room : int
        Words for a thread's results, a power of two.
    held : int
        Tuples of a stream that may be taken and not before the edge, and so what a merge may hold
        back: a task's at least. 0 for as many as are good; what is below those of the tasks that
        may be under way holds these up, too. Without merges it is not looked at.
    **parameters
        Of the index.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    key_type = check_window(window, key_bits)
    if span < 0:
        raise UsageError(f"the ticks of a window are above 0, received {span}")
    for name, given, most in (
        ("threads", threads, MOST_THREADS),
        ("task_size", task_size, MOST_TASK),
    ):
        if not 1 <= given <= most:
            raise UsageError(f"{name} must be between 1 and {most}, received {given}")
    if not all(1 <= each <= threads for each in changes) or every < 1:
        raise UsageError(
            f"of {threads} threads 1 or more take part, received {changes} and {every}"
        )
    if room != power_of_two(room) or room > MOST_ROOM:
        raise UsageError(f"a room has a power of two of words up to {MOST_ROOM}, received {room}")
    if held and held < task_size:
        raise UsageError(f"a task of {task_size} tuples is held, or none; received {held}")
    limits = np.iinfo(key_type)
    half_width = widest(half_width, limits)
    tasks = power_of_two(ahead or max(4 * threads, -(-LEAST_AHEAD // task_size)))
    slack = slack_of(tasks, task_size)
    held_most = (held or max(window // 4, slack)) if index.merges else 0
    queue = make_queue(
        window, key_type=key_type, two_way=two_way, span=span, threads=threads,
        task_size=task_size, tasks=tasks, room=room, held_most=held_most, changes=changes,
        every=every,
    )  # fmt: skip
    # Twice: what a merge has held, and what others index while that is entered.
    more = slack + 2 * held_most
    of_r = index.make_state(window, more, key_bits, threads, **parameters)
    of_s = index.make_state(window, more, key_bits, threads, **parameters) if two_way else of_r
    tickets = aligned_words(2 * MERGE_WORDS)
    ends = half_width, int(limits.min), int(limits.max)
    shared = Shared(queue, tickets, Indexes(of_r, of_s), *ends, int(merge == BLOCKING))
    views_r = index.views(of_r, threads)
    views_s = index.views(of_s, threads) if two_way else views_r
    spot = index.places_of(of_r)

    def make_worker(number: int) -> Worker:
        words = aligned_words(WORKER_WORDS)
        words[STAGE] = NO_STAGE
        # Not touched yet: of a large window few tuples have many partners, if any.
        found = np.zeros(window + LIVE, dtype=np.int64)
        lows = aligned_words(task_size), aligned_words(task_size)
        spots = aligned_words(task_size * spot), aligned_words(task_size * spot)
        looks = *lows, *spots, spot, aligned_words(task_size), int(descents == LOCK_STEP)
        looks = *looks, found, make_window(), make_histogram(), make_histogram()
        return Worker(number, words, views_r[number], views_s[number], make_task(task_size), *looks)

    workers = tuple(make_worker(number) for number in range(threads))
    return State(shared, workers, make_output(window))


@inlined
def seen(worker):
    """Return how many tuples a thread has processed."""
    return worker.words[SEEN]


# --- at rest --------------------------------------------------------------------------------------


class Latency(NamedTuple):
    """What threads took down with clocks."""

    tasks: Histogram  # from taking a task until its tuples are completed and indexed
    tuples: Histogram  # from taking a tuple until it is given out


def latency_of(state: State) -> Latency:
    """Return what the threads of a join have taken down, where ``make_step`` was given `timing`."""
    workers = state.threads
    return Latency(
        histogram.merge([each.task_times for each in workers]),
        histogram.merge([each.tuple_times for each in workers]),
    )


def forget_latency(state: State) -> None:
    """Let the threads of a join take times down anew."""
    for worker in state.threads:
        for each in (worker.task_times, worker.tuple_times):
            histogram.forget(each)


def merge_ns(state: State) -> int:
    """Return how long a merge was under way, of either stream or of both, others joining or not."""
    return int(state.shared.queue.words[MERGE_NS])


def each_index(state: State) -> tuple:
    """Return the index of each stream: of a self join one."""
    return state.shared.indexes[: 1 + state.shared.queue.two_way]


def footprint_of(index: SharedIndexOperations, state: State) -> dict[str, int]:
    """Return the bytes in use by component: "window" the rings, "queue" tasks and results."""
    queue = state.shared.queue
    rings = (queue.r, queue.s)[: 1 + queue.two_way]
    tasks = (queue.words, queue.tasks, queue.statuses, queue.rooms, queue.freed)
    total = {
        "window": sum(each.keys.nbytes for each in rings),
        "queue": sum(each.nbytes for each in tasks),
    }
    for each in each_index(state):
        for name, used in index.footprint(each).items():
            total[name] = total.get(name, 0) + used
    return total


def check_invariants_of(index: SharedIndexOperations, state: State) -> None:
    """Check a join at rest, which has given out what it has taken.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    queue = state.shared.queue
    words = queue.words
    taken, given = int(words[NEXT_TASK]), int(words[HEAD])
    assert given == taken, f"{taken} tasks were taken, and {given} are given out"
    assert not queue.statuses.any(), "a tuple that was given out is completed"
    assert words[MERGES] == 0, "a merge has not come to its end"
    for side, each in enumerate(each_index(state)):
        index.check_invariants(each)
        end = int(words[NEXT + side])
        begin = int(horizon_of(queue, side) if index.merges else words[REMOVED + side])
        check_holds(index, each, begin, end)
