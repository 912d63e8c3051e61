"""The interface of all operators of an instance.

``process(batches, floor)`` receives, for each input, all tuples below `floor` that have not been
passed yet, in the total order; under best effort, in the order of arrival. It returns a batch for
each output and the floor of these, their watermark: all tuples below it have been put out. A floor
never falls, and is ``END`` once nothing more can come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from operators.streamcloud.algebra import Node, computed_by
from operators.streamcloud.expressions import Called
from operators.streamcloud.rows import as_batch
from operators.streamcloud.saved import Log, Saved


class Operator(ABC):
    """An operator with its state.

    Parameters
    ----------
    node : Node
        The operator in the query.
    codes : mapping of str to int
        Of texts.
    in_order : bool
        Whether tuples come in the total order, from a transparent merger.

    Attributes
    ----------
    comparisons : int
        Pairs of tuples that were compared.
    late : int
        Tuples that came after one of their windows had ended.
    """

    def __init__(self, node: Node, codes: Mapping[str, int], in_order: bool) -> None:
        self.node, self.in_order = node, in_order
        self.codes = codes
        self.comparisons = self.late = 0

    @cached_property
    def texts(self) -> dict[int, str]:
        """The texts by their codes, for messages."""
        return {code: text for text, code in self.codes.items()}

    @abstractmethod
    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """Process the tuples below a floor.

        Parameters
        ----------
        batches : list of int64 array (words, tuples)
            By input; they are not changed.
        floor : int

        Returns
        -------
        outputs : list of int64 array (words, tuples)
        floor : int

        Raises
        ------
        UsageError
            When an expression fails: operator, tuple and cause.
        """

    def save(self) -> list[np.ndarray | Log]:
        """Return the state, equal for equal states however they came about; parts may be views."""
        return []

    def load(self, saved: Saved) -> None:
        """Continue from a state."""
        if saved:
            raise ValueError(f"{self.node.name} keeps no state, received {len(saved)} arrays")


class Growing:
    """An array of output tuples, which grows by doubling; kernels write into it.

    Attributes
    ----------
    words, doubles : int64 and float64 arrays (words, room)
        The same memory.
    """

    def __init__(self, words: int, room: int = 1024) -> None:
        self.words = np.zeros((words, room), dtype=np.int64)
        self.doubles = self.words.view(np.float64)

    @property
    def room(self) -> int:
        """The number of tuples that fit."""
        return self.words.shape[1]

    def grow(self, used: int, room: int) -> None:
        """Make room for so many tuples, and keep the existing ones."""
        words = np.zeros((self.words.shape[0], max(room, 2 * self.room)), dtype=np.int64)
        words[:, :used] = self.words[:, :used]
        self.words, self.doubles = words, words.view(np.float64)

    def taken(self, used: int) -> np.ndarray:
        """Return a copy of the first so many tuples."""
        return as_batch(self.words[:, :used].copy())


def doubled(array: np.ndarray) -> np.ndarray:
    """Return an array of twice as many rows, with the old ones in front."""
    return np.concatenate([array, np.zeros_like(array)])


def calls_functions(node: Node) -> bool:
    """Return whether an operator calls a user's function, which may raise in a kernel."""
    return any(isinstance(each, Called) for each in computed_by(node))
