"""Map, filter and union: tuples one by one, and streams of one schema together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from operators.contract import TIMESTAMP_LIMIT, UsageError
from operators.core.jit import kernel
from operators.streamcloud.algebra import Filter, Map, Node, Union
from operators.streamcloud.faults import columns_of, fail_at, shown
from operators.streamcloud.generated import Place, Writer, stored
from operators.streamcloud.kernels.merging import in_order
from operators.streamcloud.kernels.moving import blocks_of
from operators.streamcloud.kernels.operator import Operator, calls_functions
from operators.streamcloud.kernels.reorder import Reorder
from operators.streamcloud.order import key_width
from operators.streamcloud.rows import END, words_of
from operators.streamcloud.schema import TIME

NOTHING_FAILED = -1


@cache
def make_map(fill: Callable) -> Callable:
    """Return the kernel of a map.

    Parameters
    ----------
    fill : callable
        Computes the columns of one tuple; False on a fault.
    """

    @kernel
    def compute(words, doubles, texts, out, out_doubles, at):
        """Compute all tuples; return the one that fails, or -1. `at` follows, for exceptions."""
        for i in range(words.shape[1]):
            at[0] = i
            if not fill(words, doubles, i, texts, out, out_doubles, i):
                return i
        return NOTHING_FAILED

    return compute


@cache
def make_filter(choose: Callable) -> Callable:
    """Return the kernel of a filter.

    Parameters
    ----------
    choose : callable
        Returns the number of a tuple's output, or -1 if a predicate fails.
    """

    @kernel
    def choose_all(words, doubles, texts, chosen, counts, at):
        """Choose an output for each tuple, and count them; return the one that fails, or -1."""
        for i in range(words.shape[1]):
            at[0] = i
            number = choose(words, doubles, i, texts)
            if number < 0:
                return i
            chosen[i] = number
            counts[number] += 1
        return NOTHING_FAILED

    return choose_all


class Computing(Operator):
    """The common part of maps and filters: a kernel that may fail at a tuple."""

    def run(self, words: np.ndarray, *arguments: np.ndarray) -> None:
        """Call the kernel, and raise for the tuple at which it fails."""
        at = np.zeros(1, dtype=np.int64)
        try:
            failed = self.kernel(words, words.view(np.float64), self._texts, *arguments, at)
        except Exception as error:
            if not calls_functions(self.node) or not words.shape[1]:
                raise
            fail_at(self.node, words[:, int(at[0])], self.texts)
            raise AssertionError from error  # it has raised
        if failed != NOTHING_FAILED:
            fail_at(self.node, words[:, failed], self.texts)


class MapOperator(Computing):
    """A map.

    # ASSUME: if it sets the time, the tuples of the last time wait until there is a later one:
    more of that time may come, and operators behind it work on whole times. Under best effort
    times may go backwards, as those of the input do.
    """

    def __init__(self, node: Map, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        (taken,), (made,) = node.inputs, node.outputs
        self._taken_width, self._words = key_width(taken), words_of(made)
        self._sets_time = node.sets_time
        writer = Writer(node.name, codes, [Place(taken, "words", "doubles", "i")])
        lines = []
        for number, (name, value) in enumerate(node.columns):
            lines += writer.lines(f"columns.{name}", value, number, "False")
            lines.append(stored(made, name, number))
        writer.function(
            "fill(words, doubles, i, texts, out, out_doubles, o)", [*lines, "return True"]
        )
        self._texts, self.kernel = writer.constants(), make_map(writer.module().fill)
        self._last = 0
        self._waiting = Reorder(self._words, key_width(made))

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        (words,) = batches
        out = np.empty((self._words, words.shape[1]), dtype=np.int64)
        width = self._taken_width
        behind = 1 if self._sets_time else 0
        out[behind : behind + width] = words[:width]
        self.run(words, out, out.view(np.float64))
        if not self._sets_time:
            return [out], floor
        self._check_times(words, out[0])
        self._last = max(self._last, int(out[0].max(initial=0)))
        own = END if floor == END else self._last
        return [self._waiting.put(out, own)], own

    def _check_times(self, words: np.ndarray, times: np.ndarray) -> None:
        """Refuse times that are invalid, or go backwards."""
        wrong = (times < 0) | (times >= TIMESTAMP_LIMIT)
        before = np.concatenate([[self._last], times[:-1]])
        falls = (times < before) & self.in_order
        for at in np.flatnonzero(wrong | falls)[:1].tolist():
            row = columns_of(self.node.inputs[0], words[:, at], self.texts)
            what = f"the time goes backwards, from {before[at]} to {times[at]}"
            if wrong[at]:
                what = f"time {times[at]} is not between 0 and 2**62 - 1"
            raise UsageError(
                f"{self.node.name}.columns.{TIME}: {what}, at the tuple ({shown(row)})"
            )

    def save(self) -> list[np.ndarray]:
        """See `Operator`."""
        return [np.array([self._last], dtype=np.int64), self._waiting.save()]

    def load(self, arrays: list[np.ndarray]) -> None:
        """See `Operator`."""
        self._last = int(arrays[0][0])
        self._waiting.load(arrays[1])


class FilterOperator(Computing):
    """A filter of m predicates, with m + 1 outputs."""

    def __init__(self, node: Filter, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        writer = Writer(node.name, codes, [Place(node.inputs[0], "words", "doubles", "i")])
        lines = []
        for number, predicate in enumerate(node.predicates):
            lines += writer.lines(f"where.{number}", predicate, number, "-1")
            lines += [f"if value_{number}:", f"    return {number}"]
        last = len(node.predicates)
        writer.function("choose(words, doubles, i, texts)", [*lines, f"return {last}"])
        self._texts, self.kernel = writer.constants(), make_filter(writer.module().choose)

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        (words,) = batches
        chosen = np.empty(words.shape[1], dtype=np.int64)
        counts = np.zeros(len(self.node.schemas), dtype=np.int64)
        self.run(words, chosen, counts)
        return blocks_of(words, chosen, counts), floor


class UnionOperator(Operator):
    """A union inside a stage: all inputs are on one clock, so that it never waits."""

    def __init__(self, node: Union, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        (made,) = node.outputs
        self._width, self._words = key_width(made), words_of(made)
        self._widths = [key_width(taken) for taken in node.inputs]

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        ends = np.cumsum([each.shape[1] for each in batches], dtype=np.int64)
        whole = np.empty((self._words, int(ends[-1])), dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        for number, (each, own) in enumerate(zip(batches, self._widths, strict=True)):
            part = whole[:, starts[number] : ends[number]]
            part[0], part[1] = each[0], number
            part[2 : own + 1] = each[1:own]
            part[own + 1 : self._width] = 0
            part[self._width :] = each[own:]
        filled = np.flatnonzero(ends > starts)
        if not len(filled):
            filled = np.zeros(1, dtype=np.int64)
        return [in_order(whole, self._width, starts[filled], ends[filled])], floor


STATELESS: dict[type[Node], type[Operator]] = {
    Map: MapOperator,
    Filter: FilterOperator,
    Union: UnionOperator,
}
