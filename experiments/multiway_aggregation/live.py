"""The paper's structures at work on a handful of tuples, for a notebook: steps, and short runs.

``fill_t_gate`` and ``fill_w_hive`` call the measured operations, interpreted and one at a time, and
return a snapshot of the structure after each. ``locks_against_no_locks`` runs gates compiled and on
threads, as a bench does, only much shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments import families
from experiments.families.gate import steps as gate_steps
from experiments.families.gate.snapshots import GateSnapshot
from experiments.families.gate.steps import READ, chain_of, taken
from experiments.multiway_aggregation.snapshots import HiveSnapshot, HiveWinset, LiveRun
from experiments.timing import isolation
from experiments.timing.bench import Request
from operators.aggregation import plan as plans
from operators.aggregation.shared_winsets import NOT_FOUND, N, find, home_row
from operators.aggregation.sink import take_rows
from operators.aggregation.w_hive import (
    GENERATION,
    HEIGHT,
    LINKS,
    NIL,
    NOT_BEGUN,
    NUMBER,
    READ_HEAD,
)
from operators.aggregation.wiml import VARIANT as WIML
from operators.contract import READY
from operators.core.layout import LINE_WORDS
from operators.running import pinning

# (source, timestamp): c comes late, so that the others wait for it.
DELIVERIES = (("a", 1), ("b", 2), ("a", 4), ("c", 3), READ, ("b", 5), ("c", 6), READ)
# (thread, timestamp, key): b lags behind, then a does.
TUPLES = (
    ("a", 1, "x"),
    ("b", 1, "y"),
    ("a", 3, "x"),
    ("a", 5, "y"),
    ("b", 5, "x"),
    ("b", 8, "y"),
    ("a", 6, "x"),
)
WINDOW_SIZE, WINDOW_ADVANCE = 4, 2
GATES = ("multi-queue", "multi-queue-lock-free", "t-gate")
LIVE_SECONDS = 0.1


def fill_t_gate(
    deliveries: Sequence[tuple[str, int]] = DELIVERIES, levels: int = 3
) -> list[GateSnapshot]:
    """Deliver tuples to a T-Gate one by one, see ``gate_steps.fill_t_gate``."""
    return gate_steps.fill_t_gate(deliveries, levels)


def fill_w_hive(
    tuples: Sequence[tuple[str, int, str]] = TUPLES, levels: int = 2
) -> list[HiveSnapshot]:
    """Let threads update the windows of a W-Hive in turn, and put out every complete winset.

    Parameters
    ----------
    tuples : sequence of (str, int, str)
        Letter of the thread, timestamp and key; each thread's timestamps ascending. Tuples are
        counted by key in windows of WINDOW_SIZE by WINDOW_ADVANCE.
    levels : int
        Height of the tallest node.

    Returns
    -------
    list of HiveSnapshot
        The empty hive, one after each tuple, and one after every thread has ended.

    Raises
    ------
    RuntimeError
        When a tuple is not accepted.
    """
    operations = WIML.operations
    names = sorted({thread for thread, _, _ in tuples})
    keys = sorted({key for _, _, key in tuples})
    plan = plans.make_plan("count", WINDOW_SIZE, WINDOW_ADVANCE, len(keys), 1024)
    state = operations.make_state(plan, len(names), levels, 8)
    found = [_hive(state.windows, names, keys, "nothing delivered", ())]
    for thread, timestamp, key in tuples:
        taken(operations.add(state, names.index(thread), timestamp, keys.index(key), 0))
        event = f"thread {thread} counts a tuple at {timestamp} with key {key}"
        found.append(_hive(state.windows, names, keys, event, ()))
        rows = _put_out(state, operations, keys)
        if rows:
            event = "the output thread takes what every thread has passed"
            found.append(_hive(state.windows, names, keys, event, rows))
    for thread in range(len(names)):
        taken(operations.close(state, thread))
    rows = _put_out(state, operations, keys)
    event = "every thread ends, the output thread takes the rest"
    return [*found, _hive(state.windows, names, keys, event, rows)]


def _put_out(state, operations, keys: Sequence[str]) -> tuple[str, ...]:
    while operations.process(state) == READY:
        pass
    return tuple(
        f"[{start}, {start + WINDOW_SIZE}) {keys[key]}: {n}"
        for start, key, _, _, n in take_rows(state.windows.sink).tolist()
    )


def _hive(
    hive, names: Sequence[str], keys: Sequence[str], event: str, rows: tuple[str, ...]
) -> HiveSnapshot:
    """Return a snapshot of a quiescent hive."""
    words = hive.nodes.reshape(-1, hive.stride)
    chain = chain_of(words, int(hive.insert_head[0]), LINKS, NIL)
    read_head = chain.index(int(hive.reading[READ_HEAD]))
    reported = [int(word) for word in hive.written[::LINE_WORDS]]
    winsets = []
    for place, node in enumerate(chain):
        number = int(words[node, NUMBER])
        state = "out" if place <= read_head else "ready" if number < min(reported) else "open"
        start = number * hive.window_advance if number >= 0 else None
        winsets.append(
            HiveWinset(
                label="F" if start is None else f"w{number}",
                start=start,
                end=None if start is None else start + hive.window_size,
                height=int(words[node, HEIGHT]),
                windows={} if start is None else _windows(hive, node, keys),
                state=state,
            )
        )
    written = dict(zip(names, (None if n == NOT_BEGUN else n for n in reported), strict=True))
    return HiveSnapshot(event, tuple(winsets), hive.levels, written, read_head, 0, rows)


def _windows(hive, place: int, keys: Sequence[str]) -> dict[str, int]:
    generation = int(hive.nodes[place * hive.stride + GENERATION])
    found = {}
    for code, key in enumerate(keys):
        at = find(hive.winsets, home_row(hive.winsets, code), place, generation, code)
        if at != NOT_FOUND:
            found[key] = int(hive.winsets.words[at + N])
    return found


def locks_against_no_locks(
    sources: int = 4, rounds: int = 5, variants: Sequence[str] = GATES
) -> list[LiveRun]:
    """Run gates on threads for a tenth of a second each, in turn.

    Parameters
    ----------
    sources, rounds : int
    variants : sequence of str
        Ids of gates.

    Returns
    -------
    list of LiveRun
        In the order in which they ran: every variant once per round.
    """
    benches = [families.ready("gate", name, {"sources": sources}) for name in variants]
    found = []
    with isolation.alone():
        for number in range(1, rounds + 1):
            for name, bench in zip(variants, benches, strict=True):
                seen = bench.run(Request(LIVE_SECONDS))
                tps, valid = seen["throughput_tps"], seen["valid"]
                found.append(LiveRun(name, number, tps, valid, bench.threads, pinning.cores()))
    return found
