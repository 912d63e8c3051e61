"""Joins over windows of 2^16 tuples, where trees are deep, against the oracle of the bench."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import families
from experiments.families.join import bench as benched
from experiments.families.join import expected, streams
from experiments.families.join.streams import Keys, half_width_for
from experiments.timing.bench import Request
from operators import registry
from operators.core.jit import INTERPRETED
from tests.operators.join.parameters import SETTINGS, of_one_kernel

WINDOW = 1 << 16
ROWS = 5 * WINDOW // 2
# More than a cycle of merges at the ratio of 1; the keys begin again within it.
TUPLES = 2 * (WINDOW + 3_000)


def _uniform(random: np.random.Generator) -> np.ndarray:
    full = np.iinfo(np.int32)
    return random.integers(full.min, full.max, ROWS)


def _tied(random: np.random.Generator) -> np.ndarray:
    return random.integers(0, WINDOW // 4, ROWS)


def _extreme(random: np.random.Generator) -> np.ndarray:
    """Return keys at both ends of the domain, including equal ones."""
    ends = np.iinfo(np.int32)
    inwards = random.integers(0, WINDOW // 8, ROWS)
    return np.where(random.integers(0, 2, ROWS), ends.min + inwards, ends.max - inwards)


def _drifting(random: np.random.Generator) -> np.ndarray:
    return np.linspace(-1e9, 1e9, ROWS) + random.normal(0, 1e8, ROWS)


# By name, and the number of partners of a tuple: tied keys match equal ones, about four.
MAKERS = {
    "uniform": (_uniform, 2), "tied": (_tied, 0), "drifting": (_drifting, 2),
    "extreme": (_extreme, 0),
}  # fmt: skip
# With small nodes a tree is deeper, and needs another kernel.
OTHERS = {"b-plus-tree": [{}, {"fan_out": 4}]}


# The bench's loop around a join over a shared index takes half a minute to compile. Each run of the
# tests has that of the paper's index; the contract of indexes covers large windows of the others.
SHARED = set(registry.takers_of("join", "task_size")) - {"pim-tree-parallel"}


def cases() -> list:
    """Return every join at every parameter on all keys; each run has one of the keys for each."""
    found, place = [], 0
    for variant in SETTINGS:
        for own in OTHERS.get(variant) or of_one_kernel(variant):
            place += 1
            for number, name in enumerate(MAKERS):
                told = "-".join([variant, *map(str, own.values()), name])
                marks = [pytest.mark.xdist_group(variant)]
                if number != place % len(MAKERS) or "fan_out" in own or variant in SHARED:
                    marks.append(pytest.mark.full)
                found.append(pytest.param(variant, own, name, id=told, marks=marks))
    return found


@pytest.fixture(autouse=True)
def data(monkeypatch):
    """Read synthetic keys instead of a dataset's."""
    half_width_for.cache_clear()
    expected._kept.cache_clear()
    monkeypatch.setattr(benched, "dataset_path", lambda named, role: "made")
    monkeypatch.setattr(
        benched.read, "read_info", lambda folder: {"name": "made up", "digest": "0"}
    )
    yield
    half_width_for.cache_clear()
    expected._kept.cache_clear()


@pytest.mark.skipif(INTERPRETED, reason="three hundred thousand tuples")
@pytest.mark.parametrize(("variant", "own", "name"), cases())
def test_a_large_window_has_the_oracle_s_pairs_at_every_parameter(monkeypatch, variant, own, name):
    make, rate = MAKERS[name]
    random = np.random.default_rng(11)
    keys = Keys(*(make(random).astype(np.int32) for _ in "rs"))
    for module in (benched, streams):
        monkeypatch.setattr(module, "keys_of", lambda *place: keys)
    bench = families.ready("join", variant, {"window": WINDOW, "match_rate": rate, **own})
    row = bench.run(Request(0.1, tuples=TUPLES))
    assert row["invalid_reason"] is None and row["digest"] == row["oracle_digest"]
    assert row["outputs"] > 1.5 * row["tuples"]
    bench.variant.operations.check_invariants(bench._state)
