"""The part of the test parameters that a normal run takes; ``make test-full`` takes all of them.

A kernel takes seconds to compile, and a test that repeats itself for twelve variants of a family,
all tested by the family's contract, takes a minute: it has a mark, or takes some of the variants.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from operators.check.pairwise import cover
from operators.core.jit import INTERPRETED

# Spark's workers are separate processes, in which kernels would be interpreted, too.
on_spark = pytest.mark.skipif(INTERPRETED, reason="Spark's workers run compiled kernels")

# Whether this is ``make test-full``; set as pytest begins, before any test is imported.
FULL = False


def taken(values: Iterable[Any], always: Iterable[Any]) -> tuple[Any, ...]:
    """Return those of some values that a test takes one after the other.

    Parameters
    ----------
    values : iterable
    always : iterable
        Values taken in every run; each must be among `values`.
    """
    return tuple(one.values[0] for one in with_always(values, always) if FULL or not one.marks)


def with_always(values: Iterable[Any], always: Iterable[Any]) -> list:
    """Return parameters: a normal run of the tests has those in `always`, ``make test-full`` all.

    Parameters
    ----------
    values : iterable
    always : iterable
        Values taken in every run; each must be among `values`.
    """
    values, always = tuple(values), frozenset(always)
    assert always <= set(values), f"no values: {sorted(always - set(values))}"
    return [
        pytest.param(value, marks=[] if value in always else pytest.mark.full) for value in values
    ]


def compiled_few(values: Iterable[Any], few: Iterable[Any]) -> list:
    """Return parameters: a normal run has all of them interpreted, and a few compiled.

    For a test of kernels that are made of the same functions for the other values. The Makefile
    must name the test's file for the interpreted run.

    Parameters
    ----------
    values : iterable
    few : iterable
        Values that are compiled in every run; each must be among `values`.
    """
    values = tuple(values)
    return with_always(values, values if INTERPRETED else few)


def interpreted_is_enough(test):
    """Return a test of the code around a kernel, whose functions other tests compile.

    A normal run has the test interpreted, if the Makefile names its file for that;
    ``make test-full`` has it compiled too.
    """
    return test if INTERPRETED else pytest.mark.full(test)


def covered(**dimensions: Iterable[str]) -> pytest.MarkDecorator:
    """Return the mark by which a test is run for every combination of these values.

    A normal run has a cover in which every pair of values occurs; the other combinations run in
    ``make test-full``.

    Parameters
    ----------
    **dimensions
        By argument of the test, the values.
    """
    values = {name: tuple(given) for name, given in dimensions.items()}
    chosen = {tuple(case[name] for name in values) for case in cover(values, seed=1)}
    return pytest.mark.parametrize(
        tuple(values),
        [
            pytest.param(*case, id="-".join(case), marks=[] if case in chosen else pytest.mark.full)
            for case in product(*values.values())
        ],
    )
