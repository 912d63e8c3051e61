"""The paper's joins at work on a few tuples, for a notebook: snapshots, and short runs.

``run_join``, ``fill_gate`` and ``meet_in_chains`` call the measured operations, interpreted and one
at a time, and return snapshots of a join, a gate or a chain of cores. ``compare_joins`` runs joins
compiled and on threads, as a bench does, only much shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from datasets.in_memory import InMemory
from experiments import families
from experiments.dataset_of import dataset_path
from experiments.families.gate import steps as gate_steps
from experiments.families.gate.snapshots import GateSnapshot
from experiments.families.gate.steps import READ
from experiments.records.quantities import quantity
from experiments.scalejoin import chains
from experiments.scalejoin.sample import Sample
from experiments.scalejoin.snapshots import ChainSnapshot, JoinRun, JoinSnapshot
from experiments.timing import isolation
from experiments.timing.bench import Request
from operators.contract import UsageError
from operators.running import pinning
from operators.theta_join.family import OPPOSITE, R, S

# ASSUME: the text has lost figure 1; this sequence satisfies everything that the text says of it:
# t1 and t4 are compared at a distance of 5, and t5 expires t2, which t3 would otherwise miss later.
# Stream, timestamp, and the number that is compared.
SAMPLE = (("R", 1, 5), ("S", 2, 4), ("R", 4, 6), ("S", 6, 5), ("S", 7, 7), ("R", 8, 6), ("S", 9, 2))
SPAN, THREADS = 4, 3
# Numbers of deliveries after which to take a snapshot while the last thread is behind.
LOOKS = (6,)
# S is behind, and delivers a tuple that belongs between two tuples of R.
DELIVERIES = (("R", 1), ("S", 2), ("R", 4), ("R", 7), ("S", 5), READ, ("S", 9))
FIRST_STEP = 4
JOINS = ("scale-join", "handshake", "handshake-low-latency")
CORES, CHAIN_WINDOW, CHAIN_TUPLES = 3, 9, 11
# Number of steps after which to take a snapshot of a chain, while tuples are in flight in it.
STEPS, SEED = 125, 2
RUN_THREADS = (1, 2)
WINDOW_S, DENSITY = 60, 500
LIVE_SECONDS = 0.1
MADE_UP_ROWS = 1 << 16


def fill_gate(
    deliveries: Sequence[tuple[str, int]] = DELIVERIES, levels: int = 3, first: int = FIRST_STEP
) -> list[GateSnapshot]:
    """Deliver tuples of R and S to a gate, and let a reader take ready ones.

    Parameters
    ----------
    deliveries, levels
        As of ``gate_steps.fill_t_gate``.
    first : int
        The first step that is returned.

    Returns
    -------
    list of GateSnapshot
        One per step, up to the last delivery.
    """
    *steps, _ = gate_steps.fill_t_gate(deliveries, levels)
    return steps[first:]


def run_join(
    threads: int = THREADS,
    tuples: Sequence[tuple[str, int, int]] = SAMPLE,
    span: int = SPAN,
    looks: Sequence[int] = LOOKS,
) -> list[JoinSnapshot]:
    """Run a ScaleJoin over a few tuples, one delivery at a time.

    After each delivery every thread takes its ready tuples, the last thread only after a snapshot.

    Parameters
    ----------
    threads : int
    tuples : sequence of (str, int, int)
        "R" or "S", timestamp, and the number that is compared: pairs match if their numbers differ
        by at most 1. Each stream's timestamps ascend.
    span : int
        WS.
    looks : sequence of int
        Numbers of deliveries after which to take a snapshot.

    Returns
    -------
    list of JoinSnapshot
        One per entry of `looks`, and one after both streams have ended.

    Raises
    ------
    RuntimeError
        When a tuple is not accepted.
    """
    sample, found = Sample(threads, tuples, span), []
    for number, (side, timestamp, _) in enumerate(tuples, 1):
        sample.deliver(side, timestamp)
        sample.turn(range(threads - 1))
        if number in looks:
            behind = f", and thread {threads - 1} is behind" if threads > 1 else ""
            found.append(sample.look(f"{number} tuples are delivered{behind}"))
        sample.turn([threads - 1])
    for stream in (R, S):
        sample.close(stream)
        sample.turn(range(threads))
    # Threads' steps at END release the last pairs.
    sample.turn(range(threads))
    return [*found, sample.look("both streams have ended")]


# --- chains of cores ------------------------------------------------------------------------------


def meet_in_chains(
    variants: Sequence[str] = JOINS[1:],
    cores: int = CORES,
    window: int = CHAIN_WINDOW,
    tuples: int = CHAIN_TUPLES,
    steps: int = STEPS,
    seed: int = SEED,
) -> list[ChainSnapshot]:
    """Insert R and S tuples, in turn, into chains of cores, and take snapshots.

    Parameters
    ----------
    variants : sequence of str
        Ids of handshake joins.
    cores : int
    window : int
        Tuples of each window.
    tuples : int
        Tuples of each stream.
    steps : int
        Steps of the driver and the cores together; 0 for snapshots at rest only.
    seed : int
        Seed of the order in which they step.

    Returns
    -------
    list of ChainSnapshot
        For each join one after `steps` steps, and one at rest.
    """
    found: list[ChainSnapshot] = []
    for variant in variants:
        found += chains.meet(variant, cores, window, tuples, steps, seed)
    return found


# --- short runs -----------------------------------------------------------------------------------


@cache
def made_up_streams() -> InMemory:
    """Return rows of R and S from a seed, in the form of the dataset of streams."""
    random = np.random.default_rng(1)
    x, a = random.integers(1, 10_001, (2, MADE_UP_ROWS), np.int32)
    y, b = (1 + 9_999 * random.random((2, MADE_UP_ROWS))).astype(np.float32)
    letters = random.integers(ord("a"), ord("z"), (MADE_UP_ROWS, 20), np.uint8, endpoint=True)
    r = {"x": x, "y": y, "z": letters.view("S20").ravel()}
    s = {"a": a, "b": b, "c": random.random(MADE_UP_ROWS), "d": a % 2 == 1}
    return InMemory("made-up streams", "streams", {"r": r, "s": s})


def compare_joins(
    variants: Sequence[str] = JOINS,
    threads: Sequence[int] = RUN_THREADS,
    window_s: float = WINDOW_S,
    density: int = DENSITY,
) -> list[JoinRun]:
    """Run each join with each number of processing threads, for an instant each.

    Parameters
    ----------
    variants : sequence of str
        Ids of variants.
    threads : sequence of int
    window_s : float
        Seconds of a window.
    density : int
        Tuples per second of R and of S.

    Returns
    -------
    list of JoinRun
        In the order in which they ran.
    """
    settings = {"window_s": window_s, "density": density, "purge": OPPOSITE, "dataset": _streams()}
    benches = [
        families.ready("theta_join", name, {**settings, "threads": count})
        for count in threads
        for name in variants
    ]
    found = []
    with isolation.alone():
        for bench in benches:
            seen = bench.run(Request(LIVE_SECONDS))
            counts = np.array(list((seen["thread_comparisons"] or {}).values()), dtype=float)
            found.append(
                JoinRun(
                    bench.variant.id,
                    bench.settings["threads"],
                    quantity("comparisons_ps").compute(seen) or 0.0,
                    tuple((counts / max(counts.sum(), 1)).tolist()),
                    seen["valid"],
                    bench.threads > pinning.cores(),
                )
            )
    return found


def _streams() -> Path | InMemory:
    """Return the dataset of streams, or made-up rows if there is none."""
    try:
        return dataset_path(None, "streams")
    except UsageError:
        return made_up_streams()
