"""What each run of the tests takes of what there is, and ``make test-full`` all of it.

A kernel takes seconds to compile, and a test that asks the same of twelve variants of a family, all
tested by its contract, takes a minute: it has a mark, or takes some of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from operators.core.jit import INTERPRETED
from tests.stress.pairwise import cover

# Whether this is ``make test-full``; set as pytest begins, before any test is imported.
FULL = False


def taken(values: Iterable[Any], always: Iterable[Any]) -> tuple[Any, ...]:
    """Return those of some values that a test takes one after the other.

    Parameters
    ----------
    values : iterable
    always : iterable
        Those of each run; one that is no value is a mistake.
    """
    return tuple(one.values[0] for one in with_always(values, always) if FULL or not one.marks)


def with_always(values: Iterable[Any], always: Iterable[Any]) -> list:
    """Return parameters of which each run of the tests has some, and ``make test-full`` all.

    Parameters
    ----------
    values : iterable
    always : iterable
        Those of each run; one that is no value is a mistake.
    """
    values, always = tuple(values), frozenset(always)
    assert always <= set(values), f"no values: {sorted(always - set(values))}"
    return [
        pytest.param(value, marks=[] if value in always else pytest.mark.full) for value in values
    ]


def compiled_few(values: Iterable[Any], few: Iterable[Any]) -> list:
    """Return parameters of which each run of the tests has all interpreted, and compiled a few.

    For a test whose file the Makefile names for the interpreted run, of kernels whose other values
    are made of the same functions.

    Parameters
    ----------
    values : iterable
    few : iterable
        Those that are compiled in each run; one that is no value is a mistake.
    """
    values = tuple(values)
    return with_always(values, values if INTERPRETED else few)


def interpreted_is_enough(test):
    """Return a test of what is around a kernel, whose functions other tests compile.

    Each run of the tests has it interpreted, its file being one that the Makefile names for that,
    and ``make test-full`` compiled as well.
    """
    return test if INTERPRETED else pytest.mark.full(test)


def covered(**dimensions: Iterable[str]) -> pytest.MarkDecorator:
    """Return the mark by which a test is run for every combination of these values.

    Every pair of values occurs in each run of the tests; the other combinations are those of
    ``make test-full``.

    Parameters
    ----------
    **dimensions
        By argument of the test, what it may be.
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
