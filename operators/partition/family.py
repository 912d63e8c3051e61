"""The family of worklists of a partitioned operator: what each provides, and what a bench takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators import registry
from operators.contract import Family, Parameter

MOST_WORKERS = 64
MOST_PARTITIONS = 4096
MOST_SLOTS = 1 << 20
# A worker was given a tuple whose output had no slot: the producer went too far ahead.
NO_OUTPUT_SLOT = -7


class PartitionOperations(NamedTuple):
    """What the worklist of a partitioned stateful operator provides.

    ``make_state(partitions, workers, capacity)`` returns a NamedTuple of arrays; at most `capacity`
    tuples wait in each of its queues.

    ``add_input(state, partition, word)`` adds a tuple under the next serial number, from 1 on:
    ACCEPTED or FULL. One thread at a time makes these calls, unless the variant takes more.

    ``next_input(state, worker, out)`` gives a worker a tuple to process: READY (``out`` has its
    partition, serial number and word) or NOT_READY: there is none for this worker now. A worker
    says ``processed(state, worker)`` before it asks for the next one. So the tuples of a partition
    are processed one at a time, in the order in which they were added, whoever processes them.

    ``leave(state, worker)`` is said by a worker that asks for no more, when it has processed what
    it was given: it answers True when it left. As long as it answers False others have given it
    tuples to process, and it goes on.

    ``waiting(state)`` says how many tuples were added and not yet given out, a moment ago.

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
        Parameter("slots", 1024, 2, MOST_SLOTS, "tuples", "tuples under way"),
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
