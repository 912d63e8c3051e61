"""``millrace replay join`` with a theta join: the rows against the three-step procedure."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.replay.theta_join import running
from operators.theta_join import ordering
from operators.theta_join.family import make_extent
from operators.theta_join.run import Arrivals, most_kept
from tests.experiments.replay.theta_join.replaying import (
    CASES,
    CHAINS,
    LARGEST,
    R_NAMES,
    REPLAYED,
    S_NAMES,
    asked,
    at_the_edges,
    bands,
    command,
    expected,
    files,
    replay,
    saved,
    stream,
    takes,
)
from tests.replays import assert_ctrl_c_ends

# On one worker, which compiles the loops of each variant once.
pytestmark = pytest.mark.xdist_group("theta_replay")


@pytest.mark.parametrize("counts", [2, pytest.param(5, marks=pytest.mark.full)], ids=["two", "all"])
@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_the_procedure_and_no_byte_depends_on_how_it_is_run(
    tmp_path, case, counts
):
    r, s, windows = CASES[case]
    named = files(tmp_path, r, s)
    for number, window in enumerate(windows):
        made = set()
        for place, variant in enumerate(REPLAYED):
            if not takes(variant, len(r) + len(s), window):
                continue
            # One thread, and one number from 2 to 5, alternating over variants and windows, or all
            # four.
            first = (number + place) % 4
            for many in (1, *(2 + (first + each) % 4 for each in range(counts - 1))):
                name = f"{number} {variant} {many}"
                options = (*named, *bands(), *asked(window), "--threads", many)
                found = replay(tmp_path, variant, *options, name=name)
                made.add((tmp_path / f"{name}.parquet").read_bytes())
                if many == 1:
                    assert found == expected(r, s, **window), name
        assert len(made) == 1, window


@pytest.mark.parametrize("case", ["bursts", "several streams with ties"])
def test_no_byte_depends_on_how_many_real_threads_there_are(tmp_path, case):
    r, s, windows = CASES[case]
    window = next(each for each in windows if each.get("purge") == "opposite")
    options = (*files(tmp_path, r, s), *bands(), *asked(window))
    wanted, made = expected(r, s, **window), set()
    for variant in REPLAYED:
        if not takes(variant, len(r) + len(s), window):
            continue
        for threads in (2, 12, 48):
            name = f"{variant} {threads}"
            assert replay(tmp_path, variant, *options, "--threads", threads, name=name) == wanted
            made.add((tmp_path / f"{name}.parquet").read_bytes())
    assert len(wanted) > 100 and len(made) == 1


def test_the_purge_is_the_join_s_own_where_none_is_asked_for(tmp_path):
    r, s = [stream(30, 80, 90)], [stream(31, 80, 90)]
    options = (*files(tmp_path, r, s), *bands(), "--window", 9)
    own, opposite = (expected(r, s, span=9, purge=purge) for purge in ("own", "opposite"))
    assert own != opposite
    for variant in REPLAYED:
        wanted = opposite if variant in CHAINS else own
        assert replay(tmp_path, variant, *options, name=variant) == wanted


def test_windows_of_count_are_the_same_whatever_is_purged(tmp_path):
    r, s = [stream(34, 80, 90)], [stream(35, 80, 90)]
    options = (*files(tmp_path, r, s), *bands(), "--window-count", 9)
    wanted = expected(r, s, count=9)
    for variant in REPLAYED:
        for purge in ("own", "opposite"):
            name = f"{variant} {purge}"
            assert replay(tmp_path, variant, *options, "--purge", purge, name=name) == wanted


def test_the_procedure_of_the_paper_pairs_tuples_that_are_further_apart(tmp_path):
    # Figure 1: t1 and t4 at distance 5, with windows of 4.
    options = (*files(tmp_path, [[(1, 7, 7)]], [[(6, 7, 7)]]), *bands(), "--window", 4)
    assert replay(tmp_path, "scale-join", *options) == [(6, 0, 0, 0, 0)]
    found = replay(tmp_path, "scale-join", *options, "--purge", "opposite", name="opposite")
    assert found == []


def test_pairs_beyond_a_buffer_are_written_in_equal_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PAIRS_AT_ONCE", 200)
    rows = [(place, 0, 0) for place in range(120)]
    named = files(tmp_path, [rows], [rows])
    made = set()
    for variant in REPLAYED:
        options = (*named, *bands(), "--window", 60, "--purge", "opposite", "--threads", 3)
        assert len(replay(tmp_path, variant, *options, name=variant)) > 10_000
        made.add((tmp_path / f"{variant}.parquet").read_bytes())
        groups = pq.ParquetFile(tmp_path / f"{variant}.parquet").metadata
        sizes = [groups.row_group(n).num_rows for n in range(groups.num_row_groups)]
        assert set(sizes[:-1]) == {200} and 0 < sizes[-1] <= 200
    assert len(made) == 1


def test_threads_that_find_nothing_do_not_hold_up_one_that_finds_all_pairs(tmp_path):
    # More pairs, and more tuples, than there is room for next to the slowest thread's.
    r, s = [[(0, 0, 0)]], [[(place, 0, 0) for place in range(6_000)]]
    wanted = [(place, 0, 0, 0, place) for place in range(6_000)]
    options = (*files(tmp_path, r, s), *bands(), "--window", 10_000, "--threads", 3)
    for variant in REPLAYED:
        assert replay(tmp_path, variant, *options, name=variant) == wanted


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_decimals_are_exact_in_files_of_every_form(tmp_path, ending):
    r = [(0, "0.1", "1e-2"), (3, "-.7", "5"), (4, "0.3", "0.04")]
    s = [(1, "0.3", "0.04"), (2, "-0.50", "4.97"), (5, "1e-1", "0.07"), (6, "0.1", "0.01")]
    named = []
    for name, rows, names in (("r", r, R_NAMES), ("s", s, S_NAMES)):
        path = tmp_path / f"{name}{ending}"
        if ending == ".parquet":
            times = pa.array([row[0] for row in rows])
            # Doubles by their shortest text, decimals by their digits.
            first = pa.array([float(row[1]) for row in rows])
            second = pa.array([Decimal(row[2]) for row in rows], pa.decimal128(12, 6))
            pq.write_table(pa.table(dict(zip(names, (times, first, second), strict=True))), path)
        else:
            saved(path, rows, names)
        named += [f"--{name}", path]
    # 0.1 + 0.2 is 0.3 here. The numbers of the first band have one decimal, of the second two.
    found = replay(tmp_path, "scale-join", *named, *bands(("0.2", "0.03")), "--window", 9)
    assert found == expected([r], [s], ("0.2", "0.03"), span=9)
    pairs = [(row[2], row[4]) for row in found]
    assert pairs == [(0, 0), (1, 1), (2, 0), (2, 2), (0, 3), (2, 3)]


def test_numbers_to_the_edges_of_64_bits(tmp_path):
    # The second number of all tuples is 0: otherwise loops of one band would also be compiled.
    r, s = at_the_edges()
    options = (*files(tmp_path, r, s), "--window-count", 9)
    for variant, width in (("sequential", 1), ("scale-join", LARGEST)):
        found = replay(tmp_path, variant, *options, *bands((width, 0)), name=variant)
        assert found == expected(r, s, (width, 0), count=9)


def test_calendar_times(tmp_path):
    r = saved(tmp_path / "r.csv", [("2014-06-23T10:00:00Z", 1), ("2014-06-23T10:10:00Z", 1)],
              ("at", "x"))  # fmt: skip
    s = tmp_path / "s.parquet"
    stamps = pa.array([1_403_517_900, 1_403_518_201], pa.timestamp("s"))  # 10:05:00, 10:10:01
    pq.write_table(pa.table({"at": stamps, "x": [1, 1]}), s)
    options = ("--r", r, "--s", s, "--band", "x:x:0", "--time", "at", "--time-unit", "s",
               "--purge", "opposite")  # fmt: skip
    begin = 1_403_517_600
    first = [(begin + 300, 0, 0, 0, 0), (begin + 600, 0, 1, 0, 0)]
    found = replay(tmp_path, "sequential", *options, "--window", "5m")
    assert found == [*first, (begin + 601, 0, 1, 0, 1)]
    found = replay(tmp_path, "sequential", *options, "--window", "601", name="ticks")
    assert found == [*first, (begin + 601, 0, 0, 0, 1), (begin + 601, 0, 1, 0, 1)]


def test_rows_set_aside_are_counted_and_positions_stay_those_of_the_file(tmp_path, capsys):
    r, also = tmp_path / "r.csv", saved(tmp_path / "also.csv", [(2, 9, 1)], R_NAMES)
    r.write_text("ts,x,y\n1,9,1\n,2,2\n2,,3\n\n3,one,1\n4,1\n5,9,1\n6,9,\n7,9,1\n")
    s = saved(tmp_path / "s.csv", [(0, "", 1), (7, 9, 1)], S_NAMES)
    aside = tmp_path / "aside.csv"
    options = ("--r", r, also, "--s", s, *bands(), "--window-count", 3, "--rejected", aside)
    found = replay(tmp_path, "scale-join", *options, "--json")
    # The row with too few fields counts, the blank line does not.
    assert found == [(7, 1, 0, 0, 1), (7, 0, 5, 0, 1), (7, 0, 7, 0, 1)]
    told = json.loads(capsys.readouterr().out)
    assert list(told.pop("seconds")) == ["start", "read", "order", "run", "write"]
    assert told == {
        "tuples": 5, "rows": 3, "rejected": 6, "output": str(tmp_path / "out.parquet"),
    }  # fmt: skip
    with open(aside, newline="", encoding="utf-8") as file:
        reasons = [(row["reason"], Path(row["file"]).name, int(row["line"]))
                   for row in csv.DictReader(file)]  # fmt: skip
    assert reasons == [
        ("null time", "r.csv", 3), ("null value", "r.csv", 4), ("unparsable value", "r.csv", 6),
        ("too few fields", "r.csv", 7), ("null value", "r.csv", 9), ("null value", "s.csv", 2),
    ]  # fmt: skip


# --- windows, and pairs in order -----------------------------------------------------------------


def most_kept_by_hand(came, extent, threads):
    """Return the most tuples of one stream in a thread's window, simulated arrival by arrival."""
    windows = [[[], []] for _ in range(threads)]
    seen, most = [0, 0], 0
    for rank, number in enumerate(came.order.tolist()):
        side, moment = int(number >= came.r_tuples), int(came.times[number])
        stamp = seen[side] if extent.count else moment
        windows[rank % threads][side].append(stamp)
        seen[side] += 1
        horizon = seen[side] - extent.count if extent.count else moment - extent.span
        for window in windows:
            window[side] = [one for one in window[side] if one >= horizon]
        most = max(most, *(len(kept) for window in windows for kept in window))
    return most


