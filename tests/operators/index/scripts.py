"""Runs of an index, given as scripts: tuples enter and leave in order, ranges are searched.

A script consists of rows (operation, a, b): ENTER inserts key a, LEAVE removes the oldest tuple,
SEARCH asks for the keys from a to b.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from operators.contract import ACCEPTED
from operators.core.jit import kernel
from operators.index.family import IndexOperations
from operators.index.reference import Reference
from operators.index.window import make_answer

ENTER, LEAVE, SEARCH = range(3)
# Sequence numbers wrap around in the middle of each run.
BEGIN = (1 << 32) - 200


@cache
def make_runner(operations: IndexOperations):
    """Return the kernel that runs a script."""
    insert, remove = operations.insert, operations.remove
    find, scan = operations.find, operations.scan

    @kernel
    def run(state, script, keys, begin, place, out, found, ends):
        first = begin
        following = begin
        total = 0
        for row in range(len(script)):
            what, a, b = script[row, 0], script[row, 1], script[row, 2]
            if what == ENTER:
                keys[following - begin] = a
                if insert(state, a, following) != ACCEPTED:
                    return row
                following += 1
            elif what == LEAVE:
                remove(state, keys[first - begin], first)
                first += 1
            else:
                find(state, a, place)
                count = scan(state, a, b, place, out)
                for each in range(count):
                    found[total] = out[each]
                    total += 1
            ends[row] = total
        return -1

    return run


def run(operations: IndexOperations, state, script: np.ndarray, window: int) -> list[list[int]]:
    """Run a script and return the positions that each row found, sorted."""
    runner = make_runner(operations)
    keys = np.zeros(len(script) + 1, dtype=np.int64)
    place = np.zeros(operations.places(state), dtype=np.int64)
    out, ends = make_answer(window), np.zeros(len(script), dtype=np.int64)
    room = int((script[:, 0] == SEARCH).sum()) * window + 1
    found = np.zeros(room, dtype=np.int64)
    refused = runner(state, script, keys, BEGIN, place, out, found, ends)
    assert refused == -1, f"row {refused} found no room"
    begins = np.concatenate([[0], ends[:-1]])
    return [sorted(found[a:b].tolist()) for a, b in zip(begins, ends, strict=True)]


def step_by_step(
    operations: IndexOperations, state, script: np.ndarray, window: int
) -> list[list[int]]:
    """Do the same in the interpreter, and check the invariants after each step."""
    keys: list[int] = []
    first, found = 0, []
    place, out = np.zeros(operations.places(state), np.int64), make_answer(window)
    for what, a, b in script.tolist():
        answer: list[int] = []
        if what == ENTER:
            assert operations.insert(state, a, BEGIN + len(keys)) == ACCEPTED
            keys.append(a)
        elif what == LEAVE:
            operations.remove(state, keys[first], BEGIN + first)
            first += 1
        else:
            operations.find(state, a, place)
            count = operations.scan(state, a, b, place, out)
            answer = sorted(out[:count].tolist())
        operations.check_invariants(state)
        found.append(answer)
    return found


def wanted(script: np.ndarray) -> list[list[int]]:
    """Return the answers of the reference."""
    reference, entered, first, found = Reference(), [], 0, []
    for what, a, b in script.tolist():
        answer: list[int] = []
        if what == ENTER:
            reference.insert(a, BEGIN + len(entered))
            entered.append(a)
        elif what == LEAVE:
            reference.remove(entered[first], BEGIN + first)
            first += 1
        else:
            answer = reference.search(a, b)
        found.append(answer)
    return found


def sliding(keys: np.ndarray, window: int, half_width: int, limits: np.iinfo) -> np.ndarray:
    """Return the script of a count window over keys: search, leave, enter for each."""
    rows = []
    for place, key in enumerate(keys.tolist()):
        low, high = max(key - half_width, int(limits.min)), min(key + half_width, int(limits.max))
        rows.append((SEARCH, low, high))
        if place >= window:
            rows.append((LEAVE, 0, 0))
        rows.append((ENTER, key, 0))
    return np.array(rows, dtype=np.int64)
