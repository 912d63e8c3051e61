"""The paper's structures at work on a handful of tuples, for a notebook: steps, and short runs.

``fill_reorder_buffer`` and ``delegate`` call the measured operations, interpreted and one at a
time, and return a snapshot of the structure after each. ``worker_time`` runs a pipeline compiled
and on threads, as a bench does, only much shorter. ``find_frauds`` runs the pipeline of the paper's
figure 1, written as a user would write it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments import families
from experiments.ordered_processing.snapshots import BufferSnapshot, QueueSnapshot, TimeSpent
from experiments.timing import isolation
from experiments.timing.bench import Request
from operators.contract import ACCEPTED, FULL, READY
from operators.core.layout import LINE_WORDS, aligned_words
from operators.partition.hybrid import VARIANT as HYBRID
from operators.partition.shape import NO_PARTITION
from operators.pipeline.queries import fraud
from operators.pipeline.run import run_pipeline
from operators.reorder.non_blocking import VARIANT as NON_BLOCKING
from operators.reorder.shape import EMPTY

# (worker, serial number): a is slow, so that the other workers' outputs wait for it.
OUTPUTS = (("b", 2), ("c", 3), ("b", 4), ("c", 5), ("a", 1), ("c", 5))
SLOTS = 4
# Keys of t1, t2, ...: two of them come twice.
KEYS = (0, 1, 2, 0, 2)
# The turns of workers, one after the other: take the next tuple, or finish the current one.
TAKES, DONE = "takes", "is done"
TURNS = (
    ("a", TAKES), ("b", TAKES), ("c", TAKES), ("b", DONE), ("b", TAKES), ("a", DONE), ("a", TAKES),
    ("c", DONE), ("c", TAKES),
)  # fmt: skip
SCHEDULERS = ("qst", "lp", "et", "ct")
LIVE_SECONDS = 0.1
# The example: phones that move about a city, five of which are in two cities at once.
PHONES, CLONED, CALLS, HOURS, AREAS, CITY_M, LIMIT_M_S = 400, 5, 20_000, 6, 3, 20_000, 300


def fill_reorder_buffer(
    outputs: Sequence[tuple[str, int]] = OUTPUTS, slots: int = SLOTS
) -> list[BufferSnapshot]:
    """Hand outputs to a non-blocking reorder buffer one by one, and take snapshots.

    Parameters
    ----------
    outputs : sequence of (str, int)
        A worker's letter and the serial number of the output; a refused output is handed over again
        later.
    slots : int

    Returns
    -------
    list of BufferSnapshot
        The empty buffer, and one after each step.
    """
    sent: list[int] = []

    def send_downstream(receiver: None, serial: int, output: int) -> int:
        sent.append(int(serial))
        return ACCEPTED

    operations = NON_BLOCKING.operations
    state = operations.make_state(slots)
    send = operations.make_sending(send_downstream).send
    found = [_buffer(state, "nothing was handed over", (), False)]
    for worker, serial in outputs:
        before = len(sent)
        # The value of an output matters only to the receiver: here it is the serial number.
        status = send(state, None, serial, serial)
        found.append(
            _buffer(
                state,
                f"{worker} hands over output {serial}",
                tuple(sent[before:]),
                status == FULL,
            )
        )
    return found


def _buffer(state, event: str, sent: tuple[int, ...], refused: bool) -> BufferSnapshot:
    slots = tuple(0 if word == EMPTY else int(word) for word in state.buffer[: state.mask + 1])
    return BufferSnapshot(event, slots, int(state.next[0]), sent, refused)


def delegate(
    keys: Sequence[int] = KEYS, turns: Sequence[tuple[str, str]] = TURNS
) -> list[QueueSnapshot]:
    """Fill a hybrid queue and let workers take turns, and take snapshots.

    Parameters
    ----------
    keys : sequence of int
        Partition of each tuple, in the order of arrival.
    turns : sequence of (str, str)
        A worker's letter, and TAKES or DONE.

    Returns
    -------
    list of QueueSnapshot
        The filled queue, and one after each turn.

    Raises
    ------
    RuntimeError
        When the queue is too small for this demonstration.
    """
    operations = HYBRID.operations
    workers = sorted({worker for worker, _ in turns})
    partitions = max(keys) + 1
    state = operations.make_state(partitions, len(workers), len(keys) + 1)
    for number, key in enumerate(keys, 1):
        if operations.add_input(state, key, number) != ACCEPTED:
            raise RuntimeError("the queue is too small for this demonstration")
    taken: list[int] = []
    working: dict[str, int] = {}
    found = [_queue(state, f"{len(keys)} tuples have arrived", keys, taken, {}, workers)]
    out = aligned_words(LINE_WORDS)
    for worker, turn in turns:
        number = workers.index(worker)
        if turn == DONE:
            event = f"{worker} is done with t{working.pop(worker)}"
            operations.processed(state, number)
        elif operations.next_input(state, number, out) == READY:
            working[worker] = int(out[2])
            taken.append(int(out[2]))
            event = f"{worker} takes t{working[worker]}"
        else:
            event = f"{worker} takes keys, and finds that others own what they stand for"
        found.append(_queue(state, event, keys, taken, working, workers))
    return found


def _queue(
    state,
    event: str,
    keys: Sequence[int],
    taken: Sequence[int],
    working: dict[str, int],
    workers: Sequence[str],
) -> QueueSnapshot:
    """Return a snapshot of the queue: counters are read, waiting tuples are the remaining ones."""
    waiting = [number for number in range(1, len(keys) + 1) if number not in taken]
    queues = tuple(
        tuple(f"t{number}" for number in waiting if keys[number - 1] == partition)
        for partition in range(state.partitions)
    )
    left = HYBRID.operations.waiting(state)
    owned = {
        worker: (int(state.held[place * LINE_WORDS]), f"t{working[worker]}" if worker in working
                 else "")
        for place, worker in enumerate(workers)
        if state.held[place * LINE_WORDS] != NO_PARTITION
    }  # fmt: skip
    counts = tuple(int(state.counts[p * LINE_WORDS]) for p in range(state.partitions))
    return QueueSnapshot(event, tuple(keys[len(keys) - left :]), queues, counts, owned)


def worker_time(schedulers: Sequence[str] = SCHEDULERS) -> list[TimeSpent]:
    """Run the parametric pipeline under each scheduler for a tenth of a second.

    Parameters
    ----------
    schedulers : sequence of str
        Ids of variants.

    Returns
    -------
    list of TimeSpent
        In the order in which they ran.
    """
    settings = {"query": "parametric", "work_us": 5, "selectivity": 4, "workers": 2}
    benches = [families.ready("pipeline", name, settings) for name in schedulers]
    found = []
    with isolation.alone():
        for name, bench in zip(schedulers, benches, strict=True):
            seen = bench.run(Request(LIVE_SECONDS))
            spent = seen["operator_seconds"]
            shares = {operator: value / sum(spent.values()) for operator, value in spent.items()}
            found.append(TimeSpent(name, shares, seen["throughput_tps"], seen["valid"]))
    return found


def calls(seed: int = 1) -> np.ndarray:
    """Return random calls in the order of time, with the words of ``fraud``.

    Returns
    -------
    int64 array (CALLS, fraud.CALL_WORDS)
    """
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, HOURS * 3_600, CALLS))
    homes = random.integers(0, CITY_M, (PHONES, 2))
    found = np.zeros((CALLS, fraud.CALL_WORDS), dtype=np.int64)
    found[:, fraud.TIME] = times
    found[:, fraud.AREA] = random.integers(0, AREAS, CALLS)
    for who in (fraud.CALLER, fraud.CALLEE):
        phones = random.integers(0, PHONES, CALLS)
        places = homes[phones] + random.integers(-20, 21, (CALLS, 2))
        # A second phone with the same number, on the other side of the country.
        elsewhere = (phones < CLONED) & (random.random(CALLS) < 0.5)
        places[elsewhere] += 50 * CITY_M
        found[:, who] = phones
        found[:, who + 1 : who + 3] = places
    return found


def find_frauds(scheduler: str = "ct", workers: int = 2) -> list[tuple[int, int]]:
    """Return the number of impossible journeys in each hour, as (hour, count)."""
    pipeline = fraud.make(area=0, limit=LIMIT_M_S, phones=PHONES)
    rows = run_pipeline(pipeline, calls(), scheduler=scheduler, workers=workers)
    return [(int(hour), int(count)) for hour, count in rows]
