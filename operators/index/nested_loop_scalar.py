"""No index: every key of the window is compared, one after the other.

Source: section 5.1 of "Parallel Index-based Stream Join on a Multicore CPU", the nested-loop window
join (NLWJ). Keys lie in the ring of `operators.index.nested_loop`, which compares 64 of them at
once; a search here goes through the keys of the window in the order of arrival::

    [. . k k k k k k k k k . .]        full and wrapped around: [k k k k k . . k k k k k k]
         oldest ^         ^ newest                  newest ^     ^ oldest

# ASSUME: the paper does not say how the loop compares. It names no vector instructions anywhere, so
# the loop compares one key at a time here. LLVM does not vectorise a loop that writes and counts
# the positions of matches: where the next one is written depends on all keys before it.
"""

from __future__ import annotations

from operators.contract import Look, Variant
from operators.core.integers import wrapping_add
from operators.core.jit import inlined
from operators.core.vectors import peek, poke
from operators.index import nested_loop
from operators.index.nested_loop import PLACE
from operators.index.window import NEWEST, SIZE

# Bit 63; flipping it turns a comparison of signed numbers into one of unsigned numbers.
LEAST = -(1 << 63)


@inlined
def scan(state, low, high, place, out):
    """Compare every key, write the positions of those in the range, and return their number."""
    keys, words = state.keys, state.words
    size, behind = words[SIZE], words[PLACE]
    oldest = words[NEWEST] + 1 - size
    # The older keys may lie at the end of the ring, the newer ones at the beginning.
    older = max(size - behind, 0)
    newer = size - older
    count = scan_run(keys, state.places - older, older, oldest, low, high, out, 0)
    return scan_run(keys, behind - newer, newer, oldest + older, low, high, out, count)


@inlined
def scan_run(keys, begin, length, position, low, high, out, count):
    """Compare `length` keys from `begin` on; the first has the position `position`.

    Positions are written behind ``out[:count]``. Returns the new count.
    """
    # One comparison, as the paper's ABS(R.x - S.x) <= diff: as an unsigned number the distance from
    # `low` exceeds the width for keys below the range, too. The comparison is seldom true. With two
    # comparisons, against `low` and `high`, each is true for about half of the keys: mispredicted
    # branches took 5.7 ns a key, against 0.3 now (2**16 random keys).
    minus_low = wrapping_add(~low, 1)
    width = wrapping_add(high, minus_low) ^ LEAST
    for number in range(length):
        if wrapping_add(peek(keys, begin + number), minus_low) ^ LEAST <= width:
            poke(out, count, position + number)
            count += 1
    return count


VARIANT = Variant(
    id="nested-loop-scalar",
    family="index",
    title="Nested loop",
    paper="pim_tree",
    section="5.1",
    operations=nested_loop.VARIANT.operations._replace(scan=scan),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window; one more is told FULL",
    bench=False,
    look=Look("grey", "p"),
)
