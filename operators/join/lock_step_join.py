"""The join over a PIM-Tree that descends for several tuples at once, level by level.

No paper has it. Tuples that have arrived together do not depend on one another, so their descents
(`operators.index.pim_descents`) can overlap cache misses::

    one by one      r0: root .. node .. leaf .. scan   s0: root .. node .. leaf .. scan   r1: ...
    in lock-step    r0 s0 r1 ...: root, all ask for their node; node, all ask for their leaf; ...
                    r0: scan, delete, insert           s0: scan, delete, insert           r1: ...

Only the descents are made ahead: a tuple's scan, and the tuple's insertion into the window, come in
the order of arrival. The partners are those of the plain join, tuples of the same batch included.

Why a position that was found ahead is still right: until the next merge T_S does not change, and no
leaf of T_I is removed. A leaf that splits keeps its lower half, with the new leaf after it, so the
list of leaves leads from the old position to the leaf of the band's lower end. Expired tuples are
recognized during the scan. A merge puts T_S into the other slot; then the descent is repeated.

# ASSUME: as many tuples of each stream as ``AHEAD`` have arrived when the first of them is joined;
# the paper's tasks of eight tuples assume as much (section 4.1). Streams that arrive in any other
# order than in turns are joined as by the plain join: one of them might bring so many tuples before
# the next of the other that a second merge goes unnoticed.

On two cores of an AMD EPYC (Zen 5) it makes 0.98, 1.05 and 1.79 times the tuples of the plain join
at windows of 2**12, 2**16 and 2**20, as `millrace bench join pim-tree-lock-step pim-tree --set
window=1048576` does (three pairs in turns; 2**20 needs the keys of ``laptop``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from operators.contract import Look, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke
from operators.index import pim_tree
from operators.index.forest import rank
from operators.index.pim_descents import FOUND, LEAF, descend_together, find_leaves_together
from operators.index.pim_tree import DEPTH, SLOT, SUBINDEXES
from operators.join import index_join
from operators.join.family import State, Timing
from operators.join.feed import is_in_turns
from operators.join.index_join import make_operations, make_step_of
from operators.join.window import (
    low_of,
    make_process,
    make_steps,
    make_timed_process,
    make_windows,
    views_of,
)

# Tuples of each stream whose descents are made together.
AHEAD = 8

# Words of `place` after those of the current tuple.
PROBING = FOUND  # the side of the current tuple
LEFT = LINE_WORDS  # by side: number of descents found ahead and not used,
NEXT = LINE_WORDS + 2  # offset of the next one,
THEN = LINE_WORDS + 4  # and slot of T_S when they were found
LOWS = 2 * LINE_WORDS  # lower ends of the bands
PLACES = LOWS + AHEAD  # by side, the results of the descents
PLACE_WORDS = PLACES + 2 * AHEAD * FOUND

_INDEX = pim_tree.VARIANT
_PLAIN = make_operations(_INDEX.operations)


# --- the join -------------------------------------------------------------------------------------


def make_state(window: int, half_width: int, **parameters: Any) -> State:
    """Return an empty join; parameters and errors are those of the join over a PIM-Tree."""
    index = _INDEX.operations
    (windows,) = views_of(index, make_windows(index, window, half_width, **parameters), 1)
    return index_join.state_of(windows._replace(place=aligned_words(PLACE_WORDS)))


@inlined
def prepare(joiner, feed, r, s):
    """Descend for the next tuples of both streams, once the descents made ahead are used up."""
    windows = joiner.windows
    if not feed.probing or not is_in_turns(feed) or peek(windows.place, LEFT) > 0:
        return
    # AHEAD insertions contain at most one merge, which changes the slot.
    if windows.r.index.limit < AHEAD:
        return
    place = peek(joiner.places, 0)
    count = min(feed.end_r - r, len(feed.r) - place, AHEAD)
    prepare_side(windows, 0, windows.s.index, feed.r, place, count)
    if windows.two_way:
        # As many of S, if both streams have reached the same row.
        count = min(feed.end_s - s, count) if r == s else 0
        prepare_side(windows, 1, windows.r.index, feed.s, peek(joiner.places, 1), count)


@inlined
def prepare_side(windows, side, index, keys, begin, count):
    """Descend in `index` for the next tuples of a side, ``keys[begin:begin + count]``."""
    place = windows.place
    for at in range(count):
        poke(place, LOWS + at, low_of(windows, peek(keys, begin + at)))
    found, slot = PLACES + side * AHEAD * FOUND, index.words[SLOT]
    depth = index.words[DEPTH]
    descend_together(index.stable, slot, depth, place, LOWS, count, place, found, FOUND)
    find_leaves_together(index.fresh, place, LOWS, count, place, found, FOUND)
    poke(place, LEFT + side, count)
    poke(place, NEXT + side, found)
    poke(place, THEN + side, slot)


@inlined
def find(index, low, place):
    """Take the descent made ahead; if there is none, or after a merge, descend."""
    side = peek(place, PROBING)
    left, ahead = peek(place, LEFT + side), peek(place, NEXT + side)
    if left > 0:
        poke(place, LEFT + side, left - 1)
        poke(place, NEXT + side, ahead + FOUND)
    if left > 0 and peek(place, THEN + side) == index.words[SLOT]:
        for word in range(FOUND):
            poke(place, word, peek(place, ahead + word))
        # The leaf may have split since: its upper half is the next leaf, in the same subindex.
        fresh = index.fresh
        leaf = peek(place, LEAF)
        behind = peek(fresh.nodes.words, leaf)
        while behind >= index.words[SUBINDEXES] and rank(fresh, leaf, low) == peek(
            fresh.counts, leaf
        ):
            leaf = behind
            behind = peek(fresh.nodes.words, leaf)
        poke(place, LEAF, leaf)
    else:
        pim_tree.find(index, low, place)


_STEPS = make_steps(_INDEX.operations, whole=True)._replace(find=find)
_process = make_process(_STEPS)


@inlined
def process(windows, side, key, time, out, probing):
    """Process the next tuple of a side."""
    poke(windows.place, PROBING, side)
    return _process(windows, side, key, time, out, probing)


@cache
def _step_with(timing: Timing | None, on_output: Callable[..., None] | None) -> Callable[..., int]:
    if timing is None:
        return make_step_of(process, on_output=on_output, prepare=prepare)
    plain = make_timed_process(_STEPS, _INDEX.operations.merge_ns, timing.note)

    @inlined
    def timed(windows, side, key, time, out, notes):
        poke(windows.place, PROBING, side)
        return plain(windows, side, key, time, out, notes)

    return make_step_of(process, timed, timing, on_output, prepare)


def make_step(
    timing: Timing | None = None, on_output: Callable[..., None] | None = None, **parameters: Any
) -> Callable[..., int]:
    """Return the step, which does not depend on parameters."""
    return _step_with(timing, on_output)


VARIANT = Variant(
    id="pim-tree-lock-step",
    family="join",
    title="PIM-Tree, lock-step",
    paper="none",
    section="beside section 4.1",
    operations=_PLAIN._replace(make_state=make_state, make_step=make_step),
    order="pairs in the order of arrival of the probing tuple",
    progress="blocking",
    threads={"joiner": "one"},
    capacity="the tuples of a window",
    parameters=_INDEX.parameters,
    extended=True,
    look=Look("sky", "X", "dense"),
    extends={"pim_tree": ("10b", "10c", "12c")},
)
