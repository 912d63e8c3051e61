"""R and S of the CellJoin benchmark: distributed as declared, with the documented selectivity."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from datasets import catalog
from datasets.cell_join import generate as cell_join
from datasets.description import read_info
from datasets.generate import generate
from datasets.read import read_table
from tests.datasets.distributions import near_uniform

ROOT = Path(__file__).resolve().parents[2]
# Enough to distinguish one match in 238,315 pairs from the paper's one in 250,000.
ROWS = 1 << 16
BAND = 10
# Tolerance of a statistic in standard errors: exceeded in one of a million datasets.
ERRORS = 5.0
TABLES = ("r", "s", "rates")


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cell_join") / "set"
    generate("cell_join", ROWS, 7, folder, "local[2]", 2)
    return folder


@pytest.fixture(scope="module")
def r(made) -> dict[str, np.ndarray]:
    return read_table(made, "r")


@pytest.fixture(scope="module")
def s(made) -> dict[str, np.ndarray]:
    return read_table(made, "s")


def characters_of(z: np.ndarray) -> np.ndarray:
    """Return the characters, (rows, 20), of texts of one byte a character."""
    return z.astype("S20").view("S1").reshape(len(z), 20)


def test_streams_have_the_columns_of_the_benchmark_and_a_tuple_each_ms(r, s):
    assert [(name, column.dtype) for name, column in r.items()] == [
        ("ts", np.int64),
        ("row", np.int64),
        ("x", np.int32),
        ("y", np.float32),
        ("z", object),
    ]
    assert [(name, column.dtype) for name, column in s.items()] == [
        ("ts", np.int64),
        ("row", np.int64),
        ("a", np.int32),
        ("b", np.float32),
        ("c", np.float64),
        ("d", bool),
    ]
    for columns in (r, s):
        assert np.array_equal(columns["row"], np.arange(ROWS))
        assert np.array_equal(columns["ts"], 1_000 * np.arange(ROWS))


def test_profiles_have_powers_of_two_and_the_paper_s_fills_its_longest_window():
    declared = catalog.dataset("cell_join")
    assert declared.rows == {"quick": 1 << 18, "laptop": 1 << 20, "paper": 1 << 22}
    assert (declared.role, declared.main.name) == ("streams", "r")
    assert declared.rows["paper"] > 15 * 60 * 3_000


def test_whole_numbers_are_uniform_from_1_to_10_000(r, s):
    for column in (r["x"], s["a"]):
        assert (column.min(), column.max()) == (1, 10_000)
        assert near_uniform((column - 0.5) / 10_000)
        # A hundred classes: chi-square with 99 degrees of freedom, of deviation sqrt(198).
        counts = np.bincount((column - 1) // 100, minlength=100)
        chi_square = ((counts - ROWS / 100) ** 2).sum() / (ROWS / 100)
        assert abs(chi_square - 99) < ERRORS * math.sqrt(198)


def test_real_numbers_are_uniform_from_1_to_10_000_and_not_whole(r, s):
    for column in (r["y"], s["b"]):
        values = column.astype(np.float64)
        assert 1.0 <= values.min() < 1.0 + 9_999 * 20 / ROWS
        assert 10_000 - 9_999 * 20 / ROWS < values.max() <= 10_000.0
        assert near_uniform((values - 1.0) / 9_999)
        error = 9_999 / math.sqrt(12 * ROWS)
        assert abs(values.mean() - 5_000.5) < ERRORS * error
        # From 8,192 on 32 bits leave a thousandth: whole numbers are as rare there.
        assert np.mean(values == np.rint(values)) < 0.002


def test_the_rest_of_s_is_uniform_below_1_and_true_for_half(s):
    assert 0.0 <= s["c"].min() < s["c"].max() < 1.0
    assert near_uniform(s["c"])
    # All 53 bits are present: a float32 would have lost the lower ones.
    assert np.mean(s["c"].astype(np.float32) == s["c"]) < 0.01
    assert abs(s["d"].mean() - 0.5) < ERRORS / (2 * math.sqrt(ROWS))


def test_texts_are_20_letters_and_digits_all_as_frequent_at_each_place(r):
    assert {len(text) for text in r["z"]} == {20}
    assert all(text.isascii() and text.isalnum() for text in r["z"])
    assert len(set(r["z"])) == ROWS
    found = characters_of(r["z"])
    kinds = np.unique(found)
    assert len(kinds) == len(cell_join.CHARACTERS) == 32
    for place in range(20):
        counts = np.array([(found[:, place] == kind).sum() for kind in kinds])
        chi_square = ((counts - ROWS / 32) ** 2).sum() / (ROWS / 32)
        assert abs(chi_square - 31) < ERRORS * math.sqrt(62)
    # No two positions contain the same hash bits.
    for place in range(20):
        same = (found[:, place : place + 1] == found[:, place + 1 :]).mean(axis=0)
        assert np.all(np.abs(same - 1 / 32) < ERRORS * math.sqrt(1 / 32 / ROWS))


def test_columns_and_tuples_know_nothing_of_each_other(r, s):
    first = characters_of(r["z"])[:, 0].view(np.uint8).ravel()
    columns = [r["x"], r["y"], first, s["a"], s["b"], s["c"], s["d"]]
    here = np.array([column.astype(np.float64) for column in columns])
    # Each column against each other one in the same row, and in the row before.
    correlations = np.corrcoef(here[:, 1:], here[:, :-1])
    np.fill_diagonal(correlations, 0.0)
    assert np.abs(correlations).max() < ERRORS / math.sqrt(ROWS)


def matches(r: dict[str, np.ndarray], s: dict[str, np.ndarray]) -> int:
    """Count the pairs of all of R and all of S that satisfy the paper's predicate."""
    order = np.argsort(s["a"])
    a, b = s["a"][order], s["b"][order].astype(np.float64)
    first = np.searchsorted(a, r["x"] - BAND, side="left")
    last = np.searchsorted(a, r["x"] + BAND, side="right")
    return sum(
        int(np.count_nonzero(np.abs(b[start:end] - y) <= BAND))
        for start, end, y in zip(first, last, r["y"].astype(np.float64), strict=True)
    )


