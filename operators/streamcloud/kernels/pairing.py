"""What joins and products share: tuples of both sides in one order, and the window of the other.

::

    left   ..d  b  a  -+    the earlier of the two, left at equal times, meets the tuples of the
                       +->  other window that are near, in the order in which they came, and then
    right  ..   c     -+    enters its own

A tuple lets go of what is too old for it in the *opposite* window. Where both sides come in order
that takes away nothing that is needed. Under best effort a tuple that comes behind a later one of
its own side may find that its partner is gone: that pair is lost (the paper's (1, B)).

    arrival 1@2, 2@5, D@6, B@3, size 3:  D lets go of what is before 3, so of 1; B meets 2 alone

A kernel goes through both batches, and leaves off where there is no room for a pair, to be called
again: ``run`` says where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from operators.core.jit import inlined, kernel
from operators.streamcloud.algebra import SIDES, SMALLER, Product
from operators.streamcloud.faults import fail_at_pair
from operators.streamcloud.generated import Place, Writer, stored
from operators.streamcloud.kernels.operator import Growing, Operator, calls_functions
from operators.streamcloud.kernels.reorder import Reorder
from operators.streamcloud.kernels.stores import (
    FIRST,
    LAST,
    PURGED,
    Window,
    bucket_of,
    drop_first,
    link,
    purge,
)
from operators.streamcloud.order import key_width
from operators.streamcloud.rows import END, words_of
from operators.streamcloud.windows import CountWindow

# What a kernel answers.
DONE, NO_ROOM, FAULT = range(3)
# Words of `run`: the next tuple of either side, where in the opposite window it goes on, how many
# pairs there are, how many were looked at, how many tuples were late, the window's size in time and
# in tuples.
NEXT_LEFT, NEXT_RIGHT, CURSOR, MADE, COMPARED, LATE, SPAN, COUNT = range(8)
# A cursor of a tuple that has not begun.
FRESH = -2
# More than any distance in time, and than any number of tuples.
UNLIMITED = 1 << 62


@cache
def make_write_key(side: int, widths: tuple[int, int], smaller: bool) -> Callable:
    """Return the function that writes the order key of a pair; `make_probe` says of what."""
    own_width, other_width = widths

    @inlined
    def write_key(words, i, other, place, out, put):
        """Write the time, this tuple's key with its side behind the time, the other one's key."""
        base = 0
        if smaller:
            out[0, put] = min(words[0, i], other.words[0, place])
            base = 1
        # Under best effort the one that came later may be the earlier one.
        out[base, put] = max(words[0, i], other.words[0, place])
        out[base + 1, put] = side
        for word in range(1, own_width):
            out[base + 1 + word, put] = words[word, i]
        for word in range(other_width):
            out[base + 1 + own_width + word, put] = other.words[word, place]

    return write_key


@cache
def make_pair_with(
    side: int, write_key: Callable, equal: Callable, matches: Callable, fill: Callable
) -> Callable:
    """Return the function that puts out two tuples if they are a pair; see `make_probe`."""

    @inlined
    def pair_with(words, doubles, i, other, place, out, out_doubles, run):
        """Put out a pair if it is one."""
        if side == 0:
            if not equal(words, i, other.words, place):
                return DONE
            found = matches(words, doubles, i, other.words, other.doubles, place)
        else:
            if not equal(other.words, place, words, i):
                return DONE
            found = matches(other.words, other.doubles, place, words, doubles, i)
        if found < 0:
            return FAULT
        if found == 0:
            return DONE
        put = run[MADE]
        if put == out.shape[1]:
            return NO_ROOM
        write_key(words, i, other, place, out, put)
        if side == 0:
            filled = fill(
                words, doubles, i, other.words, other.doubles, place, out, out_doubles, put
            )
        else:
            filled = fill(
                other.words, other.doubles, place, words, doubles, i, out, out_doubles, put
            )
        if not filled:
            return FAULT
        run[MADE] = put + 1
        return DONE

    return pair_with


@cache
def make_probe(
    side: int,
    widths: tuple[int, int],
    smaller: bool,
    hash_words: Callable | None,
    equal: Callable | None,
    matches: Callable,
    fill: Callable,
) -> Callable:
    """Return the function that lets one tuple of a side meet the other window.

    Parameters
    ----------
    side : int
        0 left, 1 right.
    widths : (int, int)
        Words of the order keys, of this side and of the other one.
    smaller : bool
        Whether a pair has the smaller time.
    hash_words, equal : callable or None
        Of an equijoin: the hash of a tuple, and whether a left and a right one agree.
    matches, fill : callable
        Whether a left and a right tuple match, -1 where that fails; computes the columns of their
        pair, False where that fails.
    """
    chained = hash_words is not None
    if hash_words is None:
        hash_words, equal = _no_hash, _always
    write_key = make_write_key(side, widths, smaller)
    pair_with = make_pair_with(side, write_key, equal, matches, fill)

    @inlined
    def enter(words, i, own, hashed, run):
        """Put the tuple into its own window."""
        at = own.ends[LAST]
        for word in range(words.shape[0]):
            own.words[word, at] = words[word, i]
        own.ends[LAST] = at + 1
        if chained:
            link(own, at, hashed)
        while own.ends[LAST] - own.ends[FIRST] > run[COUNT]:
            drop_first(own, chained)

    @inlined
    def probe(words, doubles, i, own, other, out, out_doubles, run):
        """Let a tuple meet the other window, and enter its own; or say why it left off."""
        ts = words[0, i]
        hashed = hash_words(words, i)
        place = run[CURSOR]
        if place == FRESH:
            if max(0, ts - run[SPAN]) < other.ends[PURGED]:
                run[LATE] += 1
            purge(other, ts - run[SPAN], chained)
            place = other.heads[bucket_of(other, hashed)] if chained else other.ends[FIRST]
        last, oldest, span = other.ends[LAST], other.ends[PURGED], run[SPAN]
        compared = 0
        while (place >= 0) if chained else (place < last):
            time = other.words[0, place]
            if time >= oldest and abs(ts - time) <= span:
                compared += 1
                status = pair_with(words, doubles, i, other, place, out, out_doubles, run)
                if status != DONE:
                    run[CURSOR] = place
                    run[COMPARED] += compared - 1
                    return status
            place = other.following[place] if chained else place + 1
        run[CURSOR] = FRESH
        run[COMPARED] += compared
        enter(words, i, own, hashed, run)
        return DONE

    return probe


@inlined
def _no_hash(words, i):
    return 0


@inlined
def _always(left, i, right, j):
    return True


@inlined
def left_is_next(left, right, run):
    """Return whether the left has the next tuple: the earlier one, or one of the same time."""
    if run[NEXT_RIGHT] == right.shape[1]:
        return True
    if run[NEXT_LEFT] == left.shape[1]:
        return False
    return left[0, run[NEXT_LEFT]] <= right[0, run[NEXT_RIGHT]]


@cache
def make_pairing(probe_left: Callable, probe_right: Callable) -> Callable:
    """Return the kernel of a join: of two functions that `make_probe` returns."""

    @kernel
    def pair_all(
        left, left_doubles, right, right_doubles, left_window, right_window, out, out_doubles, run
    ):
        """Pair all tuples of both sides, or leave off: ``NO_ROOM`` or ``FAULT``."""
        while run[NEXT_LEFT] < left.shape[1] or run[NEXT_RIGHT] < right.shape[1]:
            if left_is_next(left, right, run):
                status = probe_left(
                    left, left_doubles, run[NEXT_LEFT], left_window, right_window, out,
                    out_doubles, run,
                )  # fmt: skip
                if status != DONE:
                    return status
                run[NEXT_LEFT] += 1
            else:
                status = probe_right(
                    right, right_doubles, run[NEXT_RIGHT], right_window, left_window, out,
                    out_doubles, run,
                )  # fmt: skip
                if status != DONE:
                    return status
                run[NEXT_RIGHT] += 1
        return DONE

    return pair_all


class Pairing(Operator):
    """A join or a product: what differs is how the opposite window is searched."""

    def __init__(self, node: Product, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        (made,) = node.outputs
        self._words = words_of(made)
        module = self._written(codes)
        widths = [key_width(taken) for taken in node.inputs]
        smaller, searches = node.time == SMALLER, self.searches(module)
        self.kernel = make_pairing(
            *(
                make_probe(side, (widths[side], widths[1 - side]), smaller, *searches[side],
                           module.matches, module.fill)
                for side in (0, 1)
            )
        )  # fmt: skip
        self.windows = [
            Window(words_of(taken), self.relink(searches[side][0]))
            for side, taken in enumerate(node.inputs)
        ]
        self._run = np.zeros(8, dtype=np.int64)
        counts = isinstance(node.window, CountWindow)
        self._run[SPAN] = UNLIMITED if counts else node.window.size
        self._run[COUNT] = node.window.size if counts else UNLIMITED
        self._out = Growing(self._words)
        self._reorder = Reorder(self._words, key_width(made)) if smaller else None
        self._floor = 0

    def searches(self, module) -> list[tuple[Callable | None, Callable | None]]:
        """Return hash and equality of each side, None where there are none."""
        raise NotImplementedError

    def relink(self, hash_words: Callable | None) -> Callable | None:
        """Return what makes the chains of a side's window."""
        raise NotImplementedError

    def write_search(self, writer: Writer) -> None:
        """Add the functions that `searches` finds in the module."""

    def _written(self, codes: Mapping[str, int]):
        node, (made,) = self.node, self.node.outputs
        writer = Writer(
            node.name,
            codes,
            [
                Place(output, side, f"{side}_doubles", index, side)
                for output, side, index in zip(node.inputs, SIDES, "ij", strict=True)
            ],
        )
        pair = "left, left_doubles, i, right, right_doubles, j"
        lines = ["return 1"]
        if node.where is not None:
            lines = [*writer.lines("where", node.where, 0, "-1"), "return 1 if value_0 else 0"]
        writer.function(f"matches({pair})", lines)
        lines = []
        for number, (name, value) in enumerate(node.columns):
            lines += writer.lines(f"columns.{name}", value, number, "False")
            lines.append(stored(made, name, number))
        writer.function(f"fill({pair}, out, out_doubles, o)", [*lines, "return True"])
        self.write_search(writer)
        return writer.module()

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        left, right = batches
        for window, batch in zip(self.windows, batches, strict=True):
            window.make_room(batch.shape[1])
        run = self._run
        run[[NEXT_LEFT, NEXT_RIGHT, CURSOR, MADE, COMPARED, LATE]] = 0, 0, FRESH, 0, 0, 0
        status = self._enter(left, right)
        while status == NO_ROOM:
            self._out.grow(int(run[MADE]), 0)
            status = self._enter(left, right)
        if status == FAULT:
            self._fail(left, right, [int(run[CURSOR])])
        self.comparisons += int(run[COMPARED])
        self.late += int(run[LATE])
        self._floor = floor
        pairs, own = self._out.taken(int(run[MADE])), self._own_floor(floor)
        return [pairs if self._reorder is None else self._reorder.put(pairs, own)], own

    def _enter(self, left: np.ndarray, right: np.ndarray) -> int:
        try:
            return self.kernel(
                left, left.view(np.float64), right, right.view(np.float64),
                *(window.store for window in self.windows),
                self._out.words, self._out.doubles, self._run,
            )  # fmt: skip
        except Exception as error:
            if not calls_functions(self.node) or left.shape[1] + right.shape[1] == 0:
                raise
            self._fail(left, right, None)
            raise AssertionError from error  # it has raised

    def _fail(self, left: np.ndarray, right: np.ndarray, places: list[int] | None) -> None:
        """Raise for the pair at which the kernel failed: that of the places where it is known."""
        of_left = left_is_next(left, right, self._run)
        words = left[:, self._run[NEXT_LEFT]] if of_left else right[:, self._run[NEXT_RIGHT]]
        store = self.windows[1 if of_left else 0].store
        known = places is not None
        for place in places or range(int(store.ends[FIRST]), int(store.ends[LAST])):
            other = store.words[:, place]
            pair = (words, other) if of_left else (other, words)
            # Any in the window may be the first that raises: those that are not near are gone.
            if known or abs(int(words[0]) - int(other[0])) <= int(self._run[SPAN]):
                fail_at_pair(self.node, *pair, self.texts, must=known)
        raise RuntimeError(f"{self.node.name}: a function failed for no pair of the window")

    def _own_floor(self, floor: int) -> int:
        if floor == END or self._reorder is None:
            return floor
        if not isinstance(self.node.window, CountWindow):
            return max(0, floor - self.node.window.size)
        # The partner of a pair to come is one of these, or comes with it.
        return min(floor, *(int(each.live[0].min(initial=floor)) for each in self.windows))

    def save(self) -> list[np.ndarray]:
        """See `Operator`."""
        before = self._floor - int(self._run[SPAN])
        arrays = [each for window in self.windows for each in window.save(before)]
        return arrays if self._reorder is None else [*arrays, self._reorder.save()]

    def load(self, arrays: list[np.ndarray]) -> None:
        """See `Operator`."""
        self.windows[0].load(arrays[:2])
        self.windows[1].load(arrays[2:4])
        if self._reorder is not None:
            self._reorder.load(arrays[4])
