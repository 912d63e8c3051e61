"""``millrace replay``: the rows against the definition, on small files of many kinds.

The expected rows are computed here, from the texts of the files and in fractions, without any of
the operators: a window [l * advance, l * advance + size) has a row for each key with a tuple in it.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from operators import registry
from operators.core.jit import INTERPRETED
from tests.covering import interpreted_is_enough, taken

# All are driven by one loop, three seconds each to compile. Each run of the tests compiles it for
# updates by the output thread, by separate threads, and by input threads, and for merged private
# panes. Interpreted, the paper's other variants are tested as well.
COMPILED, OTHERS = ("tumlsc", "tumlmc", "wiml", "private-panes"), ("mq", "mqlf")
VARIANTS = taken(
    (variant.id for variant in registry.variants("aggregation")),
    (*COMPILED, *(OTHERS if INTERPRETED else ())),
)
FUNCTIONS = ("count", "sum", "avg", "min", "max", "first")
MAIL = re.compile(rb"[A-Za-z0-9._%+-]@([A-Za-z0-9-]+\.)+[A-Za-z]{2}")
OCTET = rb"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = re.compile(rb"(?<![0-9.])" + rb"\.".join([OCTET] * 4) + rb"(?![0-9]|\.[0-9])")


def takes(variant, function):
    return function in registry.variant("aggregation", variant).operations.functions


def write_csv(path, header, rows):
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def replay(
    tmp_path, inputs, *options, variant="tumlsc", function="count", windows=(3, 2), name="out"
):
    """Run the command and return the output as a table."""
    output = tmp_path / f"{name}.parquet"
    argv = ["replay", "aggregation", variant, "--input", *map(str, inputs), "--time", "ts"]
    argv += ["--function", function, "--output", str(output)]
    argv += ["--window-size", str(windows[0]), "--window-advance", str(windows[1]), *options]
    assert main(argv) == 0
    return pq.read_table(output)


def expected(streams, function, size, advance, texts=False):
    """Return the rows of (time, key, value or text) streams, by the definition."""
    total_order = sorted(
        (row[0], stream, position, *row[1:])
        for stream, rows in enumerate(streams)
        for position, row in enumerate(rows)
    )
    windows = {}
    for time, _, _, key, value in total_order:
        for window in range(max(0, -(-(time - size + 1) // advance)), time // advance + 1):
            windows.setdefault((window * advance, key), []).append(value)
    rows = []
    order = sorted(windows, key=lambda w: (w[0], w[1].encode() if isinstance(w[1], str) else w[1]))
    for start, key in order:
        value = finished(function, windows[start, key], texts)
        if value is not None:
            rows.append((start, key, value))
    return rows


def finished(function, values, texts):
    if function == "count":
        return len(values)
    if function.startswith(("count-mail", "first-mail")):
        also_ip = function.endswith("ip")
        found = [
            v for v in values if MAIL.search(v.encode()) or also_ip and IPV4.search(v.encode())
        ]
        return len(found) if function.startswith("count") else next(iter(found), None)
    if texts:
        return values[0]
    exact = [Fraction(value) for value in values]
    computed = {
        "sum": sum(exact),
        "avg": sum(exact) / len(exact),
        "min": min(exact),
        "max": max(exact),
        "first": exact[0],
    }
    return float(computed[function])


def rows_of(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def random_streams(seed, count, rows, make_key, make_value, ties=3):
    chance = random.Random(seed)
    streams = []
    for _ in range(count):
        times = sorted(chance.randrange(rows // ties + 1) for _ in range(rows))
        streams.append([(time, make_key(chance), make_value(chance)) for time in times])
    return streams


def decimal_text(chance):
    return f"{chance.randrange(-5_000, 5_000)}.{chance.randrange(1_000):03d}"


def every_pair():
    """Return each variant with each function that it takes; each run has one for each variant.

    The contract tests the functions with every variant. The replay's part is the same for all
    functions of a variant, so one function each, in turn, suffices.
    """
    found, chosen = [], Counter()
    takers = {function: sum(takes(v, function) for v in VARIANTS) for function in FUNCTIONS}
    for variant in VARIANTS:
        offered = [function for function in FUNCTIONS if takes(variant, function)]
        rarest = min(offered, key=lambda function: (chosen[function], takers[function]))
        chosen[rarest] += 1
        for function in offered:
            light = [] if function == rarest else [pytest.mark.full]
            marks = [pytest.mark.xdist_group(variant), *light]
            found.append(pytest.param(variant, function, marks=marks))
    return found


@interpreted_is_enough
def test_every_function_is_replayed_in_every_run():
    light = [one.values[1] for one in every_pair() if all(m.name != "full" for m in one.marks)]
    assert set(light) == set(FUNCTIONS) and len(light) == len(VARIANTS)


@pytest.mark.parametrize(("variant", "function"), every_pair())
def test_rows_are_those_of_the_definition(tmp_path, variant, function):
    streams = random_streams(1, 3, 120, lambda c: c.randrange(-4, 9), decimal_text)
    inputs = [
        write_csv(tmp_path / f"{number}.csv", ("ts", "meter", "kwh"), rows)
        for number, rows in enumerate(streams)
    ]
    table = replay(
        tmp_path, inputs, "--key", "meter", "--value", "kwh", variant=variant, function=function
    )
    assert rows_of(table) == expected(streams, function, 3, 2)
    value = pa.int64() if function == "count" else pa.float64()
    assert table.schema.types == [pa.int64(), pa.int64(), value]
    assert table.column_names == ["window_start", "key", "value"]


@pytest.mark.parametrize("windows", [(1, 1), (10, 1), (10, 3), (7, 7), (1_000, 999)])
def test_windows_of_every_shape(tmp_path, windows):
    streams = random_streams(2, 2, 80, lambda c: "k", decimal_text, ties=1)
    inputs = [
        write_csv(tmp_path / f"{number}.csv", ("ts", "kwh"), [(r[0], r[2]) for r in rows])
        for number, rows in enumerate(streams)
    ]
    table = replay(tmp_path, inputs, "--value", "kwh", function="sum", windows=windows)
    assert table.column_names == ["window_start", "value"]
    assert rows_of(table) == [(s, v) for s, _, v in expected(streams, "sum", *windows)]


@pytest.mark.parametrize(
    "function", ["first", "count-mail", "count-mail-ip", "first-mail", "first-mail-ip"]
)
def test_texts(tmp_path, function):
    texts = ['näive, "quoted"', "", "write to a@b.de", "ping 10.0.0.1", "10.0.0.1.2", "a\nb@c.org"]
    keys = ["zebra", "Äpfel", "apple", "日本", "a b"]
    streams = random_streams(3, 2, 90, lambda c: c.choice(keys), lambda c: c.choice(texts))
    inputs = [write_csv(tmp_path / "0.csv.gz", ("ts", "song", "text"), streams[0])]
    columns = {n: [r[i] for r in streams[1]] for i, n in enumerate(("ts", "song", "text"))}
    pq.write_table(pa.table(columns), tmp_path / "1.parquet")
    inputs.append(tmp_path / "1.parquet")
    table = replay(tmp_path, inputs, "--key", "song", "--text", "text", function=function)
    assert rows_of(table) == expected(streams, function, 3, 2, texts=True)
    counts = function.startswith("count")
    assert table.schema.types == [pa.int64(), pa.string(), pa.int64() if counts else pa.string()]


def test_doubles_are_taken_by_their_shortest_text(tmp_path):
    values = [0.1, 0.2, 0.3, -1e-7, 1e8, 4.0]
    pq.write_table(pa.table({"ts": [0] * 6, "v": values}), tmp_path / "a.parquet")
    table = replay(tmp_path, [tmp_path / "a.parquet"], "--value", "v", function="sum")
    exact = sum(Fraction(repr(value)) for value in values)
    assert rows_of(table) == [(0, float(exact))]


def test_a_result_beyond_its_type_is_named_and_exact_writes_it(tmp_path, capsys):
    rows = [(0, 7, 2**63 - 1), (1, 7, -1), (2, 9, 2**53 + 1), (3, 7, 2**63 - 1), (3, 7, 1)]
    path, output = write_csv(tmp_path / "v.csv", ("ts", "k", "v"), rows), tmp_path / "out.parquet"
    options = ("--key", "k", "--value", "v")
    argv = ["replay", "aggregation", "tumlsc", "--input", str(path), "--time", "ts", *options,
            "--function", "sum", "--window-size", "3", "--window-advance", "3",
            "--output", str(output)]  # fmt: skip
    assert main(argv) == 2
    error = capsys.readouterr().err
    told = "millrace: window 3, key 7: sum 9223372036854775808 does not fit 64 bits; "
    assert error.count("\n") == 1 and error.startswith(told) and "--exact" in error
    assert not output.exists()
    sums = [(0, 7, 2**63 - 2), (0, 9, 2**53 + 1), (3, 7, 2**63)]
    table = replay(tmp_path, [path], *options, "--exact", function="sum", windows=(3, 3))
    assert rows_of(table) == sums and table.schema.field("value").type == pa.decimal128(38, 0)
    write_csv(path, ("ts", "k", "v"), rows[:-1])
    table = replay(tmp_path, [path], *options, function="sum", windows=(3, 3), name="whole")
    assert rows_of(table) == [*sums[:2], (3, 7, 2**63 - 1)]
    assert table.schema.field("value").type == pa.int64()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("function", ["first", "min", "max", "sum"])
def test_whole_numbers_beyond_those_of_doubles_come_out_as_they_went_in(tmp_path, function, kind):
    values = [2**53 + 3, 2**53 + 1, 2**53 + 5]
    path = tmp_path / f"v.{kind}"
    if kind == "csv":
        write_csv(path, ("ts", "v"), list(enumerate(values)))
    else:
        pq.write_table(pa.table({"ts": [0, 1, 2], "v": pa.array(values, pa.int64())}), path)
    table = replay(tmp_path, [path], "--value", "v", function=function, windows=(3, 3))
    right = {"first": values[0], "min": min(values), "max": max(values), "sum": sum(values)}
    assert rows_of(table) == [(0, right[function])]
    assert table.schema.field("value").type == pa.int64()


@pytest.mark.parametrize("function", ["sum", "avg", "min"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_takes_whole_numbers_without_a_sign(tmp_path, variant, function):
    values = [2**63 + 5, 7, 2**62, 3]
    path = write_csv(tmp_path / "a.csv", ("ts", "v"), list(enumerate(values)))
    how = {"variant": variant, "function": function, "windows": (4, 4)}
    table = replay(tmp_path, [path], "--value", "v", **how)
    right = {"sum": sum(values), "avg": sum(values) / 4, "min": 3}
    assert rows_of(table) == [(0, right[function])]
    assert pa.types.is_uint64(table.schema.field("value").type) == (function != "avg")


def test_decimals_round_half_to_even(tmp_path):
    path = write_csv(tmp_path / "a.csv", ("ts", "v"), [(0, "0.25"), (3, "0.35"), (6, "1e-30")])
    table = replay(
        tmp_path, [path], "--value", "v", "--decimals", "1", function="sum", windows=(3, 3)
    )
    assert rows_of(table) == [(0, 0.2), (3, 0.4), (6, 0.0)]


def test_ties_go_by_the_order_of_inputs(tmp_path):
    one = write_csv(tmp_path / "one.csv", ("ts", "v"), [(5, 1), (5, 2)])
    two = write_csv(tmp_path / "two.csv", ("ts", "v"), [(5, 3)])
    for inputs, first in (([one, two], 1.0), ([two, one], 3.0)):
        table = replay(tmp_path, inputs, "--value", "v", "--overwrite", function="first",
                       windows=(10, 10))  # fmt: skip
        assert rows_of(table) == [(0, first)]


def test_calendar_times(tmp_path):
    rows = [
        ("1970-01-01T00:00:30Z", 1),
        ("1970-01-01 00:01:00", 2),
        ("1970-01-01T01:01:40+01:00", 3),
    ]
    path = write_csv(tmp_path / "a.csv", ("ts", "v"), rows)
    table = replay(tmp_path, [path], "--time-unit", "s", "--value", "v", function="sum",
                   windows=("1m", "30s"))  # fmt: skip
    assert rows_of(table) == [(0, 1.0), (30, 3.0), (60, 5.0), (90, 3.0)]
    stamps = pa.array([0, 1_500], pa.timestamp("ms"))
    pq.write_table(pa.table({"ts": stamps}), tmp_path / "stamps.parquet")
    table = replay(tmp_path, [tmp_path / "stamps.parquet"], "--time-unit", "ms", name="b",
                   windows=("1s", "500ms"))  # fmt: skip
    assert rows_of(table) == [(0, 1), (1000, 1), (1500, 1)]


def test_keys_are_integers_by_value_or_text_by_bytes(tmp_path):
    numbers = write_csv(tmp_path / "n.csv", ("ts", "k"), [(0, 10), (0, -3), (0, 9)])
    assert replay(tmp_path, [numbers], "--key", "k")["key"].to_pylist() == [-3, 9, 10]
    names = write_csv(tmp_path / "t.csv", ("ts", "k"), [(0, "10"), (0, "9"), (0, "007")])
    table = replay(tmp_path, [names], "--key", "k", name="t")
    assert table["key"].to_pylist() == ["007", "10", "9"]
    pq.write_table(pa.table({"ts": [0, 0], "k": ["9", "10"]}), tmp_path / "text.parquet")
    table = replay(tmp_path, [tmp_path / "text.parquet"], "--key", "k", name="s")
    assert table["key"].to_pylist() == ["10", "9"]


def test_a_header_without_rows_is_an_empty_stream(tmp_path):
    empty = write_csv(tmp_path / "e.csv", ("ts", "k", "v"), [])
    full = write_csv(tmp_path / "f.csv", ("ts", "k", "v"), [(1, "a", "2.5")])
    table = replay(tmp_path, [empty, full], "--key", "k", "--value", "v", function="max")
    assert rows_of(table) == [(0, "a", 2.5)]
    table = replay(tmp_path, [empty, empty], "--value", "v", function="max", name="none")
    assert table.num_rows == 0
    assert table.schema.types == [pa.int64(), pa.int64()]


def test_equal_bytes_whatever_the_variant_and_the_run(tmp_path):
    streams = random_streams(4, 5, 400, lambda c: c.randrange(50), decimal_text)
    inputs = [
        write_csv(tmp_path / f"{number}.csv", ("ts", "k", "v"), rows)
        for number, rows in enumerate(streams)
    ]
    made = set()
    for number, variant in enumerate((*VARIANTS, *VARIANTS)):
        threads = ("--update-threads", str(1 + number // len(VARIANTS)))
        replay(tmp_path, inputs, "--key", "k", "--value", "v", *threads, variant=variant,
               function="avg", windows=(30, 3), name=f"out{number}")  # fmt: skip
        made.add((tmp_path / f"out{number}.parquet").read_bytes())
    assert len(made) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_a_key_there_is_one_group(tmp_path, variant):
    streams = random_streams(6, 3, 90, lambda c: "k", decimal_text)
    inputs = [
        write_csv(tmp_path / f"{number}.csv", ("ts", "kwh"), [(r[0], r[2]) for r in rows])
        for number, rows in enumerate(streams)
    ]
    table = replay(
        tmp_path, inputs, "--value", "kwh", "--update-threads", "3", variant=variant, function="sum"
    )
    assert table.column_names == ["window_start", "value"]
    assert rows_of(table) == [(s, v) for s, _, v in expected(streams, "sum", 3, 2)]


@pytest.mark.parametrize("variant", [v for v in VARIANTS if not takes(v, "first")])
def test_a_variant_that_does_not_sort_refuses_what_depends_on_the_order(tmp_path, variant, capsys):
    path = write_csv(tmp_path / "a.csv", ("ts", "v"), [(0, 1)])
    argv = ["replay", "aggregation", variant, "--input", str(path), "--time", "ts", "--value", "v"]
    argv += ["--window-size", "2", "--window-advance", "2", "--function", "first"]
    assert main([*argv, "--output", str(tmp_path / "out.parquet")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"{variant} does not take first, which depends on the order of tuples" in told
    assert not (tmp_path / "out.parquet").exists()


def test_too_many_update_threads_are_refused_before_anything_is_read(tmp_path, capsys):
    path = write_csv(tmp_path / "a.csv", ("ts",), [(0,)])
    argv = ["replay", "aggregation", "tumlmc", "--input", str(path), "--time", "none"]
    argv += ["--window-size", "2", "--window-advance", "2", "--function", "count"]
    argv += ["--update-threads", "65", "--output", str(tmp_path / "out.parquet")]
    assert main(argv) == 2
    assert "update_threads must be between 1 and 64 threads, received 65" in capsys.readouterr().err


def test_rows_beyond_the_buffer_and_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.replay.aggregation.running.ROWS_A_WRITE", 8)
    monkeypatch.setattr("experiments.replay.aggregation.writing.ROWS_A_GROUP", 32)
    streams = random_streams(5, 2, 300, lambda c: c.randrange(7), decimal_text)
    inputs = [
        write_csv(tmp_path / f"{number}.csv", ("ts", "k", "v"), rows)
        for number, rows in enumerate(streams)
    ]
    table = replay(tmp_path, inputs, "--key", "k", "--value", "v", function="sum", windows=(9, 2))
    assert rows_of(table) == expected(streams, "sum", 9, 2)
    groups = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert {groups.row_group(n).num_rows for n in range(groups.num_row_groups - 1)} == {32}


def test_rejected_rows_are_set_aside_and_counted(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("ts,k,v\n1,a,1\n,a,2\n3,,3\n4,b,\n5,b,x\n6,c\n7,a,4\n", encoding="utf-8")
    aside = tmp_path / "rejected.csv"
    table = replay(
        tmp_path, [path], "--key", "k", "--value", "v", "--rejected", str(aside), "--json",
        function="sum", windows=(10, 10),
    )  # fmt: skip
    assert rows_of(table) == [(0, "a", 5.0)]
    printed = json.loads(capsys.readouterr().out)
    assert printed["rejected"] == 5 and printed["tuples"] == 2 and printed["rows"] == 1
    with open(aside, newline="", encoding="utf-8") as file:
        reasons = [(row["reason"], int(row["line"])) for row in csv.DictReader(file)]
    assert reasons == [("null time", 3), ("null key", 4), ("null value", 5),
                       ("unparsable value", 6), ("too few fields", 7)]  # fmt: skip


def test_unused_columns_may_be_named(tmp_path):
    path = write_csv(tmp_path / "a.csv", ("ts", "v"), [(0, ""), (1, "x")])
    table = replay(tmp_path, [path], "--value", "v", "--update-threads", "2", windows=(2, 2))
    assert rows_of(table) == [(0, 2)]


def test_no_temporary_file_stays(tmp_path):
    path = write_csv(tmp_path / "a.csv", ("ts",), [(0,)])
    replay(tmp_path, [path])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.csv", "out.parquet"]
