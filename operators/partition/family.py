"""The family of worklists of a partitioned operator: operations, and settings of a bench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators import registry
from operators.contract import Family, Parameter

MOST_WORKERS = 64
MOST_PARTITIONS = 4096
MOST_SLOTS = 1 << 20
# The output of a worker's tuple had no slot: the producer went too far ahead.
NO_OUTPUT_SLOT = -7


class PartitionOperations(NamedTuple):
    """The operations of the worklist of a partitioned stateful operator.

    ``make_state(partitions, workers, capacity)`` returns a NamedTuple of arrays; each of the
    bounded queues holds at most `capacity` tuples.

    ``add_input(state, partition, word)`` adds a tuple under the next serial number, from 1 on:
    ACCEPTED or FULL. Only one thread at a time may call it, unless the variant allows more.

    ``next_input(state, worker, out)`` gives a worker a tuple to process: READY (``out`` has
    partition, serial number and word) or NOT_READY: there is none for this worker now. A worker
    calls ``processed(state, worker)`` before it asks for the next tuple. So the tuples of a
    partition are processed one at a time, in the order of arrival, by whichever workers.

    ``leave(state, worker)`` is called by a worker that has processed the last tuple and asks for no
    more: it returns True when the worker has left. If False, other workers have delegated tuples to
    this worker, and it must go on.

    ``waiting(state)`` returns how many tuples were added and not yet given out, at a recent moment.

    ``check_invariants(state)`` is plain Python over a worklist at rest and raises AssertionError.
    """

    make_state: Callable[..., Any]
    add_input: Callable[..., int]
    next_input: Callable[..., int]
    processed: Callable[..., None]
    leave: Callable[..., bool]
    waiting: Callable[..., int]
    check_invariants: Callable[..., None]


FAMILY = Family(
    id="partition",
    title="tuples of one partition in order, those of others beside them",
    operations=PartitionOperations,
    settings=(
        Parameter("workers", 2, 1, MOST_WORKERS, "", "threads that process"),
        Parameter("sigma", 0.0, 0, 100, "", "of the normal keys; 0 for uniform ones", decimals=3),
        Parameter("work_us", 10.0, 0, 1_000_000, "us", "work a tuple", decimals=3),
        Parameter("slots", 1024, 2, MOST_SLOTS, "tuples", "tuples in flight"),
        Parameter(
            "reorder",
            "non-blocking",
            meaning="how outputs are put in order",
            choices=tuple(each.id for each in registry.declared_in("reorder")),
        ),
        Parameter("seed", 1, 1, 1 << 31, "", "of the keys"),
    ),
    failures={NO_OUTPUT_SLOT: "an output had no slot in the reorder buffer"},
)
