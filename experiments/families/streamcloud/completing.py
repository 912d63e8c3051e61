"""Which input tuple completes an output row, and how many ticks fill a query's windows.

A row leaves a query when the watermark of the output has passed its time, and that watermark may
lag behind the input's: an aggregate puts out a window, under the window's start, when the window is
over. Going back from an output to an input, each operator maps a time to the time that its input
must have passed. Here that is always `size` ticks, less one, after the last multiple of
`advance`::

    stateless, join, product     advance 1, size 1: the time itself
    join with the smaller time   advance 1, size w + 1: w later
    aggregate of windows         its advance and size: the last tick of the window
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from operators.contract import UsageError
from operators.streamcloud.algebra import SMALLER, Aggregate, Input, Map, Node, Product, Query
from operators.streamcloud.windows import CountWindow

# Stands for an operator that keeps times.
SAME = (1, 1)


def ways_of(query: Query) -> np.ndarray:
    """Return the paths from the outputs of a query back to the inputs.

    Returns
    -------
    int64 array (ways, steps, 2)
        Advance and size of each operator whose output times differ from the input's, from the
        output on; ``SAME`` after the last.

    Raises
    ------
    UsageError
        When a map sets the time: then no input tuple is known to complete a row.
    """
    ways = {way for output in query.outputs for way in _ways(output.node)}
    steps = max(1, *map(len, ways))
    return np.array([(*way, *[SAME] * (steps - len(way))) for way in sorted(ways)], dtype=np.int64)


def _ways(node: Node) -> Iterator[tuple[tuple[int, int], ...]]:
    if isinstance(node, Input):
        yield ()
        return
    for taken in node.inputs:
        for way in _ways(taken.node):
            yield (*_step(node), *way)


def _step(node: Node) -> tuple[tuple[int, int], ...]:
    """Return an operator's contribution to a path, from the output: nothing, or one step."""
    if isinstance(node, Map) and node.sets_time:
        raise UsageError(f"{node.name} sets the time, so that no row tells what completes it")
    if isinstance(node, Aggregate) and not isinstance(node.window, CountWindow):
        return ((node.window.advance, node.window.size),)
    if isinstance(node, Product) and node.time == SMALLER:
        return ((1, node.window.size + 1),)
    return ()


def filled_after(query: Query) -> int:
    """Return the number of ticks after which all time windows on the longest path are full."""
    return max(_filled(output.node) for output in query.outputs)


def _filled(node: Node) -> int:
    if isinstance(node, Input):
        return 0
    before = max(_filled(taken.node) for taken in node.inputs)
    window = getattr(node, "window", None)
    return before if window is None or isinstance(window, CountWindow) else before + window.size
