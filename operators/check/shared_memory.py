"""Arrays that detect races: each plain access is compared with other threads' accesses to the word.

The rule is C11's: two accesses of one word, at least one of them a write and at least one of them
plain, must be ordered by *happens before*. Each thread has a vector clock: entry u is how far it
knows of thread u. An *epoch* is a thread and the value of that thread's clock,
``clock << 3 | thread``; an access at epoch e is before the present when ``clock[e & 7] >= e >> 3``.
As in FastTrack (Flanagan and Freund, PLDI 2009) the last write of a word is one epoch. So is the
last read, as long as each read is ordered after the one before; only then a set.

Atomic accesses never race with each other. A plain access of a word that was ever reached by an
atomic searches the trace of the run, which is slow and rare.

Arrays of any integers are shared. Arrays made by `operators.core.optimistic.racy` are read while
they change, so each access of an element is a relaxed atomic there.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from operators.check.scenario import Failure
from operators.core.atomics import RELAXED
from operators.core.layout import WORD_BYTES
from operators.core.marks import POISON
from operators.core.optimistic import RacyArray

THREAD_BITS = 3
THREAD_MASK = (1 << THREAD_BITS) - 1
# Above any thread number of a scenario. It marks a set of readers, and its clock is below every
# other, so that the one comparison of the fast path sends both cases to the slow path.
NOBODY = THREAD_MASK
SEVERAL = -1

item = list.__getitem__
set_item = list.__setitem__
_ALL = slice(None)


class Words(list):
    """A shared array of words.

    Attributes
    ----------
    name : str
        The field of the state, for people.
    base : int
        Key of word 0 in traces; word i has ``base + 2 * i``, always even.
    machine : Machine
    writes, reads : list of int
        Epoch of the last plain write and of the last plain read (or SEVERAL) of each word.
    readers : dict
        Where `reads` says SEVERAL: epoch by thread.
    atomic : list of int
        1 for words that some atomic has reached in this or an earlier run.
    poisoned : set of int
        Words whose last plain write was `poison`.
    """

    __slots__ = (
        "name", "base", "machine", "writes", "reads", "readers", "atomic", "poisoned", "_first",
        "_zeros",
    )  # fmt: skip

    def __init__(self, name: str, values: list[int], machine: Any, base: int) -> None:
        super().__init__(values)
        self.name, self.machine, self.base = name, machine, base
        self.atomic = [0] * len(values)
        self._first, self._zeros = values, [0] * len(values)
        self.writes, self.reads = self._zeros.copy(), self._zeros.copy()
        self.readers: dict[int, dict[int, int]] = {}
        self.poisoned: set[int] = set()

    @property
    def shape(self) -> tuple[int]:
        """Return the length as NumPy does."""
        return (len(self),)

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element as NumPy does: here always those of a word."""
        return WORD_BYTES

    def begin(self) -> None:
        """Go back to the first state, which happened before everything."""
        set_item(self, _ALL, self._first)
        self.writes[:] = self._zeros
        self.reads[:] = self._zeros
        if self.readers:
            self.readers.clear()
        if self.poisoned:
            self.poisoned.clear()

    def __getitem__(self, index):
        """Return a word, read plainly, or a view of several."""
        if index.__class__ is slice:
            return View(self, range(*index.indices(len(self))))
        machine = self.machine
        clock = machine.clock
        written = self.writes[index]
        if clock[written & 7] < written >> 3 or self.atomic[index] or index < 0:
            machine.plain_read(self, index)
        read = self.reads[index]
        if read != machine.epoch:
            if clock[read & 7] >= read >> 3:
                self.reads[index] = machine.epoch
            else:
                self._add_reader(index, read)
        value = item(self, index)
        if value == POISON:
            machine.fail_recycled(self, index, "read a word of a node that is free")
        return value

    def __setitem__(self, index, value):
        """Set a word, or several, plainly."""
        if index.__class__ is slice:
            View(self, range(*index.indices(len(self))))[:] = value
            return
        machine = self.machine
        clock = machine.clock
        written, read = self.writes[index], self.reads[index]
        if (
            clock[written & 7] < written >> 3
            or clock[read & 7] < read >> 3
            or self.atomic[index]
            or index < 0
        ):
            machine.plain_write(self, index)
        if self.poisoned:
            self.poisoned.discard(index)
        self.writes[index] = machine.epoch
        self.reads[index] = 0
        set_item(self, index, value)

    def _add_reader(self, index: int, read: int) -> None:
        """Remember one more thread that has read the word since its last write."""
        epoch = self.machine.epoch
        if read == SEVERAL:
            self.readers[index][epoch & THREAD_MASK] = epoch
        else:
            self.readers[index] = {read & THREAD_MASK: read, epoch & THREAD_MASK: epoch}
            self.reads[index] = SEVERAL

    def unordered_reader(self, index: int, clock: list[int]) -> int:
        """Return a thread whose plain read is not before the present, or -1."""
        read = self.reads[index]
        epochs = self.readers[index].values() if read == SEVERAL else (read,)
        for epoch in epochs:
            if clock[epoch & THREAD_MASK] < epoch >> THREAD_BITS:
                return epoch & THREAD_MASK
        return -1


class RacyWords(Words):
    """A shared array whose elements are read while they change: each access is a step."""

    __slots__ = ()

    def __getitem__(self, index):
        """Return a word, read by a relaxed atomic, or a view of several."""
        if index.__class__ is slice:
            return View(self, range(*index.indices(len(self))))
        return self.machine.load(self, index, RELAXED)

    def __setitem__(self, index, value):
        """Set a word, or several, by relaxed atomics."""
        if index.__class__ is slice:
            View(self, range(*index.indices(len(self))))[:] = value
        else:
            self.machine.store(self, index, value, RELAXED)