def test_one_pair_in_238_315_matches(r, s):
    # Pairs of 1 to 10,000 at most 10 apart: 21 for each number, fewer at both ends.
    whole = (21 * 10_000 - 2 * sum(range(1, BAND + 1))) / 10_000**2
    real = 1 - (1 - BAND / 9_999) ** 2
    assert 1 / (whole * real) == pytest.approx(238_315, abs=1)
    expected = ROWS**2 * whole * real
    found = matches(r, s)
    assert abs(found - expected) < ERRORS * math.sqrt(expected)
    assert abs(found - ROWS**2 / 250_000) > ERRORS * math.sqrt(expected)


def test_no_table_depends_on_the_number_of_partitions_and_streams_on_the_seed(made, tmp_path):
    few = ROWS // 8
    five = generate("cell_join", few, 7, tmp_path / "5", "local[2]", 5)
    other = generate("cell_join", few, 8, tmp_path / "other", "local[2]", 2)
    for name in TABLES:
        entries = [info["tables"][name] for info in (five, other)]
        assert (entries[0]["digest"] == entries[1]["digest"]) == (name == "rates")
        assert len(entries[0]["files"]) == 5
        # A larger dataset begins with the rows of a smaller one, and the rates are complete in
        # both.
        small, large = read_table(tmp_path / "5", name), read_table(made, name)
        rows = len(large["tuples"]) if name == "rates" else few
        assert {len(values) for values in small.values()} == {rows}
        assert all(np.array_equal(small[column], large[column][:rows]) for column in small)


def test_everything_that_shapes_the_set_stands_in_its_description(made):
    told = read_info(made)["parameters"]
    assert (told["rows"], told["ticks_a_tuple"]) == (ROWS, 1_000)
    assert (told["least"], told["most"], told["length"]) == (1, 10_000, 20)
    assert (told["peak_factor"], told["peak_seconds"], told["true_share"]) == (5, 5, 0.5)
    assert told["rates"][0] == {
        "profile": "constant",
        "side": "r",
        "number": 0,
        "base": 1_200,
        "amplitude": 0,
        "period": 300,
        "phase": 0,
        "peaks": [],
    }


def test_declaring_and_reading_rates_needs_no_spark():
    code = (
        "import sys; from datasets.cell_join import profiles, tables;"
        " print(*[m for m in sys.modules if 'spark' in m or 'py4j' in m])"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert said.strip() == ""
