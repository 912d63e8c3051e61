"""``millrace replay pipeline``: queries 1 and 2 against a batch over the same files, refusals."""

from __future__ import annotations

import json
import os
from itertools import combinations, groupby, islice
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.cli import main
from operators.core.jit import INTERPRETED
from tests.experiments.replay.pipeline.replaying import (
    CLICKS,
    DAY_S,
    SALES,
    category_of,
    clicks,
    coded,
    items_of,
    replay,
    sales,
    saved,
)
from tests.operators.pipeline import batch

# On the worker that compiles the queries for the bench.
pytestmark = [
    pytest.mark.skipif(INTERPRETED, reason="thousands of tuples through five operators"),
    pytest.mark.xdist_group("spark"),
]
# Third-party recordings, not in the repository: if the variable is set, a missing file fails.
FOLDER = os.environ.get("MILLRACE_RECORDED_DATA")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_pairs_of_an_hour_are_those_of_a_batch(tmp_path, ending):
    lines = sales()
    items = items_of(lines)
    wanted = batch.query_1(coded(lines, SALES), category_of(items))
    got = replay(
        tmp_path, "q1", "--input", saved(tmp_path / f"sales{ending}", lines),
        "--items", saved(tmp_path / f"items{ending}", items),
    )  # fmt: skip
    assert got.columns.tolist() == ["hour", "item_i", "item_j", "count"]
    assert [(hour * 3_600, i, j, count) for hour, i, j, count in wanted] == [
        tuple(row) for row in got.to_numpy().tolist()
    ]


def test_days_since_1900_are_a_time_too(tmp_path):
    lines = sales()
    items = saved(tmp_path / "items.csv", items_of(lines))
    one = replay(tmp_path, "q1", "--input", saved(tmp_path / "a.csv", lines), "--items", items)
    days = lines.drop(columns="time").assign(
        sold_date_sk=lines["time"] // DAY_S + 25_567, sold_time_sk=lines["time"] % DAY_S
    )
    other = replay(tmp_path, "q1", "--input", saved(tmp_path / "b.csv", days), "--items", items,
                   name="other")  # fmt: skip
    pd.testing.assert_frame_equal(one, other)


def test_sessions_are_those_of_a_batch_and_no_bit_depends_on_how_it_is_run(tmp_path):
    path = saved(tmp_path / "clicks.parquet", clicks())
    wanted = batch.query_2(coded(clicks(), CLICKS))
    got = replay(tmp_path, "q2", "--input", path)
    assert [tuple(row) for row in got.to_numpy().tolist()] == wanted
    ways = ("--workers", 3, "--partitions", 3, "--slots", 4, "--scheduler", "qst", "--partition",
            "shared", "--reorder", "lock-based", "--slice-us", 5, "--seed", 7, "--form",
            "tuples")  # fmt: skip
    replay(tmp_path, "q2", "--input", path, *ways, name="other")
    replay(tmp_path, "q2", "--input", path, "--workers", 3, "--block", 7, name="small")
    for name in ("other", "small"):
        again = (tmp_path / f"{name}.parquet").read_bytes()
        assert (tmp_path / "out.parquet").read_bytes() == again


