"""Datasets of arrays: read like a folder, and refused like one."""

from __future__ import annotations

import numpy as np
import pytest

from datasets import read
from datasets.in_memory import InMemory
from experiments.dataset_of import dataset_path, folder_for
from experiments.families.theta_join import streams
from operators.aggregation.queries import query
from operators.contract import UsageError


def keys():
    return InMemory("a few keys", "keys", {"uniform": {"r": np.arange(3), "s": np.arange(3)}})


def test_its_tables_are_read_as_those_of_a_folder():
    found = read.read_table(keys(), "uniform")
    assert list(found) == ["r", "s"] and found["r"].tolist() == [0, 1, 2]
    with pytest.raises(UsageError, match="a few keys has no table 'drift'; its tables are: unif"):
        read.read_table(keys(), "drift")


def test_a_bench_takes_it_for_the_dataset_it_runs_on():
    given = keys()
    assert dataset_path(given, "streams") is given
    with pytest.raises(UsageError, match="query k-OS runs on meters, and dataset a few keys hold"):
        folder_for(query("k-OS"), given)


def test_what_is_kept_of_one_is_not_taken_for_another():
    ones = {"a": np.ones(2), "b": np.ones(2), "c": np.ones(2), "d": np.array([True, False])}
    found = []
    for x in (1, 2):
        r = {"x": np.full(2, x), "y": np.ones(2), "z": np.array(["z", "z"], dtype="S20")}
        rows = InMemory("rows", "streams", {"r": r, "s": ones})
        found.append(streams.tables_of(rows).x.tolist())
    assert found == [[1, 1], [2, 2]]
