"""Panes as cells, one a key: how tuples enter a pane, and how panes are combined.

A *pane* is a stretch of time within which no window begins or ends, and it holds the aggregate of
the tuples in it, key by key. A tuple enters one cell of one pane, however many windows it
contributes to; a winset is then made of panes (`panes`)::

    counts  | .  3  .  1  .  .  2  . |     the key alone is the index of the cell
    words   | .  a  .  b  .  .  c  . |     ...
    keys    | 3  1  6 |  entered: 3        keys with a tuple, in order of arrival

The words of a cell lie in planes, one word of all keys after the other, and there are only as many
as the function needs. A cell is empty where the first count is 0, and all its words are 0 then.
Combining, handing over and emptying a pane go through the list of keys: a pane of few tuples costs
little, whatever the number of keys.

=========================  ==================  ===============================
function                   planes of counts    planes of words
=========================  ==================  ===============================
count                      tuples              none
count-mail, count-mail-ip  tuples*, matching   none
sum, avg                   tuples              low parts, high parts
min, max                   tuples              that value
first                      tuples              that value
first-mail, first-mail-ip  matching            reference of the first matching
=========================  ==================  ===============================

(* or 1 in a pane with some: the plane only says that there were tuples.)

Counts are 32 bits wide: like the sums of `functions` they hold for fewer than 2**31 tuples a
window. The words are plain: the variant that owns the panes decides which thread writes them, and
when another may read them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.aggregation.functions import (
    AVG,
    COUNT,
    COUNT_MAIL,
    COUNT_MAIL_IP,
    FIRST_MAIL,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    SUM,
)
from operators.aggregation.plan import Text
from operators.aggregation.text_predicates import matches
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_array, aligned_words

_COUNT_PLANES = {COUNT_MAIL: 2, COUNT_MAIL_IP: 2}
_WORD_PLANES = {COUNT: 0, COUNT_MAIL: 0, COUNT_MAIL_IP: 0, SUM: 2, AVG: 2}
# Keys that are examined together when a winset is output: 1 KiB of counts. 128 and 512 made 0.97
# and 0.97 times as many tuples/s with private panes, 0.97 and 0.99 with TuMLSC on panes (K-OI, 2
# inputs, three pairs in turns, two cores of an EPYC).
CHUNK = 256


class Cells(NamedTuple):
    """Panes of one shape."""

    counts: np.ndarray  # int32, panes * count_planes * plane
    words: np.ndarray  # int64, panes * word_planes * plane
    keys: np.ndarray  # int32, panes * plane; the keys in each pane
    entered: np.ndarray  # [panes] lines; the number of those keys
    text_offsets: np.ndarray  # texts that a text function reads; empty for the others
    text_bytes: np.ndarray
    function: int
    count_planes: int
    word_planes: int
    plane: int  # cells of a pane, from one plane to the next


def cell_bytes(function: int) -> int:
    """Return how many bytes a cell takes, including an entry in the list of keys."""
    return 4 + 4 * _COUNT_PLANES.get(function, 1) + 8 * _WORD_PLANES.get(function, 1)


def plane_of(keys: int) -> int:
    """Return the cells of a pane: whole chunks, with one entry more than keys for the list."""
    return (keys // CHUNK + 1) * CHUNK


def make_cells(function: int, text: Text, panes: int, plane: int) -> Cells:
    """Return empty panes of `plane` cells for a function's code, which may read `text`."""
    count_planes, word_planes = _COUNT_PLANES.get(function, 1), _WORD_PLANES.get(function, 1)
    return Cells(
        counts=aligned_array(panes * count_planes * plane, np.int32),
        words=aligned_array(panes * word_planes * plane, np.int64),
        keys=aligned_array(panes * plane, np.int32),
        entered=aligned_words(panes * LINE_WORDS),
        text_offsets=text.offsets,
        text_bytes=text.text_bytes,
        function=function,
        count_planes=count_planes,
        word_planes=word_planes,
        plane=plane,
    )


# --- a tuple -------------------------------------------------------------------------------------


@inlined
def put(cells, pane, key, value):
    """Let a tuple enter a pane, and say whether it did: a text without a match may not."""
    function = cells.function
    at = counts_at(cells, pane, key)
    if function == COUNT:
        enter(cells, pane, at, key)
    elif function < COUNT_MAIL:
        put_value(cells, pane, at, key, value)
    else:
        matched = matches(function, cells.text_offsets, cells.text_bytes, value)
        if function < FIRST_MAIL:
            enter(cells, pane, at, key)
            cells.counts[np.uint64(at + cells.plane)] += np.int64(matched)
        elif matched:
            put_value(cells, pane, at, key, value)
        else:
            return False
    return True


@inlined
def enter(cells, pane, at, key):
    """Count a tuple in the cell at `at`, and return the previous count."""
    before = np.int64(cells.counts[np.uint64(at)])
    entered = cells.entered[np.uint64(pane * LINE_WORDS)]
    # Without a branch, since it is unpredictable whether a key is new: an entry is written for
    # every tuple, and counted only for a new key.
    cells.keys[np.uint64(pane * cells.plane + entered)] = key
    cells.entered[np.uint64(pane * LINE_WORDS)] = entered + np.int64(before == 0)
    cells.counts[np.uint64(at)] = before + 1
    return before


