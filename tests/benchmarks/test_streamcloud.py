"""Overhead of an instance over the operator: nanoseconds a tuple of one thread's processor time.

* *bare*: the operator by itself, on the batches of a source;
* *elided*: an instance of it, on rows of one sender, for one receiver: nothing to merge or split;
* *merged, balanced*: on rows of two senders a side, for two receivers, by hash of a column.

Every run of the tests uses the tiny size. For the real size, with the numbers printed, run::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_streamcloud.py

The output of the bare operator is compared with the others, after the clock has stopped.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
import pytest

from experiments.families.streamcloud.streams import bench_query
from operators.core.jit import INTERPRETED
from operators.streamcloud.algebra import Query
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance
from operators.streamcloud.kernels import operator_of
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import OPERATOR_CLUSTER, TRANSPARENT
from operators.streamcloud.queries import QUERIES
from operators.streamcloud.rows import END, Row
from operators.streamcloud.yaml_form import read_query, to_mapping

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real" and not INTERPRETED
TUPLES = 400_000 if REAL else 600
BLOB = 4_096 if REAL else 64
REPETITIONS = 5 if REAL else 1
# Calls per second, of one stream; a join's window is full of few, an aggregate's of many.
DENSITY = {"map": 1, "aggregate": 1_000, "join": 50}
# The column by which the output is split among two receivers.
SPLIT_BY = {"map": "minutes", "aggregate": "district", "join": "caller"}


def balanced(name: str) -> Query:
    """Return a query followed by an aggregate by a column, so that the query's output is split."""
    mapping = to_mapping(bench_query(QUERIES[name], DENSITY[name], 0))
    (operator,) = mapping["operators"]
    column = SPLIT_BY[name]
    behind = {
        "input": operator, "group_by": [column], "window": {"time": 1_000, "advance": 1_000},
        "columns": {"rows": "count()"},
    }  # fmt: skip
    mapping["operators"]["behind"] = {"aggregate": behind}
    mapping["outputs"] = ["behind"]
    return read_query(mapping)


def calls(query: Query, streams: int) -> dict[str, list[dict[str, np.ndarray]]]:
    """Return calls, one for each tick, distributed in turns over the streams of each input."""
    random = np.random.default_rng(3)
    ranks = np.arange(TUPLES)
    most = {"caller": 20_000, "called": 20_000, "duration": 400, "district": 243}
    whole = {
        name: ranks if name == node.time else random.integers(1, most.get(name, 100_000), TUPLES)
        for node in query.inputs
        for name in (node.time, *node.schema.names[1:])
    }
    dealt = [{name: column[at::streams] for name, column in whole.items()} for at in range(streams)]
    return {node.name: dealt for node in query.inputs}


def first_instance(query: Query, streams: int, behind: int) -> tuple[Instance, list[list[Row]]]:
    """Return the instance of the first stage, and the rows of each step."""
    words, coding = encode_inputs(query, calls(query, streams))
    first, *others = (stage.name for stage in compile_query(query, OPERATOR_CLUSTER, 1).stages)
    instances = {first: 1, **dict.fromkeys(others, behind)}
    plan = compile_query(
        query, OPERATOR_CLUSTER, instances, TRANSPARENT, dict.fromkeys(words, streams)
    )
    # A step has as many tuples of two streams as of one.
    parts = Parts(plan, words, coding, BLOB // streams)
    parts.compile()
    senders, steps = len(parts.senders_to(0)), [[]]
    while sent := parts.next_blob():
        steps[-1] += [row for to, row in sent if to == 0]
        if len(steps[-1]) == senders:
            steps.append([])
    return parts.instances[0][0], steps


def instance_ns(query: Query, streams: int = 1, behind: int = 1) -> tuple[float, int]:
    """Return an instance's time for a tuple, and the number of output tuples."""
    instance, steps = first_instance(query, streams, behind)
    began_ns = time.thread_time_ns()
    for rows in steps:
        instance.step(rows)
    taken_ns = time.thread_time_ns() - began_ns
    assert instance.closed
    return taken_ns / instance.work.tuples_in, instance.work.tuples_out


def bare_ns(query: Query) -> tuple[float, int]:
    """Return the bare operator's time for a tuple, and the number of output tuples."""
    _, steps = first_instance(query, 1, 1)
    (node,) = query.operators
    operator = operator_of(node, {}, True)
    work = []
    for rows in steps:
        batches = [row.batch for row in sorted(rows, key=lambda row: row.side)]
        if batches:  # after the last step there is an empty one
            work.append((batches, min(row.progress for row in rows)))
    tuples, found = sum(each.shape[1] for batches, _ in work for each in batches), 0
    began_ns = time.thread_time_ns()
    for batches, floor in work:
        outputs, _ = operator.process(batches, floor)
        found += outputs[0].shape[1]
    taken_ns = time.thread_time_ns() - began_ns
    assert work[-1][1] == END
    return taken_ns / tuples, found


@pytest.mark.parametrize("name", DENSITY)
def test_an_instance_beside_its_operator(name):
    alone = bench_query(QUERIES[name], DENSITY[name], 0)
    ways = {
        "bare": lambda: bare_ns(alone),
        "elided": lambda: instance_ns(alone),
        "merged, balanced": lambda: instance_ns(balanced(name), 2, 2),
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(REPETITIONS):
        found = set()
        for way, measure in ways.items():
            ns, rows = measure()
            taken[way].append(ns)
            found.add(rows)
        assert len(found) == 1 and found != {0}
    if REAL:
        middle = {way: statistics.median(each) for way, each in taken.items()}
        told = [
            f"{way} {ns:.1f} ns ({middle['bare'] / ns:.2f} of bare)" for way, ns in middle.items()
        ]
        print(f"\n{name}: {', '.join(told)}")