def test_a_session_may_be_long(tmp_path, capsys):
    def viewed(items: int) -> Path:
        frame = pd.DataFrame({"time": np.arange(2 * items) // 3, "user_sk": 8, "web_page_sk": 1,
                              "item_sk": np.arange(2 * items) // 2, "sales_sk": None})  # fmt: skip
        return saved(tmp_path / f"{items}.parquet", frame)

    got = replay(tmp_path, "q2", "--input", viewed(60))
    assert len(got) == 30 and set(got["count"]) == {1}
    argv = ["replay", "pipeline", "q2", "--input", str(viewed(182))]
    assert main([*argv, "--output", str(tmp_path / "none.parquet")]) == 2
    told = "a session of 182 different items, and query q2 takes 181; leave out the user"
    assert told in capsys.readouterr().err


def test_amounts_whose_sums_would_not_fit_are_refused(tmp_path, capsys):
    lines = sales().assign(net_paid=10**16)
    items = saved(tmp_path / "items.csv", items_of(lines))
    argv = ["replay", "pipeline", "q15", "--input", str(saved(tmp_path / "sales.csv", lines))]
    argv += ["--items", str(items), "--store", "10", "--year", "2002"]
    assert main([*argv, "--output", str(tmp_path / "out.parquet")]) == 2
    assert "its amounts add up to 2e+19, and sums of them are exact up to 688" in (
        capsys.readouterr().err
    )


def test_more_pairs_than_a_table_begins_with_are_counted(tmp_path):
    count = 3_000
    lines = pd.DataFrame(
        {"time": np.repeat(np.arange(count) // 100, 2), "ticket_number": np.arange(count).repeat(2),
         "item_sk": np.arange(2 * count), "store_sk": 10}
    )  # fmt: skip
    items = pd.DataFrame({"item_sk": np.arange(2 * count), "category_id": 1})
    got = replay(tmp_path, "q1", "--input", saved(tmp_path / "sales.csv", lines), "--items",
                 saved(tmp_path / "items.csv", items), "--partitions", 1)  # fmt: skip
    assert len(got) == 100
    assert set(got["count"]) == {1}


@pytest.mark.skipif(FOLDER is None, reason="MILLRACE_RECORDED_DATA is not set")
def test_recorded_baskets_through_a_mapping(tmp_path, capsys):
    path = Path(FOLDER, "online_retail.csv.gz")
    mapping = tmp_path / "baskets.yaml"
    mapping.write_text(
        "columns: {time: InvoiceDate, ticket: InvoiceNo, item: StockCode}\n"
        'keep: {Quantity: "> 0", Country: United Kingdom}\n'
    )
    rows = pd.read_csv(path, dtype={"InvoiceNo": str, "StockCode": str})
    short = saved(tmp_path / "baskets.csv", rows.head(30_000))
    options = ("--mapping", mapping, "--input", short)
    got = replay(tmp_path, "q1", *options, "--json")
    assert json.loads(capsys.readouterr().out)["tuples"] == 30_000
    kept = rows.head(30_000)
    kept = kept[(kept["Quantity"] > 0) & (kept["Country"] == "United Kingdom")]
    hour = pd.to_datetime(kept["InvoiceDate"]).astype("int64") // 3_600_000_000_000
    counts: dict[tuple, int] = {}
    for (at, _), own in kept.groupby([hour, "InvoiceNo"]):
        for pair in combinations(sorted(set(own["StockCode"])), 2):
            counts[at, *pair] = counts.get((at, *pair), 0) + 1
    wanted = sorted(((at, -count, i, j) for (at, i, j), count in counts.items()))
    found = [(hour // 3_600, -count, i, j) for hour, i, j, count in got.to_numpy().tolist()]
    by_hour = groupby(wanted, key=itemgetter(0))
    assert found == [row for _, rows in by_hour for row in islice(rows, 100)]


def test_a_basket_without_a_label_is_refused_or_set_aside_and_na_is_a_label(tmp_path, capsys):
    mapping, path = tmp_path / "baskets.yaml", tmp_path / "baskets.csv"
    mapping.write_text('columns: {time: t, ticket: sold, item: code}\nkeep: {n: "> 0"}\n')
    path.write_text(
        "t,sold,code,n,remark\n0,a,NA,1,5\n1,a,none,2,6\n2,a,,3,7\n3,a,x,,8\n4,,y,1,words\n5,a,z,0,\n"
    )
    options = ("--mapping", mapping, "--input", path)
    argv = ["replay", "pipeline", "q1", *map(str, options), "--output", str(tmp_path / "o.parquet")]
    assert main(argv) == 2
    assert "line 4: null code" in capsys.readouterr().err
    got = replay(tmp_path, "q1", *options, "--rejected", aside := tmp_path / "aside.csv")
    assert got.to_numpy()[:, 1:].tolist() == [["NA", "none", 1]]
    assert pd.read_csv(aside)["reason"].tolist() == ["null code", "null sold"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["q9"], "unknown query 'q9'; there are: q1, q2, q3, q4, q15"),
        (["q1"], "query q1 needs --items"),
        (["q2", "--items", "x.csv"], "query q2 does not read --items; leave it out"),
        (["q15", "--items", "x.csv"], "query q15 needs --store"),
        (["q2", "--mapping", "m.yaml"], "--mapping is for q1 and was given for q2"),
        (["q2", "--scheduler", "fifo"], "unknown variant 'fifo'"),
        (["q2", "--workers", "0"], "workers must be between 1 and 64, received 0"),
        (["q2", "--reorder", "none"], "reorder must be one of non-blocking, lock-based"),
        (["q2", "--slice-us", "soon"], "slice_us must be a number of at most 3 decimals"),
    ],
)
def test_a_slip_in_the_options_is_one_line_and_status_2(options, message, tmp_path, capsys):
    path = saved(tmp_path / "clicks.csv", clicks())
    output = tmp_path / "out.parquet"
    argv = ["replay", "pipeline", *options, "--input", str(path), "--output", str(output)]
    assert main(argv) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f.drop(columns="user_sk"),
            "has no column named 'user_sk': its header is time, item_sk",
        ),
        (lambda f: f.assign(time=f["time"][::-1].to_numpy()), "row 2: time"),
        (lambda f: f.assign(item_sk="shoe"), "line 2: unparsable item_sk"),
        (lambda f: f.assign(user_sk=-5), "line 2: user_sk below 0"),
        (
            lambda f: f.assign(time=f["time"].astype("Int64").where(f.index != 3)),
            "line 5: null time",
        ),
    ],
)
def test_a_row_that_is_no_good_is_named(change, message, tmp_path, capsys):
    path = saved(tmp_path / "clicks.csv", change(clicks()))
    output = tmp_path / "out.parquet"
    assert main(["replay", "pipeline", "q2", "--input", str(path), "--output", str(output)]) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


