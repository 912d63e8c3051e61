"""The ring of blocks: one serial number for many tuples, and one ring for a whole pipeline.

A *block* is a number of consecutive tuples of the source. It keeps its serial number and its slot
from the first segment of the pipeline to the last one, so that nothing is put in order twice: the
ring is the worklist of every segment, the reorder buffer behind it, and the room for its outputs.

::

    opened                                                          finished
      |   [ 17: free ][ 16: segment 0 ][ 15: segment 1 ][ 14: segment 2 ]  |
      +--> the next number                      the oldest block in flight <+

A *segment* is an operator, or several fused ones (`operators.pipeline.blocks`). One word says which
block a slot has, which segment comes next for it, and whether a worker has claimed it: a word of an
earlier block is never mistaken for one of this block, and nothing has to be cleared.

* A *free* segment takes any block: ``claim``.
* An *ordered* segment takes the blocks in order, one worker at a time: ``hold`` the segment's
  *token*, ``send`` each block on, ``let_go``.
* A *scattered* segment takes a block in parts, and the parts of one number in order, each with a
  token: the claiming worker calls ``scatter``; a worker takes a part by ``hold_part``; and the one
  whose ``end_part`` answers True has the whole block again.

A segment may be left with a part of its input, when there is no room for more outputs. The block
then comes back to that segment after the last one, and a token stays at the block until the block
leaves the segment for good (``leave``).

Invariants:

1. ``finished <= opened <= finished + most``, and the blocks in flight are those between.
2. The data of a block belong to one thread at a time: to the opener up to ``show``; to the holder
   of the token of an ordered segment; to the worker that claimed the block; after ``scatter`` part
   for part to the holders of the tokens; and to the worker whose ``end_part`` answered True.
3. The token of an ordered segment, or of a part, is at the oldest block that has not left it. It
   only grows, and only its holder changes it.
4. ``OPEN`` counts the parts of a block that are not ended.

Linearization points: opening, the store of the state in ``show``; ``claim``, the compare-and-swap;
``hold`` and ``hold_part``, the exchange of the token (an answer of NONE, the load that shows that
nothing is ready or that another worker has the token); ``send``, the store of the state;
``scatter`` for each part, the store of the part's word; ``end_part``, the subtraction.

Progress: lock-free with respect to calls, each of which ends: none waits, and an answer of NONE is
one. Yet a worker that stops with a token, or in an opening, keeps the others from that segment, as
the holder of a flag does in the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError, Variant
from operators.core.atomics import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    cas,
    exchange,
    fetch_add,
    load,
    store,
)
from operators.core.family import CoreOperations
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines
from operators.core.marks import mark

NONE = -1

# Words of the entrance.
OPENED = 0 * LINE_WORDS  # number of the next block; written by the opener
OPENING = 1 * LINE_WORDS  # 1 while a worker opens a block
ENTRANCE_WORDS = 2 * LINE_WORDS

# Words of a block, on one cache line.
STATE = 0  # number * phases + 2 * segment, and 1 more when the block is claimed
OPEN = 1  # parts that are not ended

# Words of a token. Two lines: workers poll NEXT, and the processor fetches lines in pairs.
NEXT = 0  # the block that is next at the segment
HELD = 1  # 1 while a worker has the token
TOKEN_WORDS = 2 * LINE_WORDS


class BlockRing(NamedTuple):
    """A ring. All words are shared."""

    # (ENTRANCE_WORDS)
    entrance: np.ndarray
    # (slots * LINE_WORDS): by slot. STATE is written by the worker that has the block (invariant
    # 2); OPEN by the scattering worker, then by the holders of the parts.
    states: np.ndarray
    # (segments * parts * TOKEN_WORDS): of an ordered segment the first one counts. Written by the
    # holder, except for HELD.
    tokens: np.ndarray
    # (slots * segments * row): by slot and segment one word a part: the block's number plus one
    # while the part waits, otherwise 0 or of an earlier block. Written by the scattering worker,
    # then by the holder of the part.
    waiting: np.ndarray
    mask: int  # slots - 1
    most: int  # blocks in flight, at most as many as there are slots
    segments: int
    parts: int
    row: int  # words of `waiting` a segment: whole cache lines
    phases: int  # 2 * segments


def make_ring(slots: int, segments: int, parts: int = 1) -> BlockRing:
    """Return an empty ring.

    Parameters
    ----------
    slots : int
        Blocks in flight, at most; 1 or more. There are a power of two of slots for them.
    segments : int
        At least 1.
    parts : int
        Of a block in a scattered segment, at least 1.

    Raises
    ------
    UsageError
        When a number is below 1.
    """
    for name, given in (("slots", slots), ("segments", segments), ("parts", parts)):
        if given < 1:
            raise UsageError(f"{name} of a ring of blocks must be at least 1, received {given}")
    count, row = 1 << (slots - 1).bit_length(), whole_lines(parts)
    states = aligned_words(count * LINE_WORDS)
    # Not 0, which is block 0 at segment 0.
    states[STATE::LINE_WORDS] = NONE
    return BlockRing(
        aligned_words(ENTRANCE_WORDS),
        states,
        aligned_words(segments * parts * TOKEN_WORDS),
        aligned_words(count * segments * row),
        count - 1,
        slots,
        segments,
        parts,
        row,
        2 * segments,
    )


# --- opening --------------------------------------------------------------------------------------


@inlined
def next_of(ring, segment):
    """Return the block that is next at an ordered segment, or at part 0 of a scattered one."""
    # ACQUIRE: who sees that a block has left also sees the slot as that worker left it. Pairs with
    # the store in leave.
    return load(ring.tokens, segment * ring.parts * TOKEN_WORDS + NEXT, ACQUIRE)


@inlined
def finished(ring):
    """Return the number of blocks that have left the last segment, which is an ordered one."""
    return next_of(ring, ring.segments - 1)


@inlined
def begin_opening(ring):
    """Return the number of a block that has a slot, or NONE if there is none, or another opener.

    With a number, the caller fills the slot, calls ``show`` or not, and then ``end_opening``.
    """
    # RELAXED: hints, so that a full ring costs no exchange.
    if load(ring.entrance, OPENING, RELAXED) != 0:
        return NONE
    if load(ring.entrance, OPENED, RELAXED) - finished(ring) >= ring.most:
        mark("block_ring: full")
        return NONE
    # ACQUIRE keeps the opening behind the previous one; pairs with end_opening.
    if exchange(ring.entrance, OPENING, 1, ACQUIRE) != 0:
        mark("block_ring: another worker opens")
        return NONE
    number = load(ring.entrance, OPENED, RELAXED)
    # The load in `finished` keeps the stores into the slot behind all uses by the block before
    # (invariant 1).
    if number - finished(ring) >= ring.most:
        mark("block_ring: filled meanwhile")
        end_opening(ring)
        return NONE
    return number


@inlined
def show(ring, number, segment, claimed):
    """Put a new block into its slot; `claimed` is 1 if the caller goes on with it, otherwise 0."""
    state = number * ring.phases + 2 * segment + claimed
    # RELEASE keeps the data of the block before it; pairs with the compare-and-swap in
    # claim and the load in waits.
    store(ring.states, (number & ring.mask) * LINE_WORDS + STATE, state, RELEASE)
    # RELAXED: a hint for searches. The next opener sees it by the flag.
    store(ring.entrance, OPENED, number + 1, RELAXED)


@inlined
def end_opening(ring):
    """End what ``begin_opening`` began."""
    # RELEASE keeps the opening before the next one; pairs with the exchange in begin_opening.
    store(ring.entrance, OPENING, 0, RELEASE)


@inlined
def opened(ring):
    """Return how many blocks were opened, a moment ago."""
    # RELAXED: a hint. What a search finds it claims by the state.
    return load(ring.entrance, OPENED, RELAXED)


# --- free segments --------------------------------------------------------------------------------


@inlined
def claim(ring, number, segment):
    """Take a block that waits at a free or scattered segment; return whether it succeeded."""
    word = (number & ring.mask) * LINE_WORDS + STATE
    ready = number * ring.phases + 2 * segment
    # RELAXED: a load first, since an exchange would take the cache line from its user.
    if load(ring.states, word, RELAXED) != ready:
        return False
    # ACQUIRE keeps the data of the block behind it; pairs with the stores in show and send.
    return cas(ring.states, word, ready, ready + 1, ACQUIRE)


@inlined
def claim_between(ring, first, end, segment):
    """Take the first block from `first` to before `end` that waits at a segment, or answer NONE."""
    for number in range(first, end):
        if claim(ring, number, segment):
            return number
    return NONE


@inlined
def send(ring, number, segment):
    """Send a block, which the caller has, to a segment, where it waits."""
    # RELEASE keeps the data of the block before it; pairs with the compare-and-swap in
    # claim and the load in waits.
    store(
        ring.states,
        (number & ring.mask) * LINE_WORDS + STATE,
        number * ring.phases + 2 * segment,
        RELEASE,
    )


# --- ordered segments -----------------------------------------------------------------------------


@inlined
def waits(ring, number, segment):
    """Return whether a block waits at a segment."""
    # ACQUIRE keeps the data of the block behind it; pairs with the stores in show and send.
    state = load(ring.states, (number & ring.mask) * LINE_WORDS + STATE, ACQUIRE)
    return state == number * ring.phases + 2 * segment


@inlined
def waits_next(ring, segment):
    """Return whether the block that is next at an ordered segment waits there, a moment ago."""
    # RELAXED: a hint, so that a worker takes the token only where there is work.
    return waits(
        ring, load(ring.tokens, segment * ring.parts * TOKEN_WORDS + NEXT, RELAXED), segment
    )


@inlined
def segment_of(ring, number):
    """Return the segment at which a block waits, a moment ago, or NONE."""
    # RELAXED: a hint for schedulers.
    state = load(ring.states, (number & ring.mask) * LINE_WORDS + STATE, RELAXED)
    phase = state - number * ring.phases
    if phase < 0 or phase >= ring.phases or phase % 2 != 0:
        return NONE
    return phase // 2


@inlined
def take_token(ring, token):
    """Take a token unless another worker has it; return whether it succeeded."""
    # RELAXED: a load first, as in claim.
    if load(ring.tokens, token + HELD, RELAXED) != 0:
        return False
    # ACQUIRE keeps all that the token guards behind it: the operator's state and NEXT. Pairs with
    # the store in give_back.
    return exchange(ring.tokens, token + HELD, 1, ACQUIRE) == 0


@inlined
def give_back(ring, token):
    """Give back a token."""
    # RELEASE keeps what the token guards before it; pairs with the exchange in take_token.
    store(ring.tokens, token + HELD, 0, RELEASE)


@inlined
def hold(ring, segment):
    """Take the token of an ordered segment at which a block waits; return the block, or NONE."""
    token = segment * ring.parts * TOKEN_WORDS
    if not waits_next(ring, segment):
        return NONE
    if not take_token(ring, token):
        mark("block_ring: another worker has the segment")
        return NONE
    return hold_next(ring, segment)


@inlined
def hold_next(ring, segment):
    """Return the next block at a segment whose token the caller has; or give it back: NONE."""
    token = segment * ring.parts * TOKEN_WORDS
    # RELAXED: only holders write it.
    number = load(ring.tokens, token + NEXT, RELAXED)
    if waits(ring, number, segment):
        return number
    mark("block_ring: nothing is next")
    give_back(ring, token)
    return NONE


@inlined
def leave(ring, number, segment):
    """Let the token of an ordered segment, which the caller has, go to the block after `number`."""
    # RELEASE: behind the last segment it frees the slot, after all uses of the block; pairs with
    # the load in next_of.
    store(ring.tokens, segment * ring.parts * TOKEN_WORDS + NEXT, number + 1, RELEASE)


@inlined
def let_go(ring, segment):
    """Give back the token of an ordered segment."""
    give_back(ring, segment * ring.parts * TOKEN_WORDS)


# --- scattered segments ---------------------------------------------------------------------------


@inlined
def waiting_at(ring, number, segment, part):
    """Return the index of the word that says whether a part of a block waits at a segment."""
    return ((number & ring.mask) * ring.segments + segment) * ring.row + part


@inlined
def scatter(ring, number, segment):
    """Give out the parts of a block that the caller has claimed and divided."""
    # RELAXED: the stores below keep it before the parts.
    store(ring.states, (number & ring.mask) * LINE_WORDS + OPEN, ring.parts, RELAXED)
    for part in range(ring.parts):
        # RELEASE keeps the data of the block before it; pairs with the load in part_waits.
        store(ring.waiting, waiting_at(ring, number, segment, part), number + 1, RELEASE)


@inlined
def part_waits(ring, number, segment, part):
    """Return whether a part of a block waits at a scattered segment."""
    # ACQUIRE keeps the data of the part behind it; pairs with the store in scatter.
    return load(ring.waiting, waiting_at(ring, number, segment, part), ACQUIRE) == number + 1


@inlined
def part_waits_next(ring, segment, part):
    """Return whether the block that is next in a part waits there, a moment ago."""
    # RELAXED: as in waits_next.
    number = load(ring.tokens, (segment * ring.parts + part) * TOKEN_WORDS + NEXT, RELAXED)
    return part_waits(ring, number, segment, part)


@inlined
def hold_part(ring, segment, part):
    """Take the token of a part that waits at a scattered segment; return the block, or NONE."""
    token = (segment * ring.parts + part) * TOKEN_WORDS
    if not part_waits_next(ring, segment, part):
        return NONE
    if not take_token(ring, token):
        mark("block_ring: another worker has the part")
        return NONE
    # RELAXED: only holders write it.
    number = load(ring.tokens, token + NEXT, RELAXED)
    if part_waits(ring, number, segment, part):
        return number
    mark("block_ring: another worker had the part")
    give_back(ring, token)
    return NONE


@inlined
def end_part(ring, number, segment, part, final):
    """End the part of a block that the caller has; return whether it was the block's last one.

    `final` says whether the block then leaves the segment for good.
    """
    token = (segment * ring.parts + part) * TOKEN_WORDS
    # RELAXED: read by holders of the token, and overwritten by the worker that scatters the slot
    # again; the subtraction keeps it before that.
    store(ring.waiting, waiting_at(ring, number, segment, part), 0, RELAXED)
    if final:
        # RELAXED: a hint where searches begin; who has found a part looks at its own word, and the
        # next holder of the token sees the number by the token.
        store(ring.tokens, token + NEXT, number + 1, RELAXED)
    give_back(ring, token)
    # RELEASE keeps what was done with the part before it, and ACQUIRE keeps the work of the one
    # who ends the last part behind that of the others.
    open = fetch_add(ring.states, (number & ring.mask) * LINE_WORDS + OPEN, -1, ACQ_REL)
    return open == 1


def check_invariants(ring: BlockRing) -> None:
    """Check invariants 1 to 3 of a quiescent ring.

    Raises
    ------
    AssertionError
        The message names the invariant.
    """
    known = int(ring.entrance[OPENED])
    left = int(ring.tokens[(ring.segments - 1) * ring.parts * TOKEN_WORDS + NEXT])
    assert ring.entrance[OPENING] == 0, "a worker is opening a block"
    assert left <= known <= left + ring.most, f"invariant 1: {known} opened, {left} finished"
    held = np.flatnonzero(ring.tokens[HELD::TOKEN_WORDS])
    assert len(held) == 0, f"invariant 2: the tokens {held.tolist()} are held"
    following = ring.tokens[NEXT::TOKEN_WORDS]
    assert (following <= known).all(), f"invariant 3: of {known} blocks, {following} are next"


VARIANT = Variant(
    id="block-ring",
    family="core",
    title="Ring of blocks",
    paper="none",
    section="a serial number for many tuples",
    operations=CoreOperations(
        make_ring,
        {
            "begin_opening": begin_opening,
            "show": show,
            "end_opening": end_opening,
            "claim": claim,
            "send": send,
            "hold": hold,
            "leave": leave,
            "let_go": let_go,
            "scatter": scatter,
            "hold_part": hold_part,
            "end_part": end_part,
        },
        check_invariants,
    ),
    order="of the source, in ordered segments and in each part",
    progress="lock-free",
    threads={"worker": "any number"},
    capacity="slots blocks; begin_opening answers NONE",
    bench=False,
)
