"""Operations on all elements of a node at once: rank of a key, range search, insertion, removal.

The Python bodies define the result. Compiled, each becomes a few vector instructions: comparisons
with one result bit per key, counted or returned as a word, and selections by lane; LLVM lowers them
to the instructions of the processor. No branch depends on a key or on a position.

Arrays are one-dimensional and C-contiguous, of int32 or int64. A value compared with the elements
is an int64 in the range of the element type.

``peek`` and ``poke`` are a plain load and store of an element at a non-negative index: in Python an
index may be negative, and compiled code would test for that at each access.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError

from operators.core import chosen_lanes
from operators.core.chosen_lanes import AVX_512, lanes_of, store_chosen
from operators.core.jit import compiled_as

# Number of keys that `rank_in_32` and `within_64` examine.
RANKED = 32
WITHIN = 64
# Number of keys that `rank_among_8` and `rank_among_16` may read.
AMONG_8, AMONG_16 = 8, 16
# Number of entries that `copy_live_16` and `positions_of_16` examine.
LIVE = chosen_lanes.LANES
# Number of elements that `copy_8` copies.
COPIED = 8
_VECTOR_BYTES = 64


def rank_in_32(keys: np.ndarray, begin: int, key: int) -> int:
    """Return how many of the 32 keys from `begin` on are below `key`.

    In a sorted node this is the offset of the first key not below `key`, also among equal keys.
    """
    return int(np.count_nonzero(keys[begin : begin + RANKED] < key))


def rank_among_8(keys: np.ndarray, begin: int, count: int, key: int) -> int:
    """Return how many of the first `count` keys from `begin` on, 8 at most, are below `key`.

    All 8 keys must be readable whatever `count` is, but only the first `count` affect the result.
    """
    return sum(1 for at in range(count) if int(keys[begin + at]) < key)


def rank_among_16(keys: np.ndarray, begin: int, count: int, key: int) -> int:
    """Return the rank as `rank_among_8` does, among at most 16 keys, where 16 are readable."""
    return sum(1 for at in range(count) if int(keys[begin + at]) < key)


def within_64(keys: np.ndarray, begin: int, low: int, high: int) -> int:
    """Return a word whose bit i says whether key ``begin + i`` lies from `low` to `high`.

    `high` must not be below `low`: the compiled form would take the width for a large number.
    """
    found = sum(1 << at for at in range(WITHIN) if low <= int(keys[begin + at]) <= high)
    return found - (1 << WITHIN) if found >> (WITHIN - 1) else found


def within_some(keys: np.ndarray, begin: int, count: int, low: int, high: int) -> int:
    """Return the same word for the first `count` of the 64 keys, at least 1.

    All 64 keys must be readable whatever `count` is; only the first `count` affect the result, so
    that another thread may write into the rest.
    """
    found = sum(1 << at for at in range(count) if low <= int(keys[begin + at]) <= high)
    return found - (1 << WITHIN) if found >> (WITHIN - 1) else found


def insert_in_32(array: np.ndarray, begin: int, place: int, value: int) -> None:
    """Insert `value` at ``begin + place`` and move the elements from there one up.

    The last of the 32 elements is lost.
    """
    node = array[begin : begin + RANKED]
    node[place + 1 :] = node[place:-1].copy()
    node[place] = value


def remove_from_32(array: np.ndarray, begin: int, place: int, last: int) -> None:
    """Move the elements behind ``begin + place`` one down, and set the last of the 32 to `last`."""
    node = array[begin : begin + RANKED]
    node[place:-1] = node[place + 1 :].copy()
    node[-1] = last


def copy_live_16(
    keys: np.ndarray,
    sequences: np.ndarray,
    taken: int,
    end: int,
    key: int,
    oldest: int,
    put: int,
) -> int:
    """Copy the live ones among the next 16 entries whose keys are at most `key`, compacted.

    The entries from `taken` up to `end` are considered, at most 16; keys ascend. An entry is live
    when its sequence is `oldest` or later, across the wrap at 32 bits. Source and target are in the
    same arrays; all 16 entries from `put` on may be overwritten.

    Returns
    -------
    int
        Number of entries with keys up to `key`, times 32, plus the number of entries copied.
    """
    gone = copied = 0
    while gone < LIVE and taken + gone < end and keys[taken + gone] <= key:
        if (int(sequences[taken + gone]) - int(oldest)) & (1 << 31) == 0:
            keys[put + copied] = keys[taken + gone]
            sequences[put + copied] = sequences[taken + gone]
            copied += 1
        gone += 1
    return 32 * gone + copied


def positions_of_16(
    sequences: np.ndarray,
    begin: int,
    count: int,
    oldest: int,
    newest: int,
    out: np.ndarray,
    put: int,
) -> int:
    """Write the positions of those of the first `count` sequences that lie in a window.

    A sequence is the lower 32 bits of a position. The window begins at the sequence `oldest` and
    ends at the position `newest`, across the wrap; it is empty where `oldest` comes right after
    `newest`. Positions go to ``out[put]`` and behind. Whatever `count` is, 16 sequences must be
    readable, and 16 words of `out` may be overwritten. Returns the number of positions written.
    """
    copied = 0
    for at in range(min(count, LIVE)):
        back = (int(newest) - int(sequences[begin + at])) & ((1 << 32) - 1)
        if back < (int(newest) + 1 - int(oldest)) & ((1 << 32) - 1):
            out[put + copied] = newest - back
            copied += 1
    return copied


def copy_8(source: np.ndarray, begin: int, count: int, target: np.ndarray, put: int) -> None:
    """Copy the first `count` of the 8 elements from `begin` on to `put` in another array.

    Whatever `count` is, 8 elements must be readable, and 8 of `target` may be overwritten. Both
    arrays have the same element type.
    """
    count = min(count, COPIED)
    target[put : put + count] = source[begin : begin + count]


def peek(array: np.ndarray, index: int) -> int:
    """Return the element at a non-negative index, as an int64."""
    return int(array[index])


def poke(array: np.ndarray, index: int, value: int) -> None:
    """Set the element at a non-negative index."""
    array[index] = value


def _element(array: types.Type) -> types.Type:
    fits = (
        isinstance(array, types.Array)
        and array.ndim == 1
        and array.layout == "C"
        and array.dtype in (types.int32, types.int64)
    )
    if not fits:
        raise TypingError(f"keys are a one-dimensional C-contiguous int32 or int64 array: {array}")
    return array.dtype


class _Elements:
    """Consecutive elements as vectors, for the generator of an intrinsic's code."""

    def __init__(self, context, builder, signature, args, lanes: int | None = None) -> None:
        self._builder = builder
        self._bits = signature.args[0].dtype.bitwidth
        self.lanes = lanes or 8 * _VECTOR_BYTES // self._bits
        self.kind = ir.VectorType(ir.IntType(self._bits), self.lanes)
        self.first = _place(context, builder, signature, args)
        self._vectors = builder.bitcast(self.first, self.kind.as_pointer())

    def load(self, number=0):
        """Return the vector that is `number` vectors behind the first element."""
        pointer = self._builder.gep(self._vectors, [ir.IntType(64)(number)])
        return self._builder.load(pointer, align=self._bits // 8)

    def store(self, vector):
        """Set the first vector."""
        self._builder.store(vector, self._vectors, align=self._bits // 8)

    def spread(self, word):
        """Return a vector with `word` in each lane."""
        return _spread(self._builder, word, self.kind)

    def moved(self, vector, by):
        """Return a vector whose lane i is lane i + by of `vector`, clamped to the ends."""
        source = [min(max(lane + by, 0), self.lanes - 1) for lane in range(self.lanes)]
        return self._builder.shuffle_vector(vector, vector, lanes_of(source))

    def numbers(self):
        """Return a vector of 0, 1, 2, ..."""
        return ir.Constant(self.kind, list(range(self.lanes)))

    def bits(self, lanes, width):
        """Return a vector of truths as an integer of `width` bits, lane 0 lowest."""
        packed = self._builder.bitcast(lanes, ir.IntType(self.lanes))
        return packed if width == self.lanes else self._builder.zext(packed, ir.IntType(width))


def _spread(builder, word, kind):
    narrow = word if kind.element == word.type else builder.trunc(word, kind.element)
    one = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(one, narrow, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, lanes_of([0] * kind.count))


def _place(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], signature.args[1], types.intp)
    return builder.gep(array.data, [index])


def _word(context, builder, signature, args, place):
    return context.cast(builder, args[place], signature.args[place], types.int64)


@compiled_as(rank_in_32)
def _rank_in_32(typing_context, keys, begin, key):
    _element(keys)

    def generate(context, builder, signature, args):
        # Counting all bits at once: joins over PIM- and IM-Tree 1.02 and 1.06 times as fast;
        # without AVX-512 0.97.
        node = _Elements(
            context, builder, signature, args, RANKED if chosen_lanes.WIDEST == AVX_512 else None
        )
        wanted = node.spread(_word(context, builder, signature, args, 2))
        count = ir.IntType(64)(0)
        for number in range(RANKED // node.lanes):
            below = builder.icmp_signed("<", node.load(number), wanted)
            count = builder.add(count, builder.ctpop(node.bits(below, 64)))
        return count

    return types.int64(keys, begin, key), generate


def _rank_among(function, lanes):
    @compiled_as(function)
    def rank(typing_context, keys, begin, count, key):
        _element(keys)

        def generate(context, builder, signature, args):
            node = _Elements(context, builder, signature, args, lanes)
            count, wanted = (_word(context, builder, signature, args, n) for n in (2, 3))
            below = builder.icmp_signed("<", node.load(), node.spread(wanted))
            one = ir.IntType(64)(1)
            asked = builder.sub(builder.shl(one, count), one)
            return builder.ctpop(builder.and_(asked, node.bits(below, 64)))

        return types.int64(keys, begin, count, key), generate


_rank_among(rank_among_8, AMONG_8)
_rank_among(rank_among_16, AMONG_16)


@compiled_as(insert_in_32)
def _insert_in_32(typing_context, array, begin, place, value):
    _element(array)

    def generate(context, builder, signature, args):
        node = _Elements(context, builder, signature, args, RANKED)
        place, value = (node.spread(_word(context, builder, signature, args, n)) for n in (2, 3))
        old, lane = node.load(), node.numbers()
        behind = builder.icmp_signed(">", lane, place)
        new = builder.select(behind, node.moved(old, -1), old)
        node.store(builder.select(builder.icmp_signed("==", lane, place), value, new))
        return context.get_dummy_value()

    return types.void(array, begin, place, value), generate


@compiled_as(remove_from_32)
def _remove_from_32(typing_context, array, begin, place, last):
    _element(array)

    def generate(context, builder, signature, args):
        node = _Elements(context, builder, signature, args, RANKED)
        place, value = (node.spread(_word(context, builder, signature, args, n)) for n in (2, 3))
        old, lane = node.load(), node.numbers()
        kept = builder.icmp_signed("<", lane, place)
        new = builder.select(kept, old, node.moved(old, 1))
        at_end = builder.icmp_signed("==", lane, ir.Constant(node.kind, [RANKED - 1] * RANKED))
        node.store(builder.select(at_end, value, new))
        return context.get_dummy_value()

    return types.void(array, begin, place, last), generate


@compiled_as(copy_live_16)
def _copy_live_16(typing_context, keys, sequences, taken, end, key, oldest, put):
    _element(keys)
    _element(sequences)

    def generate(context, builder, signature, args):
        words = [_word(context, builder, signature, args, place) for place in range(2, 7)]
        taken, end, key, oldest, put = words

        def at(array, place):
            own = types.void(signature.args[array], types.int64)
            return _Elements(context, builder, own, (args[array], place), LIVE)

        source, entries = at(0, taken), at(1, taken)
        own_keys, own_entries = source.load(), entries.load()
        left = entries.spread(builder.sub(end, taken))
        # 32 bits suffice: at most 16 are left, or the exact number does not matter.
        inside = builder.icmp_signed("<", entries.numbers(), left)
        below = builder.icmp_signed("<=", own_keys, source.spread(key))
        through = builder.and_(inside, below)
        age = builder.sub(own_entries, entries.spread(oldest))
        not_expired = builder.icmp_signed(">=", age, ir.Constant(entries.kind, [0] * LIVE))
        live = builder.and_(through, not_expired)
        store_chosen(builder, own_keys, live, at(0, put).first)
        store_chosen(builder, own_entries, live, at(1, put).first)
        gone, copied = (builder.ctpop(source.bits(each, 64)) for each in (through, live))
        return builder.add(builder.shl(gone, ir.IntType(64)(5)), copied)

    found = types.int64(keys, sequences, taken, end, key, oldest, put)
    return found, generate


@compiled_as(positions_of_16)
def _positions_of_16(typing_context, sequences, begin, count, oldest, newest, out, put):
    _element(sequences)
    _element(out)

    def generate(context, builder, signature, args):
        count, oldest, newest = (_word(context, builder, signature, args, n) for n in (2, 3, 4))
        source = _Elements(context, builder, signature, args, LIVE)
        own = types.void(*signature.args[5:])
        target = _Elements(context, builder, own, args[5:], LIVE)
        kind = ir.VectorType(ir.IntType(32), LIVE)
        found = source.load()
        found = found if found.type == kind else builder.trunc(found, kind)
        # 32 bits suffice: more than the examined sequences do not count.
        inside = builder.icmp_signed("<", lanes_of(range(LIVE)), _spread(builder, count, kind))
        # Distance of each sequence, and of the oldest, from the newest; positions take 64 bits.
        back = builder.sub(_spread(builder, newest, kind), found)
        asked = builder.sub(builder.add(newest, newest.type(1)), oldest)
        recent = builder.icmp_unsigned("<", back, _spread(builder, asked, kind))
        live = builder.and_(inside, recent)

        def positions(back):
            wide = ir.VectorType(target.kind.element, back.type.count)
            return builder.sub(_spread(builder, newest, wide), builder.zext(back, wide))

        store_chosen(builder, back, live, target.first, positions)
        return builder.ctpop(source.bits(live, 64))

    return types.int64(sequences, begin, count, oldest, newest, out, put), generate


@compiled_as(copy_8)
def _copy_8(typing_context, source, begin, count, target, put):
    if _element(source) != _element(target):
        raise TypingError(f"elements of one type are copied, not from {source} to {target}")

    def generate(context, builder, signature, args):
        ends = types.void(*signature.args[3:])
        read = _Elements(context, builder, signature, args, COPIED)
        _Elements(context, builder, ends, args[3:], COPIED).store(read.load())
        return context.get_dummy_value()

    return types.void(source, begin, count, target, put), generate


@compiled_as(peek)
def _peek(typing_context, array, index):
    _element(array)

    def generate(context, builder, signature, args):
        found = builder.load(_place(context, builder, signature, args))
        return context.cast(builder, found, signature.args[0].dtype, types.int64)

    return types.int64(array, index), generate


@compiled_as(poke)
def _poke(typing_context, array, index, value):
    _element(array)

    def generate(context, builder, signature, args):
        kind = signature.args[0].dtype
        word = _word(context, builder, signature, args, 2)
        narrow = context.cast(builder, word, types.int64, kind)
        builder.store(narrow, _place(context, builder, signature, args))
        return context.get_dummy_value()

    return types.void(array, index, value), generate


def _bits_within(context, builder, signature, args, band):
    """Return a word with a bit for each of 64 keys in a band; `band` numbers its ends in `args`."""
    window = _Elements(context, builder, signature, args)
    lowest, highest = (_word(context, builder, signature, args, place) for place in band)
    # As an unsigned number, a key's distance from `low` exceeds the width on either side.
    first, wide = window.spread(lowest), window.spread(builder.sub(highest, lowest))
    mask = ir.IntType(WITHIN)(0)
    for place in range(WITHIN // window.lanes):
        inside = builder.icmp_unsigned("<=", builder.sub(window.load(place), first), wide)
        shift = ir.IntType(WITHIN)(place * window.lanes)
        mask = builder.or_(mask, builder.shl(window.bits(inside, WITHIN), shift))
    return mask


@compiled_as(within_64)
def _within_64(typing_context, keys, begin, low, high):
    _element(keys)

    def generate(context, builder, signature, args):
        return _bits_within(context, builder, signature, args, (2, 3))

    return types.int64(keys, begin, low, high), generate


@compiled_as(within_some)
def _within_some(typing_context, keys, begin, count, low, high):
    _element(keys)

    def generate(context, builder, signature, args):
        count = _word(context, builder, signature, args, 2)
        behind = builder.sub(ir.IntType(WITHIN)(WITHIN), count)
        asked = builder.lshr(ir.IntType(WITHIN)(-1), behind)
        return builder.and_(asked, _bits_within(context, builder, signature, args, (3, 4)))

    return types.int64(keys, begin, count, low, high), generate