@pytest.mark.parametrize("extent", [make_extent(span=9), make_extent(span=1), make_extent(count=7)])
@pytest.mark.parametrize("streams", [(80, 80), (200, 5), (0, 50), (50, 0), (0, 0)])
def test_windows_are_as_large_as_the_streams_make_them(extent, streams):
    for seed in range(4):
        chance = np.random.default_rng(seed)
        times = [np.sort(chance.integers(0, 90, rows)) for rows in streams]
        joined = np.concatenate(times)
        begins = np.cumsum([0, *streams])
        came = Arrivals(joined, begins, np.argsort(joined, kind="stable"), 1, None)
        for threads in (1, 3):
            assert most_kept(came, extent, threads) == most_kept_by_hand(came, extent, threads)


@pytest.mark.parametrize("block", [1, 3, 100])
def test_runs_are_merged(block):
    chance = np.random.default_rng(block)
    keys = chance.permutation(500)
    runs = ordering.Runs(block)
    begin = 0
    while begin < len(keys):
        end = begin + int(chance.integers(0, 90))
        runs.append(keys[begin:end])
        begin = end
    blocks = list(runs.merged())
    assert np.concatenate(blocks).tolist() == list(range(500))
    assert list(ordering.Runs(block).merged()) == []


# --- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize("variant", ["scale-join", "handshake"])
def test_ctrl_c_ends_a_long_join_within_a_second(tmp_path, variant):
    small = saved(tmp_path / "small.csv", [(0, 1, 1)], R_NAMES)
    window = ("--window", 10**6, "--purge", "opposite", "--band", "x:x:2", "y:y:3")
    # Compiles the loops, if need be.
    replay(tmp_path, variant, "--r", small, "--s", small, *window, name="small")
    rows = 400_000
    for name in "rs":
        columns = {"ts": np.arange(rows), "x": np.arange(rows) % 1_000, "y": np.arange(rows)}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    named = ("--r", tmp_path / "r.parquet", "--s", tmp_path / "s.parquet")
    assert_ctrl_c_ends(tmp_path, command(tmp_path, variant, *named, *window), 1.5)
