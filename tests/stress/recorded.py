"""Histories of real threads: compiled kernels record each call with its time, for the judge.

A call's times are taken outside of it, with a fence in between: the stores of a call have left the
core before the end time is read, and the end time is not read before the loads of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.linearizability import explain, find_order
from operators.core.atomics import ACQUIRE, SEQ_CST, fence, fetch_add, load, now, yield_thread
from operators.core.backoff import YIELD_ROUNDS, wait_a_little
from operators.core.jit import INTERPRETED, kernel
from tests.operators.core.running import run_threads
from tests.stress.scheduling import scheduled

HISTORIES = 10 if INTERPRETED else 30

# A row of a script: a call, the arguments, and whether a refused call is repeated.
CALL, FIRST, AGAIN, SCRIPT_WORDS = 0, 1, 5, 6
# A row of a record.
ROW, BEGAN, ENDED, STATUS, OUT, RECORD_WORDS = 0, 1, 2, 3, 4, 16
# A repeated call is recorded at most this many times.
TRIES = 6
# A refused caller yields twice and then sleeps: the record has no room for endless repetition.
AT_FIRST = YIELD_ROUNDS - 1
# The answers FULL and NOT_READY, and the False of a queue without an item.
REFUSED = 0


def recording(step: Callable[..., int]) -> Callable[..., int]:
    """Return the kernel of a thread that makes the calls of a script and records them.

    ``step(state, row, out)`` makes one call and returns the status.
    """

    @kernel
    def record_calls(state, script, record, met, threads):
        fetch_add(met, 0, 1, SEQ_CST)
        # Not asleep: the last thread to arrive begins at once.
        while load(met, 0, ACQUIRE) < threads:
            yield_thread()
        row = 0
        made = 0
        refused = AT_FIRST
        while row < script.shape[0] and made < record.shape[0]:
            line = record[made]
            line[ROW] = row
            # Stored before the fence, so read before the accesses that follow it.
            line[BEGAN] = now()
            fence(SEQ_CST)
            status = step(state, script[row], line[OUT:])
            fence(SEQ_CST)
            line[ENDED] = now()
            line[STATUS] = status
            made += 1
            if status == REFUSED:
                refused = wait_a_little(refused)
                if script[row, AGAIN] == 1:
                    continue
            else:
                refused = AT_FIRST
            row += 1
        return made

    return record_calls


def record_of(
    kernel: Callable[..., int], state: Any, scripts: Sequence[np.ndarray]
) -> list[list[list[int]]]:
    """Run a thread for each script, all at once, and return each thread's record."""
    met = np.zeros(8, dtype=np.int64)
    records = [np.zeros((TRIES * len(s), RECORD_WORDS), dtype=np.int64) for s in scripts]
    made = [0] * len(scripts)

    def run(thread: int) -> None:
        made[thread] = kernel(state, scripts[thread], records[thread], met, len(scripts))

    run_threads(*(lambda thread=thread: run(thread) for thread in range(len(scripts))))
    return [record[:count].tolist() for record, count in zip(records, made, strict=True)]


def history_of(scripts, records, spell) -> list[HistoryOperation]:
    """Return the recorded history; ``spell(row, status, out)`` is name, arguments and answer."""
    return [
        HistoryOperation(thread, *spell(rows[line[ROW]], line[STATUS], line[OUT:]), *line[1:3])
        for thread, (rows, record) in enumerate(
            zip([script.tolist() for script in scripts], records, strict=True)
        )
        for line in record
    ]


def script_of(*rows: tuple[int, ...]) -> np.ndarray:
    """Return rows (call, arguments ...), padded with zeros."""
    script = np.zeros((len(rows), SCRIPT_WORDS), dtype=np.int64)
    for place, row in enumerate(rows):
        script[place, : len(row)] = row
    return script


class Cell(NamedTuple):
    """A structure, by name and constructor argument, and the schedule of the threads."""

    name: str
    number: int
    schedule: str


def meetings(history: Sequence[HistoryOperation]) -> int:
    """Return how many calls began while a call of another thread was running."""
    found = 0
    ends: dict[int, int] = {}
    for call in sorted(history, key=lambda call: call.began):
        found += any(call.began <= end for t, end in ends.items() if t != call.thread)
        ends[call.thread] = call.ended
    return found


def check_histories(
    cell: Cell, run: Callable[[int], list[HistoryOperation]], specify: Callable[[], Any]
) -> None:
    """Judge a history for each seed."""
    met = 0
    for seed in range(HISTORIES):
        with scheduled(cell.schedule, seed):
            history = run(seed)
        assert find_order(history, specify()) is not None, f"seed {seed}\n{explain(history)}"
        met += meetings(history)
    # Without noise, threads of a busy machine may well run one after the other.
    assert met > HISTORIES or cell.schedule != "noise", f"{met} calls met another"
