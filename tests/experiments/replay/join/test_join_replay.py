"""``millrace replay join``: the pairs against two loops over the same files, and against Spark."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from operators import registry
from operators.join import pairs_out
from operators.join.run import key_bits_of
from tests.covering import taken
from tests.replays import assert_ctrl_c_ends

# On one worker, which compiles the loop of each variant, and has the Spark session.
pytestmark = pytest.mark.xdist_group("spark")
# Third-party recordings, not in the repository: if the variable is set, a missing file fails.
FOLDER = os.environ.get("MILLRACE_RECORDED_DATA")
# All have the same loop around their step, which the contract covers; three seconds each to
# compile. Each run of the tests has one that searches nothing, one with merges, and the chain over
# the former, because steps over a tree take half a minute to compile; the bench has those. Joins
# over a shared index: test_join_replay_threads.
VARIANTS = taken((each.id for each in registry.variants("join")), ("nested-loop", "pim-tree"))
CHAIN = ("round-robin", "--index", "nested-loop")
WITH_PARAMETERS = (
    ("pim-tree", "--merge-ratio", "1", "--insertion-depth", "0"),
    ("pim-tree", "--merge-ratio", "0.03", "--insertion-depth", "6"),
    ("im-tree", "--merge-ratio", "0.001"),
    ("b-chain", "--chain-length", "3"),
    ("ib-chain", "--chain-length", "40"),
    ("round-robin", "--threads", "3"),
    ("round-robin-as-printed", "--threads", "3"),
    ("nested-loop", "--threads", "1"),
)
RUNS = [
    *((variant,) for variant in VARIANTS),
    *(run for run in WITH_PARAMETERS if run[0] in VARIANTS),
    *((*CHAIN, "--threads", count) for count in "125"),
    ("round-robin-as-printed", "--index", "nested-loop", "--threads", "2"),
]
# Keys of 64 bits need another set of loops, which takes a minute to compile: each run of the tests
# has one join that searches nothing, and one that searches two trees; ``make test-full`` has all.
RUNS_OF_64_BITS = [("nested-loop",), ("ib-chain",)]
LARGEST = 2**63 - 1


def saved(path: Path, rows, names=("ts", "x")) -> Path:
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def command(folder, variant, *options, output="out.parquet"):
    argv = ["replay", "join", variant, *map(str, options), "--key", "x"]
    return [*argv, "--output", str(folder / output)]


def replay(folder, *options, variant="pim-tree", name="out"):
    """Run the command and return the pairs."""
    assert main(command(folder, variant, *options, output=f"{name}.parquet")) == 0
    return pairs_in(folder / f"{name}.parquet")


def pairs_in(path):
    table = pq.read_table(path)
    assert table.column_names == ["r_position", "s_position"]
    assert table.schema.types == [pa.int64(), pa.int64()]
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def expected(r, s, half_width, count=None, span=None):
    """Return the pairs of (time, key) streams by the definition; `s` is None in a self join."""
    sides = (r,) if s is None else (r, s)
    arriving = sorted((row[0], side, place) for side, rows in enumerate(sides)
                      for place, row in enumerate(rows))  # fmt: skip
    keys = [[Fraction(str(row[1])) for row in rows] for rows in sides]
    half_width, arrived, found = Fraction(str(half_width)), [0, 0], []
    for moment, side, place in arriving:
        other = 0 if s is None else 1 - side
        first = 0 if count is None else max(arrived[other] - count, 0)
        for partner in range(first, arrived[other]):
            in_time = span is None or sides[other][partner][0] >= moment - span
            if in_time and abs(keys[side][place] - keys[other][partner]) <= half_width:
                found.append((place, partner) if side == 0 else (partner, place))
        arrived[side] += 1
    return found


def stream(seed, rows, latest, key):
    chance = random.Random(seed)
    times = sorted(chance.randrange(latest) for _ in range(rows))
    return [(moment, key(chance)) for moment in times]


def whole(lowest, highest):
    return lambda chance: chance.randrange(lowest, highest)


def decimal(chance):
    return chance.choice(("0.5", "-.25", "1", "1.125", "2e-1", "-0", "+1.50", "1E0", "0.499"))


EDGES = [-LARGEST, -LARGEST + 1, -1, 0, 1, LARGEST - 1, LARGEST, 2**31 - 1, -(2**31)]
WIDE = [(place, key) for place, key in enumerate(EDGES * 3)]
# R, S (None: a self join), half width, and the window.
CASES = {
    "keys at random": (stream(1, 150, 300, whole(-40, 40)), stream(2, 140, 300, whole(-40, 40)),
                       "3", {"count": 20}),
    "keys at random over time": (stream(3, 150, 300, whole(-40, 40)),
                                 stream(4, 60, 300, whole(-40, 40)), "3", {"span": 30}),
    "ties of keys": (stream(5, 120, 200, whole(0, 3)), stream(6, 120, 200, whole(0, 3)), "0",
                     {"count": 33}),
    "ties of times": (stream(7, 120, 6, whole(0, 50)), stream(8, 120, 6, whole(0, 50)), "9",
                      {"span": 1}),
    "all at one time": ([(7, k % 5) for k in range(60)], [(7, k % 4) for k in range(60)], "1",
                        {"span": 1}),
    "bursts far apart": ([(place // 40 * 100, place % 7) for place in range(120)],
                         [(place // 30 * 75, place % 5) for place in range(120)], "2",
                         {"span": 99}),
    "window of one": (stream(9, 90, 90, whole(0, 4)), stream(10, 90, 90, whole(0, 4)), "1",
                      {"count": 1}),
    "window beyond the streams": (stream(11, 70, 50, whole(0, 9)), stream(12, 60, 50, whole(0, 9)),
                                  "1", {"count": 1 << 25}),
    "time beyond the streams": (stream(13, 70, 50, whole(0, 9)), stream(14, 9, 50, whole(0, 9)),
                                "1", {"span": 2**62 - 1}),
    "no tuple": ([], [], "1", {"count": 5}),
    "no tuple over time": ([], [], "1", {"span": 5}),
    "no tuple of R": ([], stream(15, 9, 9, whole(0, 3)), "1", {"span": 5}),
    "no tuple of S": (stream(16, 9, 9, whole(0, 3)), [], "1", {"count": 5}),
    "one tuple each": ([(3, 5)], [(3, 6)], "1", {"count": 1}),
    "decimals": (stream(17, 90, 90, decimal), stream(18, 90, 90, decimal), "0.5", {"count": 25}),
    "half width finer than keys": (stream(19, 90, 90, decimal), stream(20, 90, 90, decimal),
                                   "0.0010", {"span": 20}),
    "half width in tens": (stream(21, 90, 90, whole(-60, 60)), stream(22, 90, 90, whole(-60, 60)),
                           "2e1", {"count": 12}),
    "all keys there are": (WIDE, [(t, -k) for t, k in WIDE], LARGEST, {"count": 9}),
    "64 bits": (stream(23, 120, 120, whole(2**62, 2**62 + 40)),
                stream(24, 120, 120, whole(2**62, 2**62 + 40)), "2", {"count": 30}),
    "64 bits over time": (stream(25, 120, 120, whole(-(2**40), 2**40)),
                          stream(26, 120, 120, whole(-(2**40), 2**40)), 2**37, {"span": 31}),
    "64 bits by the half width": ([(0, 2**31 - 1), (1, -(2**31))], [(2, 0), (3, 2**31 - 1)],
                                  2**31, {"count": 2}),
    "32 bits to the edge": ([(0, 2**31 - 4), (1, -(2**31) + 3)], [(2, 2**31 - 4), (3, 2**31 - 7)],
                            3, {"count": 2}),
    "self": (stream(27, 200, 300, whole(0, 60)), None, "2", {"count": 25}),
    "self over time": (stream(28, 200, 90, whole(0, 60)), None, "2", {"span": 6}),
    "self with ties": (stream(29, 120, 5, whole(0, 2)), None, "0", {"count": 50}),
    "self, 64 bits": (stream(30, 120, 60, whole(-(2**62), 2**62)), None, 2**60, {"span": 20}),
    "self without a tuple": ([], None, "0", {"count": 5}),
    "self of one tuple": ([(0, "0.5")], None, "1", {"span": 1}),
}  # fmt: skip


def asked(r, s, half_width, window):
    """Return the options of a join of these files."""
    size = ("--window-count", window["count"]) if "count" in window else (
        "--window-time", window["span"])  # fmt: skip
    other = ("--self",) if s is None else ("--s", s)
    return ("--r", r, *other, "--half-width", half_width, *size)


WIDE_CASES = ("all keys there are", "64 bits", "64 bits over time", "64 bits by the half width",
              "self, 64 bits")  # fmt: skip


def test_the_cases_of_64_bits_are_named():
    for case, (r, s, half_width, _) in CASES.items():
        sides = (r,) if s is None else (r, s)
        keys = [Fraction(str(key)) for rows in sides for _, key in rows]
        largest = max(map(abs, keys), default=0) + Fraction(str(half_width))
        assert (largest > 2**31) == (case in WIDE_CASES), case


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        *(pytest.param(case, RUNS, id=case) for case in CASES if case not in WIDE_CASES),
        *(pytest.param(case, RUNS_OF_64_BITS, id=case) for case in WIDE_CASES),
        *(pytest.param(case, RUNS, id=f"{case}, all", marks=pytest.mark.full)
          for case in WIDE_CASES),
    ],
)  # fmt: skip
def test_pairs_are_those_of_the_definition_and_no_bit_depends_on_how_it_is_run(
    tmp_path, case, runs
):
    r, s, half_width, window = CASES[case]
    files = [None if rows is None else saved(tmp_path / f"{name}.csv", rows)
             for name, rows in (("r", r), ("s", s))]  # fmt: skip
    options = asked(*files, half_width, window)
    made = set()
    for number, (variant, *more) in enumerate(runs):
        assert main(command(tmp_path, variant, *options, *more, output=f"{number}.parquet")) == 0
        made.add((tmp_path / f"{number}.parquet").read_bytes())
    assert pairs_in(tmp_path / "0.parquet") == expected(r, s, half_width, **window)
    assert len(made) == 1


@pytest.mark.parametrize(
    ("keys", "half_width", "bits"),
    [
        ([], 0, 32),
        ([2**31 - 1, -(2**31)], 0, 32),
        ([2**31 - 1], 1, 64),
        ([-(2**31)], 1, 64),
        ([5], 2**31 - 6, 32),
        ([5], 2**31 - 5, 64),
        ([2**31], 0, 64),
    ],
)
def test_keys_have_32_bits_where_all_bands_do(keys, half_width, bits):
    assert key_bits_of([np.array([], int), np.array(keys, int)], half_width) == bits


def test_pairs_beyond_a_buffer_go_on_where_they_stopped(tmp_path, monkeypatch):
    # Fewer than the partners of a tuple, which are more than are sorted one by one.
    monkeypatch.setattr("experiments.replay.join.running.PAIRS_AT_ONCE", 200)
    rows = [(place, place % 2) for place in range(700)]
    files = [saved(tmp_path / f"{name}.csv", rows) for name in "rs"]
    for variant, *more in (("pim-tree",), CHAIN):
        options = (*asked(*files, "0", {"count": 600}), *more)
        found = replay(tmp_path, *options, variant=variant, name=variant)
        assert found == expected(rows, rows, "0", 600)
        groups = pq.ParquetFile(tmp_path / f"{variant}.parquet").metadata
        assert {groups.row_group(n).num_rows for n in range(groups.num_row_groups - 1)} == {200}


@pytest.mark.parametrize("count", [0, 1, 2, 47, 48, 49, 300, 3_000])
@pytest.mark.parametrize("width", [3_000, 1 << 16, 1 << 25])
def test_positions_are_sorted(count, width):
    chance = np.random.default_rng(count + width)
    positions = 2**40 + chance.choice(width, count, replace=False)
    wanted = np.sort(positions)
    spare, digits = np.zeros(count, np.int64), np.zeros(pairs_out.DIGITS, np.int64)
    pairs_out.sort_positions(positions, count, spare, digits)
    assert positions.tolist() == wanted.tolist()


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_files_of_every_form_hold_the_same_keys(tmp_path, ending):
    r, s = stream(31, 80, 80, decimal), stream(32, 80, 80, decimal)
    files = []
    for name, rows in (("r", r), ("s", s)):
        path = tmp_path / f"{name}{ending}"
        if ending == ".parquet":
            columns = {"ts": [row[0] for row in rows], "x": [float(row[1]) for row in rows]}
            pq.write_table(pa.table(columns), path)
        else:
            saved(path, rows)
        files.append(path)
    assert replay(tmp_path, *asked(*files, "0.25", {"span": 20})) == expected(r, s, "0.25", span=20)


def test_keys_of_every_type_are_exact(tmp_path):
    r, s = [(0, 0.1), (1, 1e-7)], [(2, key) for key in ("0", "0.3", "0.30000001", "-0.0999999")]
    pq.write_table(pa.table({"ts": [0, 1], "x": [0.1, 1e-7]}), tmp_path / "r.parquet")
    keys = pa.array([Decimal(key) for _, key in s], pa.decimal128(20, 8))
    pq.write_table(pa.table({"ts": [2] * 4, "x": keys}), tmp_path / "s.parquet")
    files = tmp_path / "r.parquet", tmp_path / "s.parquet"
    # 0.1 + 0.2 equals exactly 0.3 here.
    found = replay(tmp_path, *asked(*files, "0.2", {"count": 9}))
    assert found == expected(r, s, "0.2", 9) == [(0, 0), (1, 0), (0, 1), (0, 3), (1, 3)]


def test_calendar_times_and_a_key_of_another_name(tmp_path):
    r = saved(tmp_path / "r.csv", [("2014-06-23T10:00:00Z", 1), ("2014-06-23T10:10:00Z", 2)],
              ("at", "x"))  # fmt: skip
    s = tmp_path / "s.parquet"
    stamps = pa.array([1_403_517_900, 1_403_518_201], pa.timestamp("s"))  # 10:05:00, 10:10:01
    pq.write_table(pa.table({"at": stamps, "kw": [1, 1]}), s)
    options = ("--r", r, "--s", s, "--s-key", "kw", "--time", "at", "--time-unit", "s",
               "--half-width", 1)  # fmt: skip
    assert replay(tmp_path, *options, "--window-time", "5m") == [(0, 0), (1, 0), (1, 1)]
    found = replay(tmp_path, *options, "--window-time", "601", "--overwrite")
    assert found == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_rows_set_aside_are_counted_and_positions_stay_those_of_the_file(tmp_path, capsys):
    r = tmp_path / "r.csv"
    r.write_text("ts,x\n1,1\n,2\n2,\n\n3,one\n4\n5,1\n6,1\n")
    s = saved(tmp_path / "s.csv", [(0, ""), (7, 1)])
    aside = tmp_path / "aside.csv"
    options = (*asked(r, s, 0, {"count": 2}), "--rejected", aside, "--json")
    # Of R's three tuples the last two are in the window; the row above them counts, the blank line
    # does not.
    assert replay(tmp_path, *options) == [(5, 1), (6, 1)]
    assert (told := json.loads(capsys.readouterr().out)).pop("seconds") and told == {
        "tuples": 4, "rows": 2, "rejected": 5, "output": str(tmp_path / "out.parquet"),
    }  # fmt: skip
    with open(aside, newline="", encoding="utf-8") as file:
        found = [(row["reason"], Path(row["file"]).name, int(row["line"]))
                 for row in csv.DictReader(file)]  # fmt: skip
    assert found == [
        ("null time", "r.csv", 3), ("null key", "r.csv", 4), ("unparsable key", "r.csv", 6),
        ("too few fields", "r.csv", 7), ("null key", "s.csv", 2),
    ]  # fmt: skip
    found = replay(tmp_path, "--r", r, "--self", "--half-width", 0, "--window-count", 1,
                   "--rejected", aside, "--overwrite")  # fmt: skip
    assert found == [(5, 0), (6, 5)]


@pytest.mark.timed
@pytest.mark.parametrize(("variant", "more"), [("nested-loop", ()), (CHAIN[0], CHAIN[1:])])
def test_ctrl_c_ends_a_long_join_within_a_second(tmp_path, variant, more):
    small = saved(tmp_path / "small.csv", [(0, 1)])
    # Compiles the loop, if need be.
    replay(tmp_path, *asked(small, small, 0, {"count": 1}), *more, variant=variant, name="small")
    rows = 300_000
    for name in "rs":
        columns = {"ts": np.arange(rows), "x": np.arange(rows) % 10}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    large = asked(tmp_path / "r.parquet", tmp_path / "s.parquet", 0, {"count": rows})
    assert_ctrl_c_ends(tmp_path, command(tmp_path, variant, *large, *more), 1.0)


# --- recorded data, against Spark -----------------------------------------------------------------

recorded = pytest.mark.skipif(FOLDER is None, reason="MILLRACE_RECORDED_DATA is not set")


def in_spark(spark, folder, query, *inputs):
    """Return the pairs that a query of r(p, ts, x) and s(p, ts, x) finds, in order."""
    for name, frame in zip("rs", inputs, strict=True):
        numbered = frame.assign(p=np.arange(len(frame)))[["p", "ts", "x"]]
        numbered.to_csv(folder / f"{name}_numbered.csv", index=False)
        read = spark.read.schema("p long, ts long, x decimal(18, 6)").option("header", True)
        read.csv(str(folder / f"{name}_numbered.csv")).createOrReplaceTempView(name)
    return sorted((row[0], row[1]) for row in spark.sql(query).collect())


@recorded
def test_meters_over_a_window_of_time_are_joined_as_by_spark(spark, tmp_path):
    rows = pd.read_csv(Path(FOLDER, "sgsc10.csv.gz"), dtype={"kwh": str})
    rows = rows[rows["ts_s"].between(1_356_998_400, 1_361_998_400)]
    inputs = [
        rows[rows["meter"] == meter].rename(columns={"ts_s": "ts", "kwh": "x"})
        for meter in rows["meter"].value_counts().index[:2]
    ]
    files = []
    for name, frame in zip("rs", inputs, strict=True):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        files.append(tmp_path / f"{name}.csv")
    query = "SELECT r.p, s.p FROM r, s WHERE abs(r.x - s.x) <= 0.004 AND abs(r.ts - s.ts) <= 43200"
    wanted = in_spark(spark, tmp_path, query, *inputs)
    assert len(wanted) > 1_000
    for variant in VARIANTS:
        found = replay(tmp_path, *asked(*files, "0.004", {"span": 43_200}), variant=variant,
                       name=variant)  # fmt: skip
        assert sorted(found) == wanted


@recorded
def test_prices_over_a_window_of_tuples_are_joined_as_by_spark(spark, tmp_path):
    rows = pd.read_csv(Path(FOLDER, "online_retail.csv.gz"), dtype=str, nrows=30_000)
    rows = rows.rename(columns={"InvoiceDate": "at", "UnitPrice": "x"}).sort_values(
        "at", kind="stable"
    )
    rows["ts"] = pd.to_datetime(rows["at"], utc=True).astype("datetime64[s, UTC]").astype("int64")
    home = rows["Country"] == "United Kingdom"
    inputs = [rows[home].head(4_000), rows[~home].head(1_500)]
    for name, frame in zip("rs", inputs, strict=True):
        table = pa.Table.from_pandas(frame[["at", "x"]], preserve_index=False)
        pq.write_table(table, tmp_path / f"{name}.parquet")
    # The number of earlier tuples in the other stream determines the end of a tuple's window.
    wanted = in_spark(
        spark,
        tmp_path,
        """
        WITH arrivals AS (
            SELECT *, sum(1 - side) OVER before AS of_r, sum(side) OVER before AS of_s
            FROM (SELECT *, 0 AS side FROM r UNION ALL SELECT *, 1 AS side FROM s)
            WINDOW before AS (ORDER BY ts, side, p ROWS UNBOUNDED PRECEDING))
        SELECT r.p, s.p FROM arrivals r, arrivals s
        WHERE r.side = 0 AND s.side = 1 AND abs(r.x - s.x) <= 0.05
          AND (s.p BETWEEN r.of_s - 200 AND r.of_s - 1 OR r.p BETWEEN s.of_r - 200 AND s.of_r - 1)
        """,
        *inputs,
    )
    assert len(wanted) > 1_000
    options = asked(tmp_path / "r.parquet", tmp_path / "s.parquet", "0.05", {"count": 200})
    options = (*options, "--time", "at", "--time-unit", "s")
    for variant in VARIANTS:
        assert sorted(replay(tmp_path, *options, variant=variant, name=variant)) == wanted
