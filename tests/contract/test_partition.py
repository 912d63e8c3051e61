"""The requirements on the worklist of every partitioned operator: the one suite.

Tuples of one partition are handed out one at a time, in the order in which they were added, each
once; a full worklist accepts nothing; no worker gets a tuple of a partition that another one holds.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import families
from experiments.timing.bench import Request
from operators.contract import ACCEPTED, FULL, READY, UsageError, Variant
from operators.core.jit import INTERPRETED
from operators.partition.reference import by_partition
from operators.partition.shape import PARTITIONS_OF_WORKERS
from operators.registry import variants
from tests import covering
from tests.contract.suite import Suite

SUITE = Suite("partition")


class Workers:
    """Workers of one worklist, each with the tuples that it holds and has not yet processed."""

    def __init__(self, variant: Variant, partitions: int, workers: int, capacity: int) -> None:
        self.operations = variant.operations
        self.state = self.operations.make_state(partitions, workers, capacity)
        self.has: dict[int, int] = {}
        self.done: dict[int, list[tuple[int, int]]] = {}

    def add(self, partition: int, word: int) -> int:
        return self.operations.add_input(self.state, partition, word)

    def ask(self, worker: int) -> bool:
        """Let a worker ask for a tuple; no other worker may hold its partition."""
        out = [0, 0, 0]
        if self.operations.next_input(self.state, worker, out) != READY:
            return False
        partition, serial, word = map(int, out)
        assert partition not in self.has.values()
        self.has[worker] = partition
        self.done.setdefault(partition, []).append((serial, word))
        return True

    def process(self, worker: int) -> None:
        del self.has[worker]
        self.operations.processed(self.state, worker)

    def finish(self, workers: int) -> None:
        """Go on until there is nothing left, and leave."""
        for worker in list(self.has):
            self.process(worker)
        asked = True
        while asked:
            asked = False
            for worker in range(workers):
                if self.ask(worker):
                    asked = True
                    self.process(worker)
        assert all(self.operations.leave(self.state, worker) for worker in range(workers))
        self.operations.check_invariants(self.state)


@SUITE.case()
def tuples_of_a_partition_come_in_the_order_of_arrival(variant: Variant):
    @given(
        st.lists(st.tuples(st.sampled_from(("add", "ask", "process")), st.integers(0, 2))),
        st.integers(1, 3),
        st.integers(2, 5),
    )
    def agree(steps, partitions, capacity):
        workers = Workers(variant, partitions, 3, capacity)
        added = []
        for step, number in steps:
            if step == "add":
                partition, word = number % partitions, 100 + len(added)
                if workers.add(partition, word) == ACCEPTED:
                    added.append((partition, word))
            elif step == "ask" and number not in workers.has:
                workers.ask(number)
            elif step == "process" and number in workers.has:
                workers.process(number)
        workers.finish(3)
        words = {p: [word for _, word in done] for p, done in workers.done.items()}
        assert words == by_partition(added)
        serials = {word: serial for done in workers.done.values() for serial, word in done}
        assert [serials[word] for _, word in added] == list(range(1, len(added) + 1))

    agree()


@SUITE.case()
def two_workers_share_two_partitions_and_not_one(variant: Variant):
    workers = Workers(variant, 2, 2, 8)
    for partition, word in ((0, 1), (1, 2), (0, 3)):
        workers.add(partition, word)
    assert workers.ask(0) and workers.ask(1)
    workers.process(0)
    workers.process(1)
    workers.finish(2)
    workers.add(0, 4)
    workers.add(0, 5)
    assert workers.ask(1)
    assert not workers.ask(0)
    workers.process(1)
    workers.finish(2)
    assert [word for _, word in workers.done[0]] == [1, 3, 4, 5]


@SUITE.case()
def a_full_worklist_takes_nothing_until_there_is_room(variant: Variant):
    workers = Workers(variant, 1, 1, 2)
    assert [workers.add(0, word) for word in range(3)] == [ACCEPTED, ACCEPTED, FULL]
    assert workers.ask(0)
    workers.process(0)
    assert [workers.add(0, word) for word in (2, 3)] == [ACCEPTED, FULL]
    workers.finish(1)
    assert workers.done[0] == [(1, 0), (2, 1), (3, 2)]


@SUITE.case()
def an_empty_worklist_gives_nothing(variant: Variant):
    workers = Workers(variant, 3, 2, 4)
    assert not workers.ask(0) and not workers.ask(1)
    workers.finish(2)


@SUITE.case()
def limits_are_named(variant: Variant):
    for name, given_value in (("partitions", 0), ("workers", 0), ("capacity", 1)):
        numbers = {"partitions": 1, "workers": 1, "capacity": 2, name: given_value}
        with pytest.raises(UsageError, match=f"{name} must be between .* received {given_value}"):
            variant.operations.make_state(**numbers)


@SUITE.case(lambda variant: "one queue of any capacity" if variant.id == "shared" else None)
def queues_that_take_too_much_memory_are_refused(variant: Variant):
    with pytest.raises(UsageError, match="are allowed; lower slots or partitions"):
        variant.operations.make_state(4096, 1, 1 << 20)


def in_threads(variant: Variant, total: int, **settings: Any) -> None:
    if PARTITIONS_OF_WORKERS in variant.parameters:
        settings["partitions"] = min(settings["partitions"], settings["workers"])
    bench = families.ready("partition", variant.id, settings)
    output = bench.measure(Request(1.0, tuples=total)).output
    assert output.problem is None, settings
    assert output.outputs == total


@SUITE.case()
def real_threads_process_as_a_serial_run_does(variant: Variant):
    total = 200 if INTERPRETED else 10_000
    # With two or three slots, threads pass one tuple at a time and wait for each other each time.
    few = total if INTERPRETED or covering.FULL else 1_000
    chance = random.Random(1)
    for sigma in (0, 0.1):
        for workers, partitions in ((1, 1), (1, 3), (2, 2), (2, 100), (3, 3), (8, 5)):
            slots = chance.choice((2, 3, 64, 1024))
            in_threads(variant, few if slots < 4 else total, workers=workers,
                       partitions=partitions, sigma=sigma, slots=slots, work_us=0.2)  # fmt: skip
    in_threads(variant, total, workers=2, partitions=4, work_us=0, reorder="lock-based")


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("partition")))
def test_contract(variant, case):
    case.body(variant)


def test_every_variant_has_a_case():
    assert SUITE.left_out(variants("partition")) == {}
