"""The paper's structures at work on a handful of tuples, for a notebook: steps, and short runs.

``fill_t_gate`` and ``fill_w_hive`` call the very operations that are measured, interpreted and one
at a time, and return what the structure looks like after each. ``locks_against_no_locks`` runs
gates compiled and on threads, as a bench does, only much shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments import families
from experiments.multiway_aggregation.snapshots import (
    GateNode,
    GateSnapshot,
    HiveSnapshot,
    HiveWinset,
    LiveRun,
)
from experiments.timing import isolation, machine
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
from operators.contract import ACCEPTED, READY
from operators.core.layout import LINE_WORDS, aligned_words
from operators.gate import t_gate as gates
from operators.gate.t_gate import VARIANT as T_GATE

READ = ("reader", 0)
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


def _taken(status: int) -> None:
    if status != ACCEPTED:
        raise RuntimeError(f"the structure is too small for this demonstration: status {status}")


def fill_t_gate(
    deliveries: Sequence[tuple[str, int]] = DELIVERIES, levels: int = 3
) -> list[GateSnapshot]:
    """Deliver tuples to a T-Gate one by one, let a reader take what is ready, and look.

    Parameters
    ----------
    deliveries : sequence of (str, int)
        Letter of the source and timestamp, each source's ascending; READ where the reader's turn
        is.
    levels : int
        Height of the tallest node.

    Returns
    -------
    list of GateSnapshot
        The empty gate, one after each step, and one after every source has closed.

    Raises
    ------
    RuntimeError
        When a delivery is not taken.
    """
    operations = T_GATE.operations
    names = sorted({source for source, _ in deliveries} - {READ[0]})
    state = operations.make_state(len(names), 1, 24, levels)
    found = [_gate(state, names, f"{len(names)} sources, nothing delivered", ())]
    for source, timestamp in deliveries:
        got, told = (), f"{source} delivers a tuple at {timestamp}"
        if (source, timestamp) == READ:
            got, told = _read_gate(state, operations, names), "the reader takes what is ready"
        else:
            _taken(operations.insert_tuple(state, names.index(source), timestamp, 0, 0))
        found.append(_gate(state, names, told, got))
    for source in range(len(names)):
        _taken(operations.close_source(state, source))
    got = _read_gate(state, operations, names)
    return [*found, _gate(state, names, "every source ends, the reader takes the rest", got)]


def _read_gate(state, operations, names: Sequence[str]) -> tuple[str, ...]:
    out, got = aligned_words(4), []
    while operations.get_next_ready_tuple(state, 0, out) == READY:
        got.append(f"{names[int(out[1])]} at {int(out[0])}")
    return tuple(got)


def _gate(state, names: Sequence[str], told: str, delivered: tuple[str, ...]) -> GateSnapshot:
    """Return what a gate looks like at rest."""
    words = state.nodes.reshape(-1, state.stride)
    chain = _chain(words, int(state.anchor[0]), gates.NEXT, gates.NIL)
    last = {name: int(state.private[n * state.private_words + gates.FINGERS])
            for n, name in enumerate(names)}  # fmt: skip
    head = chain.index(int(state.reading[gates.HEAD]))
    # The reader stops before the first tuple that is its source's last.
    stop = min(chain.index(node) for node in last.values())
    nodes = []
    for place, node in enumerate(chain):
        source, timestamp = int(words[node, gates.SOURCE]), int(words[node, gates.TIMESTAMP])
        no_tuple = timestamp < 0 or timestamp == gates.END_TIMESTAMP
        done = no_tuple or place <= head
        nodes.append(
            GateNode(
                label="F" if source < 0 else f"{names[source]}{node % state.ring}",
                under="end" if timestamp > 0 and no_tuple else "" if no_tuple else str(timestamp),
                height=int(words[node, gates.HEIGHT]),
                state="passed" if done else "ready" if place < stop else "waiting",
            )
        )
    written = {name: chain.index(node) for name, node in last.items()}
    return GateSnapshot(told, tuple(nodes), state.levels, written, head, delivered)


def _chain(words, first: int, link: int, nil: int) -> list[int]:
    chain = [first]
    while (after := int(words[chain[-1], link])) != nil:
        chain.append(after)
    return chain


def fill_w_hive(
    tuples: Sequence[tuple[str, int, str]] = TUPLES, levels: int = 2
) -> list[HiveSnapshot]:
    """Let threads update the windows of a W-Hive by turns, and put out every winset that is done.

    Parameters
    ----------
    tuples : sequence of (str, int, str)
        Letter of the thread, timestamp and key; each thread's timestamps ascending. They are
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
        When a tuple is not taken.
    """
    operations = WIML.operations
    names = sorted({thread for thread, _, _ in tuples})
    keys = sorted({key for _, _, key in tuples})
    plan = plans.make_plan("count", WINDOW_SIZE, WINDOW_ADVANCE, len(keys), 1024)
    state = operations.make_state(plan, len(names), levels, 8)
    found = [_hive(state.windows, names, keys, "nothing delivered", ())]
    for thread, timestamp, key in tuples:
        _taken(operations.add(state, names.index(thread), timestamp, keys.index(key), 0))
        told = f"thread {thread} counts a tuple at {timestamp} with key {key}"
        found.append(_hive(state.windows, names, keys, told, ()))
        rows = _put_out(state, operations, keys)
        if rows:
            told = "the output thread takes what every thread has passed"
            found.append(_hive(state.windows, names, keys, told, rows))
    for thread in range(len(names)):
        _taken(operations.close(state, thread))
    rows = _put_out(state, operations, keys)
    told = "every thread ends, the output thread takes the rest"
    return [*found, _hive(state.windows, names, keys, told, rows)]


def _put_out(state, operations, keys: Sequence[str]) -> tuple[str, ...]:
    while operations.process(state) == READY:
        pass
    return tuple(
        f"[{start}, {start + WINDOW_SIZE}) {keys[key]}: {n}"
        for start, key, _, _, n in take_rows(state.windows.sink).tolist()
    )


def _hive(
    hive, names: Sequence[str], keys: Sequence[str], told: str, rows: tuple[str, ...]
) -> HiveSnapshot:
    """Return what a hive looks like at rest."""
    words = hive.nodes.reshape(-1, hive.stride)
    chain = _chain(words, int(hive.insert_head[0]), LINKS, NIL)
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
    return HiveSnapshot(told, tuple(winsets), hive.levels, written, read_head, 0, rows)


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
    """Run gates for a tenth of a second each, by turns, on threads of their own.

    Parameters
    ----------
    sources, rounds : int
    variants : sequence of str
        Ids of gates.

    Returns
    -------
    list of LiveRun
        In the order in which they ran: every variant once a round.
    """
    benches = [families.ready("gate", name, {"sources": sources}) for name in variants]
    found = []
    with isolation.alone():
        for number in range(1, rounds + 1):
            for name, bench in zip(variants, benches, strict=True):
                seen = bench.run(Request(LIVE_SECONDS))
                tps, valid = seen["throughput_tps"], seen["valid"]
                found.append(LiveRun(name, number, tps, valid, bench.threads, machine.cores()))
    return found
