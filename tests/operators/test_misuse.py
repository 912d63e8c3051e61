"""Invalid arguments to a library's entry points: each refused in a line before anything runs.

A kernel checks no length and no type: wrong arguments would be read past an array, or truncated.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation.run import run_aggregation
from operators.core.jit import inlined
from operators.gate.run import run_gate
from operators.index.run import run_index
from operators.join.run import run_join as run_index_join
from operators.partition.run import run_partition
from operators.pipeline.declare import PARTITIONED, STATELESS, Operator, Pipeline
from operators.pipeline.run import run_pipeline
from operators.reorder.run import run_reorder
from operators.streamcloud.algebra import Input, Map, Query
from operators.streamcloud.run import run_streamcloud
from tests.operators.refusing import THREE, array, nothing_runs, refused

__all__ = ["nothing_runs"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"half_width": float("inf")}, "half_width must be a whole number, received inf"),
        ({"half_width": None}, "half_width must be a whole number, received None"),
        ({"window": float("inf")}, "window must be a whole number, received inf"),
        ({"r_times": THREE}, "times are those of each stream that is joined, or of none"),
        ({"s_times": THREE}, "times are those of each stream that is joined, or of none"),
        ({"s_keys": None, "s_times": THREE}, "times are those of each stream"),
        ({"window": 0, "span": 1 << 62, "r_times": THREE, "s_times": THREE}, "below 2**62, as ti"),
        ({"window": 0, "span": 5}, "a time window needs the times of each stream"),
        ({"r_keys": [0.5, 1, 2]}, "r_keys are whole numbers in a row, received float64"),
        ({"s_keys": [[1], [2, 3]]}, "s_keys are whole numbers, received rows of different length"),
        ({"r_keys": [1 << 70]}, "r_keys are whole numbers in a row, received object"),
    ],
)
def test_index_joins_that_are_none(given, told):
    named = {"r_keys": THREE, "s_keys": THREE, "half_width": 1, "window": 5, **given}
    refused(told, run_index_join, "pim-tree", **named)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"window": float("inf")}, "window must be a whole number, received inf"),
        ({"key_bits": [64]}, "key_bits must be a whole number, received [64]"),
        ({"key_bits": 16}, "keys have 32 or 64 bits, received 16"),
        ({"lows": [1, 2]}, "there are 3 keys, 2 lows and 3 highs"),
        ({"highs": [1.0, 2.0, 3.0]}, "highs are whole numbers in a row, received float64"),
    ],
)
def test_indexes_that_are_none(given, told):
    named = {"keys": THREE, "lows": THREE, "highs": THREE, "window": 3, **given}
    refused(told, run_index, "b-plus-tree", **named)


@pytest.mark.parametrize(
    ("streams", "told"),
    [
        (None, "streams are a sequence of streams, received NoneType"),
        (5, "streams are a sequence of streams, received int"),
        ("ab", "streams are a sequence of streams, received str"),
        ({"a": [1]}, "streams are a sequence of streams, received dict"),
        ([], "sources must be at least 1, received 0"),
        (THREE, "timestamps of stream 0 are whole numbers in a row, received int64 of shape ()"),
        ([[0.5]], "timestamps of stream 0 are whole numbers in a row, received float64"),
        ([[1], [[1], [2, 3]]], "timestamps of stream 1 are whole numbers, received rows of"),
    ],
)
def test_gates_of_no_streams(streams, told):
    refused(told, run_gate, "t-gate", streams)


@pytest.mark.parametrize(
    ("streams", "given", "told"),
    [
        (None, {}, "streams are a sequence of streams, received NoneType"),
        ([], {}, "there is no stream"),
        ([5], {}, "stream 0 is timestamps, keys and values, received int"),
        (["abc"], {}, "stream 0 is timestamps, keys and values, received str"),
        ([([0], [0])], {}, "stream 0 is timestamps, keys and values, received 2 arrays"),
        ([([0], [0, 1], [1])], {}, "stream 0 has 1 timestamps and 2 keys"),
        ([([0], [0], [0.5])], {}, "values of stream 0 are whole numbers in a row"),
        ([([0], [0], ["x"])], {}, "values of stream 0 are whole numbers in a row"),
        ([([0], [0], [1])], {"function": "count-mail"}, "reads texts in a row as values of st"),
        ([([0], [0], ["\udc80"])], {"function": "count-mail"}, "half of a pair of surrogates"),
        ([([0], [0], [1])], {"window_size": float("inf")}, "window size must be a whole number"),
    ],
)
def test_aggregates_that_are_none(streams, given, told):
    named = {"function": "sum", "window_size": 5, "window_advance": 5, **given}
    refused(told, run_aggregation, "tumlsc", streams, **named)


def same(word):
    return word


def total(state, word):
    state[0] += word
    return state[0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"function": total}, "a function of words takes 1 argument, received total(state, word)"),
        ({"function": None}, "a function of words is a function with a name, in a file"),
        ({"words": None}, "words are whole numbers in a row, received object"),
        ({"workers": float("inf")}, "workers must be a whole number, received inf"),
        ({"stall_seconds": "x"}, "stall_seconds is a number of seconds above 0, received 'x'"),
        ({"stall_seconds": float("nan")}, "is a number of seconds above 0, received nan"),
    ],
)
def test_maps_that_are_none(given, told):
    named = {"function": same, "words": THREE, **given}
    refused(told, run_reorder, "non-blocking", **named)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"function": same}, "a function of a state and words takes 2 arguments, received same(wo"),
        ({"keys": [1]}, "there are 1 keys and 3 words; give as many of each"),
        ({"state_words": float("inf")}, "state_words must be a whole number, received inf"),
        ({"reorder": "x"}, "unknown variant 'x' of family 'reorder'"),
        ({"stall_seconds": True}, "is a number of seconds above 0, received True"),
    ],
)
def test_partitioned_operators_that_are_none(given, told):
    named = {"function": total, "keys": THREE, "words": THREE, **given}
    refused(told, run_partition, "hybrid", **named)


# --- pipelines ------------------------------------------------------------------------------------


@inlined
def passed_on(record, state, out):
    out[0] = record[0]
    return 1


@inlined
def key_of(record):
    return record[0]


ONE = Operator("one", STATELESS, passed_on, outputs=1)
BY_KEY = ONE._replace(kind=PARTITIONED, key=key_of, keys=2)


@pytest.mark.parametrize(
    ("operator", "told"),
    [
        (None, "an operator of pipeline p is an Operator, received None"),
        (ONE._replace(kind=0.0), "has kind 0.0; kinds are stateless"),
        (ONE._replace(outputs=1.0), "outputs must be between 1 and 256, received 1.0"),
        (ONE._replace(most=True), "most must be between 1 and 16384, received True"),
        (BY_KEY._replace(keys=2.5), "keys must be between 1 and"),
        (ONE._replace(process=None), "process is an inlined function, received None"),
        (ONE._replace(process=key_of), "process takes 3 arguments, received key_of(record)"),
        (BY_KEY._replace(key=passed_on), "key takes 1 argument, received passed_on(record, state"),
        (BY_KEY._replace(flush=key_of), "flush takes 3 arguments, received key_of(record)"),
        (
            ONE._replace(lookup=array(0.5, kind=float)),
            "lookup are whole numbers in a row, received",
        ),
        (ONE._replace(lookup=np.zeros((2, 2), int)), "lookup are whole numbers in a row, received"),
        (
            BY_KEY._replace(row_starts=array(0, 0.5, 2, kind=float)),
            "row_starts are whole numbers in a row, received float64 of shape (3,)",
        ),
    ],
)
def test_operators_that_are_none(operator, told):
    refused(told, run_pipeline, Pipeline("p", 1, (operator,)), [[1]])


@pytest.mark.parametrize(
    ("pipeline", "given", "told"),
    [
        (None, {}, "a pipeline is a Pipeline, received NoneType"),
        (Pipeline("p", "1", (ONE,)), {}, "pipeline p takes records of '1' words; give 1 to 256"),
        (Pipeline("p", 1, None), {}, "pipeline p has no operators"),
        (Pipeline("p", 1, (ONE,)), {"most_outputs": 0.5}, "most_outputs must be a whole number"),
        (Pipeline("p", 1, (ONE,)), {"most_outputs": -1}, "most_outputs must be between 0 and"),
        (Pipeline("p", 1, (ONE,)), {"most_outputs": 1 << 62}, "most_outputs must be between 0 and"),
        (Pipeline("p", 1, (ONE,)), {"stall_seconds": -1}, "seconds above 0, received -1"),
    ],
)
def test_pipelines_that_are_none(pipeline, given, told):
    refused(told, run_pipeline, pipeline, [[1]], **given)


# --- queries on instances -------------------------------------------------------------------------

QUERY = Query("q", Map("m", Input("calls", {"n": "int64"}), {"n": "n"}))


@pytest.mark.parametrize(
    ("query", "inputs", "told"),
    [
        (None, {}, "a query is a Query, the path of a YAML file, or the mapping"),
        (QUERY, None, "q: inputs are streams by name, received NoneType"),
        (QUERY, {}, "q: nothing is given for the input calls"),
        (QUERY, {"call": {}}, 'q: no input "call" (calls); did you mean "calls"?'),
        (QUERY, {"calls": 5}, "calls: give arrays by column, or a Parquet file; received int"),
        (QUERY, {"calls": {"ts": [0]}}, 'calls: stream 0: no column "n"'),
        (QUERY, {"calls": {"ts": [0], "n": [0.5]}}, "column n: must be whole numbers in a row"),
        (QUERY, {"calls": {"ts": [0, 1], "n": [1]}}, "column n has 1 values, and ts has 2"),
        (QUERY, {"calls": {"ts": [0], "n": [[1], [2, 3]]}}, "column n: must be values in a row"),
        (QUERY, {"calls": {"ts": [1, 0], "n": [1, 1]}}, "a stream is in the order of time"),
    ],
)
def test_queries_that_are_none(query, inputs, told):
    refused(told, run_streamcloud, query, inputs)
