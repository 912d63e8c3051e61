"""Keys for band joins: the paper's distributions, and a drift in three phases."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from pyspark.sql import functions as F

from datasets import catalog
from datasets.band_join_keys import generate as band_join_keys
from datasets.band_join_keys import keys
from datasets.band_join_keys.normal import with_normal
from datasets.description import read_info
from datasets.generate import generate
from datasets.read import read_table

ROOT = Path(__file__).resolve().parents[2]
ROWS = 1 << 15
GAUSSIAN, GAMMA = 1 << 29, 1 << 24

# By table: mean, standard deviation, and kurtosis, which gives the tolerance of the latter.
MOMENTS = {
    "uniform": (-0.5, 2**32 / math.sqrt(12), 1.8),
    "gaussian": (0.5 * GAUSSIAN, 0.125 * GAUSSIAN, 3.0),
    "gamma_3_3": (9 * GAMMA, math.sqrt(27) * GAMMA, 5.0),
    "gamma_1_5": (5 * GAMMA, 5 * GAMMA, 9.0),
}
# Tolerance of a moment in standard errors: exceeded in one of a million datasets.
ERRORS = 5.0


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("band_join_keys") / "set"
    generate("band_join_keys", ROWS, 7, folder, "local[2]", 2)
    return folder


def near_moments(keys_found: np.ndarray, mean: float, deviation: float, kurtosis: float) -> bool:
    rows = len(keys_found)
    off_mean = abs(keys_found.mean(dtype=np.float64) - mean) / deviation
    off_deviation = abs(keys_found.std(dtype=np.float64) / deviation - 1.0)
    return off_mean < ERRORS / math.sqrt(rows) and off_deviation < ERRORS * math.sqrt(
        (kurtosis - 1.0) / (4.0 * rows)
    )


def test_two_streams_have_a_row_each_and_the_drifting_one_twice_as_many(made):
    for name in MOMENTS:
        columns = read_table(made, name)
        assert {column: values.dtype for column, values in columns.items()} == {
            "row": np.int64,
            "r": np.int32,
            "s": np.int32,
        }
        assert columns["row"].tolist() == list(range(ROWS))
    drift = read_table(made, "drift")
    assert list(drift) == ["row", "normal", "shift"]
    assert drift["row"].tolist() == list(range(2 * ROWS))


def test_profiles_have_powers_of_two_and_at_most_the_drift_of_the_paper():
    rows = catalog.dataset("band_join_keys").rows
    assert rows == {"quick": 1 << 19, "laptop": 1 << 23, "paper": 1 << 26}
    found = {size: band_join_keys.drifting(asked) for size, asked in rows.items()}
    assert found == {"quick": 16 << 16, "laptop": 16 << 18, "paper": 16 << 20}


@pytest.mark.parametrize("name", MOMENTS)
def test_keys_have_mean_and_deviation_of_their_distribution(made, name):
    columns = read_table(made, name)
    for stream in ("r", "s"):
        assert near_moments(columns[stream], *MOMENTS[name])
    both = np.corrcoef(columns["r"], columns["s"])[0, 1]
    after = np.corrcoef(columns["r"][1:], columns["r"][:-1])[0, 1]
    assert max(abs(both), abs(after)) < ERRORS / math.sqrt(ROWS)


def test_quantiles_are_those_of_the_distributions(made):
    # Both Gamma distributions in closed form: one minus a Poisson sum.
    def below_exponential(x: np.ndarray) -> np.ndarray:
        return 1 - np.exp(-x / 5)

    def below_three(x: np.ndarray) -> np.ndarray:
        return 1 - np.exp(-x / 3) * (1 + x / 3 + (x / 3) ** 2 / 2)

    gaussian = np.vectorize(NormalDist(0.5, 0.125).cdf)
    for name, below, unit in (
        ("uniform", lambda x: x + 0.5, 2.0**32),
        ("gaussian", gaussian, GAUSSIAN),
        ("gamma_3_3", below_three, GAMMA),
        ("gamma_1_5", below_exponential, GAMMA),
    ):
        share = below(np.sort(read_table(made, name)["s"]) / unit)
        # Kolmogorov and Smirnov's distance: exceeds 2.5 once in two hundred thousand sets.
        distance = np.abs(share - (np.arange(ROWS) + 0.5) / ROWS).max()
        assert distance < 2.5 / math.sqrt(ROWS)


def test_uniform_keys_fill_all_of_32_bits_and_gamma_keys_are_never_negative(made):
    uniform = read_table(made, "uniform")["r"].astype(np.int64)
    assert uniform.min() < keys.LEAST_KEY + 2**32 / 1_000
    assert uniform.max() > keys.MOST_KEY - 2**32 / 1_000
    # The low bits are as random as the high ones.
    assert abs(np.mean(uniform & 1) - 0.5) < ERRORS / (2 * math.sqrt(ROWS))
    for name in band_join_keys.GAMMAS:
        assert read_table(made, name)["s"].min() >= 0


def test_what_does_not_fit_32_bits_is_saturated_by_spark_and_by_numpy_alike(spark):
    values = [-1e300, -(2.0**31) - 1, -(2.0**31), -1.5, -0.5, 0.5, 1.5, 2.5, 2.0**31 - 0.6, 2.0**31]
    frame = spark.createDataFrame([(value,) for value in values], "real double")
    found = [row[0] for row in frame.select(band_join_keys.saturated(F.col("real"))).collect()]
    assert found == keys.saturated(np.array(values)).tolist()
    assert found[:4] == [-(1 << 31)] * 3 + [-2]
    assert found[5:] == [0, 2, 2, (1 << 31) - 1, (1 << 31) - 1]
    # A Gamma key beyond the range is possible: the rarest exponential is that large.
    assert 5 * 53 * math.log(2) * GAMMA > keys.MOST_KEY


def test_variates_are_the_quantiles_of_a_normal_distribution(spark):
    # Both sides of the bounds of the middle and of the far tails, and the ends of the drawable
    # range.
    places = [2.0**-53, 1e-12, 1.3e-11, 1.5e-11, 1e-6, 0.074, 0.075, 0.076, 0.3, 0.5]
    places += [1.0 - place for place in places]
    frame = spark.createDataFrame([(place,) for place in places], "place double")
    found = [row[0] for row in with_normal(frame, "z", F.col("place")).select("z").collect()]
    assert found == pytest.approx([NormalDist().inv_cdf(place) for place in places], rel=1e-13)
    assert found[9] == 0.0


def test_an_open_uniform_is_never_0_or_1(spark, monkeypatch):
    for word, expected in ((0, 2.0**-53), (-1, 1.0 - 2.0**-53)):
        monkeypatch.setattr(
            band_join_keys, "hashed", lambda *_, word=word: F.lit(word).cast("bigint")
        )
        columns = band_join_keys.open_uniform(1, "u"), band_join_keys.exponential(1, "e")
        u, e = spark.range(1).select(*columns).collect()[0]
        assert u == expected
        assert e == pytest.approx(-math.log(expected), rel=1e-12)


def test_the_drift_stands_rises_and_stands(made):
    shift = read_table(made, "drift")["shift"]
    first, last = 3 * len(shift) // 16, 13 * len(shift) // 16
    assert not shift[: first + 1].any()
    assert (shift[last:] == 1.0).all()
    rising = shift[first : last + 1]
    assert rising == pytest.approx(np.linspace(0.0, 1.0, len(rising)), abs=1e-12)
    assert (np.diff(rising) > 0).all()


def test_a_drift_of_0_is_a_gaussian_that_stands_and_one_of_1_moves_its_mean(made):
    drift = read_table(made, "drift")
    normal, shift, rows = drift["normal"], drift["shift"], len(drift["row"])
    assert near_moments(normal, 0.0, 1.0, 3.0)
    phases = [slice(0, 3 * rows // 16), slice(13 * rows // 16, rows)]
    still, moved = (keys.drifting_keys(normal, shift, r) for r in (0.0, 1.0))
    assert (still.dtype, moved.dtype) == (np.int32, np.int32)
    for phase in phases:
        assert near_moments(still[phase], 0.5 * GAUSSIAN, 0.125 * GAUSSIAN, 3.0)
    before, after = phases
    assert np.array_equal(moved[before], still[before])
    assert np.abs(moved[after].astype(np.int64) - still[after] - GAUSSIAN).max() <= 1
    wide = keys.drifting_keys(normal, shift, 0.0, deviation=math.sqrt(0.125))
    assert near_moments(wide, 0.5 * GAUSSIAN, math.sqrt(0.125) * GAUSSIAN, 3.0)


def test_drifting_keys_are_saturated():
    normal, shift = np.array([-1e3, 0.0, 1e3]), np.array([0.0, 0.5, 1.0])
    assert keys.drifting_keys(normal, shift, 1.0).tolist() == [-(1 << 31), 1 << 29, (1 << 31) - 1]


def test_keys_depend_on_the_seed_and_not_on_how_many_there_are_or_in_how_many_parts(made, tmp_path):
    small = generate("band_join_keys", ROWS // 8, 7, tmp_path / "small", "local[2]", 5)
    other = generate("band_join_keys", ROWS // 8, 8, tmp_path / "other", "local[2]", 2)
    assert small["digest"] != other["digest"]
    # A small dataset's drift is a short one, which the test of a drift covers.
    columns_of = {**dict.fromkeys(MOMENTS, ("row", "r", "s")), "drift": ("row", "normal")}
    for name, columns in columns_of.items():
        assert len(small["tables"][name]["files"]) == 5
        assert small["tables"][name]["digest"] != other["tables"][name]["digest"]
        few, all_rows = read_table(tmp_path / "small", name), read_table(made, name)
        assert len(few["row"]) == len(all_rows["row"]) // 8
        for column in columns:
            assert np.array_equal(few[column], all_rows[column][: len(few[column])])


def test_everything_that_shapes_the_set_stands_in_its_description(made):
    told = read_info(made)["parameters"]
    assert (told["rows"], told["drift_rows"], told["drift_phases"]) == (ROWS, 2 * ROWS, [3, 10, 3])
    assert told["gaussian"] == {"mean": 0.5, "deviation": 0.125, "units": GAUSSIAN}
    assert told["gamma_3_3"] == {"shape": 3, "scale": 3.0, "units": GAMMA}
    assert told["gamma_1_5"] == {"shape": 1, "scale": 5.0, "units": GAMMA}


def test_declaring_and_making_keys_needs_no_spark():
    code = (
        "import sys; from datasets.band_join_keys import keys, tables;"
        " print(*[m for m in sys.modules if 'spark' in m or 'py4j' in m])"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert said.strip() == ""