@inlined
def put_value(cells, pane, at, key, value):
    """Let a value enter the cell whose first count is at `at`."""
    function = cells.function
    words = cells.words
    word = words_at(cells, pane, key)
    before = enter(cells, pane, at, key)
    if function == SUM or function == AVG:
        words[np.uint64(word)] += value & LOW_MASK
        words[np.uint64(word + cells.plane)] += value >> LOW_BITS
    elif before == 0 or comes_first(function, value, words[np.uint64(word)]):
        words[np.uint64(word)] = value


@inlined
def comes_first(function, value, kept):
    """Say whether a later value replaces the one that is kept."""
    if function == MIN:
        return value < kept
    if function == MAX:
        return value > kept
    return False


# --- cells ---------------------------------------------------------------------------------------


@inlined
def counts_at(cells, pane, place):
    """Return the index of a cell's first count; other planes follow at distance `plane`."""
    return pane * cells.count_planes * cells.plane + place


@inlined
def words_at(cells, pane, place):
    """Return the index of a cell's first word; other planes follow at distance `plane`."""
    return pane * cells.word_planes * cells.plane + place


@inlined
def merge_cell(into, key, cells, pane, place):
    """Add a cell to the cell of `key` in pane 0 of `into`, whose tuples are earlier."""
    at = counts_at(cells, pane, place)
    before = into.counts[np.uint64(key)]
    into.counts[np.uint64(key)] += cells.counts[np.uint64(at)]
    if into.count_planes == 2:
        into.counts[np.uint64(key + into.plane)] += cells.counts[np.uint64(at + cells.plane)]
    if into.word_planes > 0:
        at = words_at(cells, pane, place)
        word = cells.words[np.uint64(at)]
        if into.word_planes == 2:
            into.words[np.uint64(key)] += word
            into.words[np.uint64(key + into.plane)] += cells.words[np.uint64(at + cells.plane)]
        elif before == 0 or comes_first(into.function, word, into.words[np.uint64(key)]):
            into.words[np.uint64(key)] = word


@inlined
def fill_cell(cells, pane, key, n, low, high):
    """Put the tuples and words of a shared window into the empty cell of `key`.

    For a text function `n` counts the matching tuples; the other plane only has to say that there
    were tuples.
    """
    at = counts_at(cells, pane, key)
    enter(cells, pane, at, key)
    if cells.count_planes == 2:
        at += cells.plane
    cells.counts[np.uint64(at)] = n
    if cells.word_planes > 0:
        word = words_at(cells, pane, key)
        cells.words[np.uint64(word)] = low
        if cells.word_planes == 2:
            cells.words[np.uint64(word + cells.plane)] = high


@inlined
def take_away_cell(into, key, cells, pane, place):
    """Subtract a cell from the cell of `key` in pane 0 of `into`, to which it was added."""
    at = counts_at(cells, pane, place)
    into.counts[np.uint64(key)] -= cells.counts[np.uint64(at)]
    if into.count_planes == 2:
        into.counts[np.uint64(key + into.plane)] -= cells.counts[np.uint64(at + cells.plane)]
    if into.word_planes == 2:
        at = words_at(cells, pane, place)
        into.words[np.uint64(key)] -= cells.words[np.uint64(at)]
        into.words[np.uint64(key + into.plane)] -= cells.words[np.uint64(at + cells.plane)]


@inlined
def move_cell(into, place, cells, pane, key):
    """Move the cell of `key` to another index of the same pane of `into`, overwriting that cell."""
    into.keys[np.uint64(pane * into.plane + place)] = key
    to = counts_at(into, pane, place)
    at = counts_at(cells, pane, key)
    into.counts[np.uint64(to)] = cells.counts[np.uint64(at)]
    if into.count_planes == 2:
        into.counts[np.uint64(to + into.plane)] = cells.counts[np.uint64(at + cells.plane)]
    if into.word_planes > 0:
        to = words_at(into, pane, place)
        at = words_at(cells, pane, key)
        into.words[np.uint64(to)] = cells.words[np.uint64(at)]
        if into.word_planes == 2:
            into.words[np.uint64(to + into.plane)] = cells.words[np.uint64(at + cells.plane)]
    clear_cell(cells, pane, key)


@inlined
def clear_cell(cells, pane, key):
    """Empty a cell."""
    at = counts_at(cells, pane, key)
    cells.counts[np.uint64(at)] = 0
    if cells.count_planes == 2:
        cells.counts[np.uint64(at + cells.plane)] = 0
    if cells.word_planes > 0:
        at = words_at(cells, pane, key)
        cells.words[np.uint64(at)] = 0
        if cells.word_planes == 2:
            cells.words[np.uint64(at + cells.plane)] = 0
