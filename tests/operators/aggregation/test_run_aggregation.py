"""``run_aggregation`` over arrays: exact windows from every aggregate, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.aggregation.family import refusal
from operators.aggregation.functions import CODES, TEXT
from operators.aggregation.plan import make_plan
from operators.aggregation.reference import rows_of
from operators.aggregation.run import run_aggregation
from operators.contract import UsageError
from operators.gate.reference import merged
from tests.covering import compiled_few, interpreted_is_enough
from tests.sorted_streams import KINDS, sorted_streams

AGGREGATES = [variant.id for variant in registry.variants("aggregation")]
SIZE, ADVANCE = 30, 12
MAILS = ("write to ann@example.org", "no address", "10.0.0.1 is one", "bob@mail.example.com", "")
STREAM = ([1, 2], [7, 7], [5, 6])


def filled(kind: str, function: str) -> list[tuple[np.ndarray, np.ndarray, list]]:
    """Return streams with sparse keys and values whose sums need more than 64 bits."""
    random = np.random.default_rng(3)
    streams = []
    for times in sorted_streams(kind):
        keys = random.choice([-(1 << 40), -1, 0, 3, 1 << 50], len(times))
        values = random.integers(-(1 << 55), 1 << 55, len(times))
        if function in TEXT:
            values = [MAILS[place] for place in random.integers(0, len(MAILS), len(times))]
        streams.append((times, keys, values))
    return streams


def wanted_of(streams: list[tuple], function: str) -> list[tuple]:
    """Return (window, key, value) of every row by the definition."""
    labels = sorted({int(key) for _, keys, _ in streams for key in keys})
    values = [value for _, _, stream in streams for value in stream]
    first = np.cumsum([0, *(len(times) for times, _, _ in streams)])
    tuples = merged(
        [
            [
                (int(time), labels.index(int(key)), int(begin) + row)
                for row, (time, key) in enumerate(zip(times, keys, strict=True))
            ]
            for begin, (times, keys, _) in zip(first, streams, strict=False)
        ]
    )
    numbers = range(len(values)) if function in TEXT else [int(value) for value in values]
    texts = [each.encode() for each in values] if function in TEXT else ()
    plan = make_plan(function, SIZE, ADVANCE, keys=max(len(labels), 1))
    rows = rows_of(plan, [(one.timestamp, one.key, numbers[one.value]) for one in tuples], texts)
    found = []
    for start, key, a, b, n in rows:
        value = (b << 32) + a
        if function == "avg":
            value /= n
        elif function in ("first-mail", "first-mail-ip"):
            value = values[a]
        found.append((start, labels[key], value))
    return found


def run(variant: str, streams: list[tuple], function: str, **parameters) -> list[tuple]:
    found = run_aggregation(
        variant, streams, function=function, window_size=SIZE, window_advance=ADVANCE, **parameters
    )
    return list(zip(*(column.tolist() for column in found), strict=True))


@pytest.mark.parametrize("aggregate", compiled_few(AGGREGATES, ["mq"]))
def test_windows_are_those_of_the_definition(aggregate):
    for kind in KINDS:
        streams = filled(kind, "sum")
        assert run(aggregate, streams, "sum") == wanted_of(streams, "sum"), kind


@interpreted_is_enough
@pytest.mark.parametrize("function", sorted(set(CODES) - {"sum"}))
def test_every_function_gives_its_value(function):
    streams = filled("random", function)
    wanted = wanted_of(streams, function)
    assert wanted
    for aggregate in ("mq", "tumlmc", "wiml"):
        if refusal(registry.variant("aggregation", aggregate), function) is None:
            assert run(aggregate, streams, function) == wanted, aggregate


@interpreted_is_enough
def test_first_takes_texts_and_any_number_of_threads_updates():
    streams = [(times, keys, [f"é{row}" for row in range(len(times))])
               for times, keys, _ in filled("tied", "first")]  # fmt: skip
    numbers = [(times, keys, np.arange(len(times))) for times, keys, _ in streams]
    wanted = [(start, key, f"é{value}") for start, key, value in run("mq", numbers, "first")]
    for threads in (1, 3):
        assert run("tumlmc", streams, "first", update_threads=threads) == wanted


@interpreted_is_enough
def test_rows_beyond_the_buffer_come_out_whole(monkeypatch):
    streams = filled("random", "sum")
    wanted = run("mq", streams, "sum")
    monkeypatch.setattr("operators.aggregation.run.ROWS_A_BLOCK", 5)
    assert run("mq", streams, "sum") == wanted


@pytest.mark.parametrize(
    ("streams", "given", "says"),
    [
        ([STREAM], {"variant": "no"}, "unknown variant 'no'"),
        ([], {}, "there is no stream"),
        ([STREAM[:2]], {}, "stream 0 is timestamps, keys and values, received 2 arrays"),
        ([STREAM, ([2, 1], [1, 1], [1, 1])], {}, "timestamps of stream 1 must not fall"),
        ([([1], [0.5], [1])], {}, "keys of stream 0 are whole numbers"),
        ([([1], [1], ["a"])], {}, "values of stream 0 are whole numbers in a row, received <U1"),
        ([([1, 2], [1], [1, 1])], {}, "stream 0 has 2 timestamps and 1 keys"),
        ([([1, 2], [1, 1], [1])], {}, "stream 0 has 2 timestamps and 1 values"),
        ([STREAM], {"function": "median"}, "unknown function 'median'"),
        ([STREAM], {"function": "first-mail"}, "first-mail reads texts in a row .* received 5"),
        ([STREAM, ([1], [1], ["a"])], {"function": "first"}, "some streams have numbers as val"),
        ([STREAM], {"window_advance": 0}, "window advance must be at least 1"),
        ([STREAM], {"variant": "wiml", "function": "first"}, "wiml does not take first"),
        ([STREAM], {"update_threads": 2}, "aggregation mq has no parameter 'update_threads'"),
    ],
)
def test_what_is_no_aggregate_is_refused(streams, given, says):
    asked = {"variant": "mq", "streams": streams, "function": "sum"}
    asked |= {"window_size": 5, "window_advance": 5, **given}
    with pytest.raises(UsageError, match=says):
        run_aggregation(**asked)


def test_a_sum_of_more_than_64_bits_is_refused():
    most = (1 << 63) - 1
    for values in ([most, 1], [-most, -2]):
        says = f"window 0, key 7: sum {sum(values)} does not fit 64 bits"
        with pytest.raises(UsageError, match=says):
            run("mq", [([1, 2], [7, 7], values)], "sum")
    for values in ([most - 5, 5], [-most, -1], [most, -most - 1]):
        assert run("mq", [([1, 2], [7, 7], values)], "sum") == [(0, 7, sum(values))]