DIRTY = {
    "user_sk": {3: "nobody"}, "time": {5: "", 6: "soon"}, "item_sk": {8: "-4", 9: "2.5"},
}  # fmt: skip
REASONS = ["unparsable user_sk", "null time", "unparsable time", "item_sk below 0",
           "unparsable item_sk"]  # fmt: skip


def test_rows_that_cannot_be_used_are_set_aside_with_their_reasons(tmp_path, capsys):
    dirty = clicks().astype(object)
    for name, faults in DIRTY.items():
        for row, text in faults.items():
            dirty.loc[row, name] = text
    path, aside = saved(tmp_path / "clicks.csv", dirty), tmp_path / "aside.csv"
    lines = path.read_text().splitlines()
    got = replay(tmp_path, "q2", "--input", path, "--rejected", aside)
    assert "5 rows set aside in" in capsys.readouterr().err
    told = pd.read_csv(aside)
    rows = sorted(row for faults in DIRTY.values() for row in faults)
    assert told["reason"].tolist() == REASONS
    assert told["line"].tolist() == [row + 2 for row in rows]
    assert told["content"].tolist() == [lines[row + 1] for row in rows]
    wanted = batch.query_2(coded(clicks().drop(index=rows), CLICKS))
    assert [tuple(row) for row in got.to_numpy().tolist()] == wanted


def test_times_are_counted_in_the_unit_that_is_told(tmp_path, capsys):
    frame = clicks()
    one = replay(tmp_path, "q2", "--input", saved(tmp_path / "s.csv", frame))
    dates = frame.assign(time=pd.to_datetime(frame["time"], unit="s").dt.strftime("%FT%TZ"))
    path = saved(tmp_path / "iso.csv", dates)
    iso = replay(tmp_path, "q2", "--input", path, "--time-unit", "s", name="iso")
    pd.testing.assert_frame_equal(one, iso)
    milliseconds = saved(tmp_path / "ms.csv", frame.assign(time=frame["time"] * 1_000 + 7))
    ms = replay(tmp_path, "q2", "--input", milliseconds, "--time-unit", "ms", name="ms")
    pd.testing.assert_frame_equal(one, ms)
    path.write_text(path.read_text().replace("Z,", ".5Z,", 1))
    argv = ["replay", "pipeline", "q2", "--input", str(path), "--time-unit", "s"]
    assert main([*argv, "--output", str(tmp_path / "none.parquet")]) == 2
    assert "line 2: time finer than its unit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns: {time: a}\n", "columns must be time, ticket, item"),
        ("[1, 2]\n", "must have columns"),
        ("columns: {time: time, ticket: nobody, item: item_sk}\n", "has no column named 'nobody'"),
        ("columns: {time: time, ticket: user_sk, item: item_sk}\nkeep: {time: '> x'}\n",
         "cannot be compared with '> x'"),
    ],
)  # fmt: skip
def test_a_mapping_that_is_no_good_is_refused(text, message, tmp_path, capsys):
    mapping = tmp_path / "m.yaml"
    mapping.write_text(text)
    path = saved(tmp_path / "clicks.csv", clicks().dropna())
    argv = ["replay", "pipeline", "q1", "--mapping", str(mapping), "--input", str(path)]
    assert main([*argv, "--output", str(tmp_path / "out.parquet")]) == 2
    assert message in capsys.readouterr().err
