"""Words of a shared array as a table: it reads and writes what a table of NumPy would."""

from __future__ import annotations

import numpy as np
import pytest

from operators.check.shared_memory import View

EVERY = [(row, column) for row in range(-2, 2) for column in range(-3, 3)]


def both():
    """Return words and an array with the same contents, and a table of two rows of each."""
    words, array = list(range(10, 20)), np.arange(10, 20)
    return words, array, View(words, range(2, 8)).reshape(2, 3), array[2:8].reshape(2, 3)


def test_elements_are_those_of_numpy_in_both_directions():
    _, _, table, wanted = both()
    assert table.shape == wanted.shape and table.T.shape == wanted.T.shape
    for row, column in EVERY:
        assert table[row, column] == table.T[column, row] == wanted[row, column]


@pytest.mark.parametrize(("row", "column"), EVERY)
def test_an_element_that_is_set_is_a_word(row, column):
    words, array, table, wanted = both()
    table[row, column], wanted[row, column] = 3, 3
    assert words == array.tolist()
    table.T[column, row], wanted.T[column, row] = 4, 4
    assert words == array.tolist()


@pytest.mark.parametrize("index", [(2, 0), (0, 3), (-3, 0), (0, -4)])
def test_what_is_not_there_is_refused(index):
    _, _, table, _ = both()
    with pytest.raises(IndexError, match="no element"):
        table[index]
    with pytest.raises(ValueError, match="2 by 2 elements of 3 words"):
        View([1, 2, 3], range(3)).reshape(2, 2)
