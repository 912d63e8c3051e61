"""The memory of a parallel join's threads: how it is made, and inspected when quiescent.

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
# The room of results: running totals of results put there, and of results given out when the thread
# last looked.
PUT, FREED = 0, 1
# Whether the thread has the output; the phase; the number of processed tuples.
OWNS, PHASE, SEEN = 2, 3, 4
# Whether the thread was refused a task when it last tried to take one.
REFUSED = 5
# The task: number, tuples, the next tuple, and the number of results that found no room; by side:
# the range to remove from the index, the edge at the search, whether tuples are held, and how many
# tuples search the index.
TASK, SIZE, AT, COUNTED, REMOVE, REMOVE_UNTIL, ASKED, HOLDS = 16, 17, 18, 19, 20, 22, 24, 26
LOWS = 28
# The merge that the thread makes: side, stage, number of pieces, and the held tuples to enter: next
# and end.
MERGE_SIDE, STAGE, PIECES, ENTERED, ENTER_UNTIL = 32, 33, 34, 35, 36
WORKER_WORDS = 5 * LINE_WORDS
NO_STAGE = -1

# Words of a merge, by side: the next piece, with the stage, and the number of finished pieces.
TICKET, FINISHED = 0, LINE_WORDS
MERGE_WORDS = 2 * LINE_WORDS

# Bits for the number of a tuple's results, which is less than the words of a room.
COUNT_BITS = 20
MOST_ROOM = 1 << COUNT_BITS
# Phases: no task; processing the tuples; the results of one have found no room.
FREE, AT_WORK, STUCK = range(3)

# The least number of tuples in flight, whatever the tasks: when a thread loses a core for a while,
# the others do not stop at once.
LEAST_AHEAD = 1024
ROOM = 1 << 15
ONE_BY_ONE, LOCK_STEP = "one-by-one", "lock-step"
NON_BLOCKING, BLOCKING = "non-blocking", "blocking"
MOST_TASK = 64


class Indexes(NamedTuple):
    """The index of each stream, in a self join that of R twice; threads use views of them."""

    r: Any
    s: Any


class Shared(NamedTuple):
    """The data that all threads share."""

    queue: Queue
    tickets: np.ndarray  # of merges, by side
    indexes: Indexes
    half_width: int
    lowest: int  # the range of keys, to which bands are clipped
    highest: int
    blocking: int  # whether a merge stops the join


class Worker(NamedTuple):
    """The data of one thread."""

    number: int
    words: np.ndarray  # see above
    r: Any  # the thread's view of the index of R
    s: Any
    task: Task
    lows_r: np.ndarray  # lower ends of the bands to search in the index of R
    lows_s: np.ndarray
    spots_r: np.ndarray  # the position of each in the index
    spots_s: np.ndarray
    spot_words: int
    orders: np.ndarray  # for each tuple: its number among those that search the same index
    together: int  # whether descents are made in lock-step
    found: np.ndarray  # (window, and a vector): partners of a tuple
    asked: np.ndarray  # the range of positions to search: see operators.index.window
    # If timed: from taking a task until it is done, and from taking a tuple until giving it out.
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
        As for any join.
    threads : int
    task_size : int
        Tuples of a task.
    descents : str
        "one-by-one" or "lock-step", for a task's tuples in the index.
    merge : str
        "non-blocking" or "blocking", for an index that merges.
    changes : tuple of int
        How many threads take part: for the first `every` tuples, the next ones, and so on; the last
        number holds from then on. Empty for all of them.
    every : int
        Tuples.
    ahead : int
        Tasks in flight at most, rounded up to a power of two; 0 for a good default.
    room : int
        Words for a thread's results, a power of two.
    held : int
        The most tuples of a stream between the edge and the last taken one, and so the most that a
        merge may hold back: at least a task's, 0 for a good default. A value below the tuples of
        the tasks in flight also delays these. Ignored if the index does not merge.
    **parameters
        Those of the index.

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
    # Twice: the tuples held during a merge, and those that others index while these are entered.
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
        # Lazily allocated pages: in a large window few tuples, if any, have many partners.
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
    """Return the number of tuples that a thread has processed."""
    return worker.words[SEEN]


# --- quiescent ------------------------------------------------------------------------------------


class Latency(NamedTuple):
    """Latencies in ns that threads have recorded."""

    tasks: Histogram  # from taking a task until its tuples are completed and indexed
    tuples: Histogram  # from taking a tuple until it is given out


def latency_of(state: State) -> Latency:
    """Return the latencies recorded by the threads of a join made with `timing`."""
    workers = state.threads
    return Latency(
        histogram.merge([each.task_times for each in workers]),
        histogram.merge([each.tuple_times for each in workers]),
    )


def forget_latency(state: State) -> None:
    """Clear the latencies recorded by the threads of a join."""
    for worker in state.threads:
        for each in (worker.task_times, worker.tuple_times):
            histogram.forget(each)


def merge_ns(state: State) -> int:
    """Return the time during which a merge of either stream was in flight."""
    return int(state.shared.queue.words[MERGE_NS])


def each_index(state: State) -> tuple:
    """Return the index of each stream; a self join has one."""
    return state.shared.indexes[: 1 + state.shared.queue.two_way]


def footprint_of(index: SharedIndexOperations, state: State) -> dict[str, int]:
    """Return the bytes in use by component: "window" is the rings, "queue" tasks and results."""
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
    """Check a quiescent join, which has given out all tuples that it has taken.

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