class View(Sequence):
    """Some words of an array: a slice, as in NumPy."""

    def __init__(self, words: Words, places: range) -> None:
        self._words, self._places = words, places

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._places)

    def __getitem__(self, index):
        """Return a word, read plainly, or a view of several."""
        if isinstance(index, slice):
            return View(self._words, self._places[index])
        return self._words[self._places[index]]

    def reshape(self, rows: int, columns: int) -> Table:
        """Return the words as a table."""
        return Table(self, rows, columns, columns, 1)

    def __lt__(self, value: int) -> list[bool]:
        """Return for each word, read in turn, whether it is below a value."""
        return [each < value for each in self]

    def copy(self) -> list[int]:
        """Return the words, read in turn."""
        return list(self)

    def __setitem__(self, index, value):
        """Set a word, or several, plainly."""
        if not isinstance(index, slice):
            self._words[self._places[index]] = value
            return
        places = self._places[index]
        values = value if hasattr(value, "__len__") else [value] * len(places)
        for place, each in zip(places, values, strict=True):
            self._words[place] = int(each)


class Table:
    """Some words as a table of two dimensions, as in NumPy: each element is a word."""

    def __init__(self, view: View, rows: int, columns: int, down: int, right: int) -> None:
        if rows * columns != len(view):
            raise ValueError(f"{rows} by {columns} elements of {len(view)} words")
        self._view, self.shape = view, (rows, columns)
        self._down, self._right = down, right

    @property
    def T(self) -> Table:
        """The table with its rows as columns."""
        return Table(self._view, *reversed(self.shape), self._right, self._down)

    def _place(self, index: tuple[int, int]) -> int:
        for at, length in zip(index, self.shape, strict=True):
            if not -length <= at < length:
                raise IndexError(f"there is no element {index} in a table of {self.shape}")
        row, column = (at % length for at, length in zip(index, self.shape, strict=True))
        return row * self._down + column * self._right

    def __getitem__(self, index: tuple[int, int]) -> int:
        """Return a word, read plainly."""
        return self._view[self._place(index)]

    def __setitem__(self, index: tuple[int, int], value: int) -> None:
        """Set a word, plainly."""
        self._view[self._place(index)] = value


def share(state: Any, machine: Any) -> tuple[Any, list[tuple[Words, np.ndarray]]]:
    """Return `state` with Words instead of the writeable arrays, and the pairs of both.

    Parameters
    ----------
    state : NamedTuple
        Fields are arrays, numbers, such NamedTuples again, or tuples of all these.
    machine : Machine
        The machine whose clocks order the accesses.

    Raises
    ------
    Failure
        When an array is not a row of integers, or two arrays share memory: an access of one would
        go unnoticed in the other.
    """
    pairs: list[tuple[Words, np.ndarray]] = []
    base = 0

    def convert(value: Any, name: str) -> Any:
        nonlocal base
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            path = f"{name}." if name else ""
            return type(value)(
                *(convert(v, path + f) for f, v in zip(value._fields, value, strict=True))
            )
        if type(value) is tuple and any(map(_is_shared, value)):
            return tuple(convert(v, f"{name}[{k}]") for k, v in enumerate(value))
        # A read-only array cannot race, and a write to it raises.
        if not isinstance(value, np.ndarray) or not value.flags.writeable:
            return value
        if value.ndim != 1 or value.dtype.kind not in "iu":
            raise Failure(
                "exception", f"array {name} must be one row of integers, not {value.dtype} of"
                f" {value.ndim} dimensions: nobody would see who reaches it"
            )  # fmt: skip
        for words, there in pairs:
            if there is value:
                return words
            if np.may_share_memory(there, value):
                raise Failure("exception", f"arrays {words.name} and {name} share memory")
        kind = RacyWords if isinstance(value, RacyArray) else Words
        words = kind(name, value.tolist(), machine, base)
        base += 2 * len(value)
        pairs.append((words, value))
        return words

    return convert(state, ""), pairs


def _is_shared(value: Any) -> bool:
    """Return whether a value is an array, or a state with fields."""
    return isinstance(value, np.ndarray) or hasattr(value, "_fields")


def settle(pairs: list[tuple[Words, np.ndarray]]) -> None:
    """Copy the words back into the arrays that they were made from."""
    for words, there in pairs:
        # A buffer is several times as quick as a list, and joins have thousands of words. Of
        # narrower elements the list is checked: a word that does not fit raises.
        there[:] = _buffer_of([words]) if there.dtype == np.int64 else list(words)


def digest_of(every: Iterable[Words]) -> bytes:
    """Return 16 bytes that stand for the values of all words.

    The states of one join took gigabytes; a collision of 128 bits is less likely than a hardware
    fault.
    """
    return hashlib.blake2b(_buffer_of(every), digest_size=16).digest()


def _buffer_of(every: Iterable[Words]) -> array:
    """Return the values of words, read past the accesses that the machine would count."""
    values = array("q")
    for words in every:
        values.fromlist(words)
    return values


def place_of(pairs: list[tuple[Words, np.ndarray]], key: int) -> str:
    """Return name and index of the word with `key`, for people."""
    for words, _ in pairs:
        if words.base <= key < words.base + 2 * len(words):
            return f"{words.name}[{(key - words.base) // 2}]"
    return f"word {key // 2}"
