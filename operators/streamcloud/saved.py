"""The parts of a state: arrays of words, and logs.

A *log* has tuples that come in at one end and are removed at the other, and that do not change in
between: the window of a join, the complete panes of an aggregate, the waiting tuples of a merger.
It stores how many tuples came before the first one::

    removed                         first                           end
    .  .  .  .  .  .  .  .  .  a  b  c  d  e  f  g  h  i  j  k
    position 0, 1, 2, ...      |  written before  |  since  |

So tuples that were written once are identified by position, and need not be written again
(`operators.streamcloud.segments`). Positions depend on the rows that came in and on nothing else,
as all of a state does; they have no influence on the output.

Data that changes in the middle is an array: the cells of the pane that tuples are added to, the
lists of an aggregate by groups of tuples, tuples that wait to be sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.streamcloud.rows import pack_arrays, unpack_arrays


class Log(NamedTuple):
    """The tuples of a store.

    Attributes
    ----------
    first : int
        The number of tuples before them.
    words : int64 array (words, tuples)
        A view, valid until the store changes.
    """

    first: int
    words: np.ndarray

    @property
    def end(self) -> int:
        """The position of the next tuple."""
        return self.first + self.words.shape[1]


Saved = Sequence[np.ndarray | Log]


def pack_saved(saved: Saved) -> bytes:
    """Return the bytes of a state, equal for equal ones.

    Examples
    --------
    >>> unpack_saved(pack_saved([np.arange(2), Log(7, np.zeros((3, 0), dtype=np.int64))]))
    [array([0, 1]), Log(first=7, words=array([], shape=(3, 0), dtype=int64))]
    """
    arrays = []
    for each in saved:
        arrays += [np.array([each.first]), each.words] if isinstance(each, Log) else [each]
    return pack_arrays([kinds_of(saved), *arrays])


def unpack_saved(body: bytes | memoryview) -> list[np.ndarray | Log]:
    """Return the state that `pack_saved` made bytes of.

    Raises
    ------
    ValueError
        When they are truncated.
    """
    kinds, *arrays = unpack_arrays(body)
    left = iter(arrays)
    try:
        return [Log(int(next(left)[0]), next(left)) if log else next(left) for log in kinds]
    except StopIteration as error:
        raise ValueError(f"a state of {len(kinds)} parts is cut off") from error


def kinds_of(saved: Sequence) -> np.ndarray:
    """Return for each part of a state whether it is an array, 0, or not, 1."""
    return np.array([not isinstance(each, np.ndarray) for each in saved], dtype=np.int64)
