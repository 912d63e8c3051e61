"""The paper's ideas at work on a few tuples, for a notebook: plans, mergers, a grid, short runs.

``plans_of`` compiles as the command does. ``windows``, ``partner``, ``silent_sender`` and ``grids``
run the measured instances, mergers and balancers, one step at a time. ``compare_strategies`` runs
plans compiled and on threads, as a bench does, only much shorter; ``losses`` runs them on one
thread, where the delay of each row is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from datasets.in_memory import InMemory
from experiments import families
from experiments.dataset_of import dataset_path
from experiments.streamcloud import merging, plans
from experiments.streamcloud.merging import Arrival
from experiments.streamcloud.snapshots import (
    GridSnapshot,
    Lost,
    MergerSteps,
    PlanDrawn,
    QueryDrawn,
    StrategyRun,
)
from experiments.timing import isolation
from experiments.timing.bench import Request
from operators.contract import UsageError
from operators.running import pinning
from operators.streamcloud.carriers import serial
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.compiler import Instances, compile_query
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import (
    BEST_EFFORT,
    MERGERS,
    STRATEGIES,
    SUBQUERY_CLUSTER,
    TRANSPARENT,
)
from operators.streamcloud.rows import Row

QUERY, JOIN = "calls-by-duration", "join"
# The paper's sample of its Cartesian product: figures 4 and 5. The second value is the time.
SPAN = 3
# ASSUME: figure 4 is not in the text. With these times every tuple leaves its window when the text
# says so, and (1, B) is a pair: 0 at C, A at 2, 1 at D.
SAMPLE = (("0", 0), ("A", 1), ("1", 2), ("B", 3), ("C", 4), ("2", 5), ("D", 6), ("3", 7))
# ASSUME: the text has 1 and 2, and D and B, come from different senders, and names the order.
AT_CP3 = (("1", 2, 1), ("2", 5, 0), ("D", 6, 1), ("B", 3, 0))
SILENT_TUPLES = 6
GRIDS, GRID_TUPLES = (4, 6, 7), 12
RUN_INSTANCES, LIVE_SECONDS, DENSITY = (1, 2), 0.1, 100
# Made-up calls: how many, calls per second, callers, districts.
MADE_UP_CALLS, CALLS_A_SECOND, CALLERS, DISTRICTS = 1 << 16, 20, 2_000, 243
CALLS_AN_ANNOUNCEMENT = 10
# Streams per input: a tuple is lost only after a later one of its side.
LOST_CALLS, LOST_BLOB, STREAMS, SEED = 1 << 14, 128, 2, 1
BEHIND = (0, 1, 2, 4, 8, 16)


def query_of(asked: plans.Asked = QUERY) -> QueryDrawn:
    """Return a query in the form for pictures; see `plans.drawn_query`."""
    return plans.drawn_query(asked)


def plans_of(
    asked: plans.Asked = QUERY,
    instances: Instances = 2,
    strategies: Iterable[str] = STRATEGIES,
) -> list[PlanDrawn]:
    """Return the plans of a query in the form for pictures; see `plans.drawn_plans`."""
    return plans.drawn_plans(asked, instances, strategies)


# --- step by step ---------------------------------------------------------------------------------


def windows(tuples: Sequence[tuple[str, int]] = SAMPLE, span: int = SPAN) -> list[MergerSteps]:
    """Give tuples to one instance of the product in the order of time: the paper's figure 5.

    Parameters
    ----------
    tuples : sequence of (str, int)
        Numbers and letters, each with a time.
    span : int
        The most by which the times of a pair may differ.

    Returns
    -------
    list of MergerSteps
        A single one.
    """
    arrivals = [Arrival(*each) for each in tuples]
    return [
        merging.product_steps("One instance, in the order of time", arrivals, span, TRANSPARENT)
    ]


def partner(
    arrivals: Sequence[tuple[str, int, int]] = AT_CP3,
    span: int = SPAN,
    mergers: Sequence[str] = (BEST_EFFORT, TRANSPARENT),
) -> list[MergerSteps]:
    """Give tuples to an instance of the product in arrival order, with each kind of merger.

    Parameters
    ----------
    arrivals : sequence of (str, int, int)
        Numbers and letters, each with time and sender, in the order of arrival; for each sender in
        the order of time.
    span : int
    mergers : sequence of str

    Returns
    -------
    list of MergerSteps
        One per merger; each lists the missing output.
    """
    came = [Arrival(*each) for each in arrivals]
    in_order = [each._replace(sender=0) for each in sorted(came, key=lambda each: each.time)]
    one = merging.product_steps("", in_order, span, TRANSPARENT)
    wanted = [name for step in one.steps for name in step.made]
    return [
        merging.product_steps(f"{each.capitalize()} mergers", came, span, each, wanted)
        for each in mergers
    ]


def silent_sender(tuples: int = SILENT_TUPLES) -> list[MergerSteps]:
    """Let one of two senders have nothing to send: with rows that carry progress, and without."""
    return [
        merging.silent_steps("With empty rows, which bring progress", tuples, progress=True),
        merging.silent_steps("Without them", tuples, progress=False),
    ]


def grids(instances: Sequence[int] = GRIDS, tuples: int = GRID_TUPLES) -> list[GridSnapshot]:
    """Compare all numbers with all letters, on grids of the given numbers of instances."""
    return [merging.grid(each, tuples) for each in instances]


# --- short runs -----------------------------------------------------------------------------------


@cache
def made_up_calls() -> InMemory:
    """Return call records and announcements from a seed, in the form of the dataset of calls."""
    random = np.random.default_rng(SEED)
    count = MADE_UP_CALLS
    emitted = np.arange(count) // CALLS_A_SECOND
    duration = random.integers(1, 1_200, count)
    caller, called = random.integers(0, CALLERS, (2, count))
    calls = {
        "emitted": emitted,
        "caller": caller,
        "called": called,
        "start": np.maximum(emitted - duration, 0),
        "duration": duration,
        "district": random.integers(0, DISTRICTS, count),
        "x": random.integers(0, 1_000, count),
        "y": random.integers(0, 1_000, count),
    }
    announced = slice(None, None, CALLS_AN_ANNOUNCEMENT)
    suspects = {"ts": emitted[announced], "number": random.permutation(caller[announced])}
    return InMemory("made-up calls", "calls", {"calls": calls, "suspects": suspects})


def compare_strategies(
    query: str = QUERY,
    strategies: Sequence[str] = STRATEGIES,
    instances: Sequence[int] = RUN_INSTANCES,
) -> list[StrategyRun]:
    """Run a query by each strategy with each number of instances, for an instant each.

    Parameters
    ----------
    query : str
        The id of a query of the evaluation.
    strategies : sequence of str
    instances : sequence of int
        Instances of each stage.

    Returns
    -------
    list of StrategyRun
        In the order in which they ran.
    """
    settings = {"query": query, "density": DENSITY, "dataset": _calls()}
    benches = [
        families.ready("streamcloud", name, {**settings, "instances": count})
        for count in instances
        for name in strategies
    ]
    found = []
    with isolation.alone():
        for bench in benches:
            seen = bench.run(Request(LIVE_SECONDS))
            place = (bench.variant.id, bench.settings["instances"])
            oversubscribed = bench.threads > pinning.cores()
            found.append(StrategyRun(*place, seen["throughput_tps"], seen["valid"], oversubscribed))
    return found


def _calls() -> Path | InMemory:
    """Return the dataset of calls, or made-up calls if there is none."""
    try:
        return dataset_path(None, "calls")
    except UsageError:
        return made_up_calls()


def losses(
    behind: Sequence[int] = BEHIND,
    instances: int = 2,
    mergers: Sequence[str] = MERGERS,
    query: str = JOIN,
) -> list[Lost]:
    """Run a query on rows that come late, and count the missing output.

    Parameters
    ----------
    behind : sequence of int
        Maximum number of a sender's rows by which a step of an instance may lag; the lag of each
        step is random.
    instances : int
        Instances of each stage.
    mergers : sequence of str
    query : str
        The id of a query of calls, with one output.

    Returns
    -------
    list of Lost
        One per merger and lag.
    """
    asked = plans.query(query)
    tables = {name: made_up_calls().table(name) for name in ("calls", "suspects")}
    last = tables["calls"]["emitted"][LOST_CALLS]
    given = {}
    for node in asked.inputs:
        table = tables["suspects" if node.name == "suspects" else "calls"]
        early = int(np.searchsorted(table[node.time], last))
        given[node.name] = [
            {name: column[turn:early:STREAMS] for name, column in table.items()}
            for turn in range(STREAMS)
        ]
    streams, coding = encode_inputs(asked, given)
    counts = dict.fromkeys(given, STREAMS)

    def rows(count: int, merger: str, late: int) -> Counter:
        plan = compile_query(asked, SUBQUERY_CLUSTER, count, merger, counts)
        parts = Parts(plan, streams, coding, LOST_BLOB)
        parts.compile()
        serial.run(parts, _late_by(late))
        (output,) = parts.outputs().values()
        return Counter(zip(*(column.tolist() for column in output.values()), strict=True))

    wanted = rows(1, TRANSPARENT, 0)
    found = []
    for merger in mergers:
        for late in behind:
            came = rows(instances, merger, late)
            missing, other = (wanted - came).total(), (came - wanted).total()
            found.append(Lost(merger, late, wanted.total(), missing, other))
    return found


def _late_by(most: int) -> Callable[[Sequence[Row]], Sequence[Sequence[Row]]]:
    """Return a batching that holds back a random number of the latest rows of each sender."""
    random = np.random.default_rng(SEED)

    def batching(waiting: Sequence[Row]) -> Sequence[Sequence[Row]]:
        own: dict[tuple[int, int], list[Row]] = {}
        for row in waiting:
            own.setdefault((row.side, row.sender), []).append(row)
        taken = [
            row
            for rows in own.values()
            for row in rows[: max(len(rows) - int(random.integers(most + 1)), 0)]
        ]
        return [taken] if taken else []

    return batching
