"""Round robin as printed: a chain of cores, and a collector that takes pairs as they are found.

Source: section 2.2.3 of "Parallel Index-based Stream Join on a Multicore CPU", after Roy, Teubner
and Gemulla, "Low-latency handshake join", 2014; `operators.join.chain` says how tuples pass the
chain. No core waits for another, and none orders the pairs::

    +--------+      +--------+      +--------+
    | core 0 | <--> | core 1 | <--> | core 2 |
    +--------+      +--------+      +--------+
        | pairs          | pairs         | pairs
        +-------> [    collector    ] <--+           a separate thread; pairs in no order

One step of a core::

    hand over        found pairs to the collector; nothing else is processed until there is room
    send, hand on    as in `operators.join.chain`
    process          a head: expire tuples too old for it, search, and insert it at home

Each stream reaches a core in order, and each tuple with its rank. When both heads are there, the
core takes the earlier one; when one stream is late, it goes on with the other, up to AHEAD ranks.
The later tuple l of a pair may therefore pass the home of the earlier tuple e before e is there.
Either way the pair is found at that home, once::

    e is there when l passes:      l searches the index, and finds e
    l has passed when e comes:     e searches the tuples that have passed recently, and finds l

A tuple of rank k at position p has k - p tuples of the other stream before it. It meets the last
`window` of these; later ones, which the index may also hold, are left out.

Invariants
----------
1. A core processes the tuples of a stream in order, and is at most AHEAD ranks ahead of the last
   tuple of the other stream, unless it knows the next one of that stream.
2. No tuple that is still to come to a core meets a tuple that expired there.
3. PASSED has the tuples of a stream that are later than some tuple of the other stream which is
   still to come: at most AHEAD of them. A share has at most AHEAD tuples more than the window.

No thread waits inside a step, and some thread progresses. Let k be the least rank that some core
has not processed. All earlier tuples are processed everywhere, so there is room for the tuple, and
it comes. The core takes it, unless the core does not know the other stream's next tuple and the
last one is more than AHEAD ranks back. But then that stream is processed everywhere up to the last
tuple, so there is room for the next one, or for the end mark, too, and it comes. A core that waits
for room for pairs still sends and hands on. The collector waits only for the core whose record it
has begun to take, and that core has the rest of it.

# ASSUME: an expired tuple is deleted when a tuple of the other stream passes that does not meet it
# (handshake joins send expiry along with the other stream), or when a tuple of the same stream does
# and the core knows the next tuple of the other one. The paper deletes it with the insertion of the
# same stream; late tuples of the other stream would then miss it.
# ASSUME: handshake joins detect tuples in flight by acknowledgements, this one by ranks.
# ASSUME: cores and collector have a ring each for pairs; the collector is a thread more than cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import END, FULL, NOT_READY, READY, Look, Shown, UsageError, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.spsc_ring import pop, push
from operators.core.vectors import peek, poke
from operators.index.window import make_answer
from operators.join.chain import (
    CLOSED,
    HEAD,
    INDEXES,
    KEY,
    MESSAGES,
    NONE,
    OWN_WORDS,
    PARAMETERS,
    PARTNERS,
    RANK,
    SIDE_WORDS,
    THERE,
    TIME,
    all_sent,
    make_chain,
    make_share,
    move,
    operations_of,
)
from operators.join.family import (
    COUNT,
    FOUND,
    INDEX_FULL,
    MOST_THREADS,
    POSITION,
    SIDE,
    State,
    Timing,
    make_output,
)
from operators.join.window import (
    NEXT,
    Steps,
    Windows,
    behind,
    high_of,
    low_of,
    make_steps,
    seen_of,
)

# The largest number of ranks that a core is ahead of a late stream.
AHEAD = 128

# The variant's words of a core. By side: the rank of the last processed tuple, and the first and
# the next entry of PASSED.
LAST = OWN_WORDS
FIRST_PASSED, NEXT_PASSED = OWN_WORDS + 2, OWN_WORDS + 4
OUT, OUT_COUNT = OWN_WORDS + 6, OWN_WORDS + 7  # words for the collector: next, number
SEEN = OWN_WORDS + 8  # tuples processed; of the collector: tuples with all pairs collected
TOLD = OWN_WORDS + 9  # SEEN as last reported to the collector
# The collector's: the core that it takes from, the expected word, the code, partners to come.
TURN, STAGE, CODE, LEFT = OWN_WORDS + 10, OWN_WORDS + 11, OWN_WORDS + 12, OWN_WORDS + 13
TOLD_BY = OWN_WORDS + 14  # by core
CORE_WORDS = TOLD_BY + MOST_THREADS

# Words for the collector are records of any length: a code, the number of partners, and these; or
# SO_FAR and the number of tuples that the core has processed. A code is 2 * position + side.
SO_FAR = -1
BETWEEN, NUMBER, PARTNER = range(3)
# A core reports SEEN after every TELL_MASK + 1 tuples.
TELL_MASK = 255
# A record of PASSED: the position, the number of earlier tuples of the other stream, key and time.
PASSED_WORDS = 4


class Core(NamedTuple):
    """One core, or the collector, which has an unused window of one tuple."""

    windows: Windows
    words: np.ndarray  # see above
    found: np.ndarray  # (share, and more): positions found by a search
    out: np.ndarray  # words for the collector
    # (2 * slots, PASSED_WORDS), flat: by side a ring of tuples that have passed recently.
    passed: np.ndarray
    passed_ranks: np.ndarray  # (2 * slots): their ranks
    slots: int  # in each of these rings
    ahead: int
    scratch: np.ndarray  # a word read from a ring


def make_state(
    window: int,
    half_width: int,
    *,
    two_way: bool = True,
    key_bits: int = 32,
    span: int = 0,
    threads: int = 2,
    index: str = "b-plus-tree",
    messages: int = MESSAGES,
    partners: int = PARTNERS,
    ahead: int = AHEAD,
) -> State:
    """Return a chain of cores with empty windows, followed by the collector.

    Parameters
    ----------
    window, half_width, two_way, key_bits, span
        As for any join.
    threads : int
        Cores of the chain.
    index : str
        An id of the family ``index``.
    messages, partners : int
        The most in flight between two threads.
    ahead : int
        The largest number of ranks that a core is ahead of a late stream; 1 or more.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    chain = make_chain(threads, index, span, messages, partners)
    if ahead < 1:
        raise UsageError(f"a core is 1 or more ranks ahead, received ahead={ahead}")
    slots = 1 << (ahead - 1).bit_length()
    # A chain of one core reads both streams from memory: neither is ever late.
    spare = ahead if two_way and threads > 1 else 0

    def make_core(number: int, window: int, spare: int, shares: int) -> Core:
        windows = make_share(
            index, window, half_width, two_way=two_way, key_bits=key_bits, span=span,
            number=number, shares=shares, spare=spare,
        )  # fmt: skip
        words = aligned_words(CORE_WORDS)
        words[LAST : LAST + 2] = -1
        share = len(windows.r.keys)
        return Core(
            windows, words, make_answer(share), aligned_words(share + 3 * ahead + 4),
            aligned_words(2 * slots * PASSED_WORDS), aligned_words(2 * slots), slots, ahead,
            aligned_words(LINE_WORDS),
        )  # fmt: skip

    cores = [make_core(number, window, spare, threads) for number in range(threads)]
    return State(chain, (*cores, make_core(threads, 1, 0, 1)), make_output(window))


@inlined
def seen(core):
    """Return the number of tuples of both streams processed, or collected with all pairs."""
    return core.words[SEEN]


# --- tuples that have passed ----------------------------------------------------------------------


@inlined
def remember(core, side, rank, position, before, key, time):
    """Keep a tuple that has passed, for late tuples of the other stream."""
    words = core.words
    slot = side * core.slots + (words[NEXT_PASSED + side] & (core.slots - 1))
    poke(core.passed_ranks, slot, rank)
    for word, value in enumerate((position, before, key, time)):
        poke(core.passed, PASSED_WORDS * slot + word, value)
    words[NEXT_PASSED + side] += 1


@inlined
def forget(core, side, rank):
    """Drop the kept tuples of a side that came before a tuple of the other stream."""
    words = core.words
    first = words[FIRST_PASSED + side]
    while first < words[NEXT_PASSED + side]:
        if peek(core.passed_ranks, side * core.slots + (first & (core.slots - 1))) > rank:
            break
        first += 1
    words[FIRST_PASSED + side] = first


@inlined
def meet_passed(core, side, position, key, time, at):
    """Write the pairs of a tuple with later ones of `side` that have already passed this home.

    They go after the first `at` words for the collector; returns the new number of words.
    """
    windows, words, out = core.windows, core.words, core.out
    for number in range(words[FIRST_PASSED + side], words[NEXT_PASSED + side]):
        place = PASSED_WORDS * (side * core.slots + (number & (core.slots - 1)))
        other = peek(core.passed, place + 2)
        if windows.span > 0:
            inside = time >= peek(core.passed, place + 3) - windows.span
        else:
            inside = position >= peek(core.passed, place + 1) - windows.length
        if inside and low_of(windows, other) <= key and key <= high_of(windows, other):
            mark("round_robin_as_printed: a tuple meets one that has passed its home")
            poke(out, at, 2 * peek(core.passed, place) + side)
            poke(out, at + 1, 1)
            poke(out, at + 2, position)
            at += 3
    return at


# --- pairs ----------------------------------------------------------------------------------------


@inlined
def write_found(core, code, before, count):
    """Write the found positions below `before` for the collector; return the number of words."""
    at = 2
    for place in range(count):
        position = peek(core.found, place)
        if position < before:
            poke(core.out, at, position)
            at += 1
    if at == 2:
        return 0
    poke(core.out, 0, code)
    poke(core.out, 1, at - 2)
    return at


@inlined
def tell(core, at):
    """Append this core's progress to the first `at` words for the collector."""
    poke(core.out, at, SO_FAR)
    poke(core.out, at + 1, core.words[SEEN])
    core.words[TOLD] = core.words[SEEN]
    core.words[OUT_COUNT] = at + 2


@inlined
def hand_over(chain, core):
    """Push words to the collector, as far as there is room; return whether any were pushed."""
    words = core.words
    first, count = words[OUT], words[OUT_COUNT]
    while words[OUT] < count:
        if push(chain.partners, core.windows.number, peek(core.out, words[OUT])) == FULL:
            return words[OUT] > first
        words[OUT] += 1
    words[OUT], words[OUT_COUNT] = 0, 0
    return first < count


@inlined
def turn_to_next(chain, core):
    """Turn to the next core that has words for the collector; return whether there is one."""
    words = core.words
    for _ in range(chain.cores):
        words[TURN] = behind(words[TURN], chain.cores)
        if pop(chain.partners, words[TURN], core.scratch):
            words[CODE] = core.scratch[0]
            words[STAGE] = NUMBER
            return True
    return False


@inlined
def collect(chain, core, output, feed):
    """Take the available part of a record: FOUND when it has the partners of a tuple."""
    words = core.words
    took = NOT_READY
    if words[STAGE] == BETWEEN:
        if not turn_to_next(chain, core):
            return END if words[SEEN] == feed.end_r + feed.end_s else NOT_READY
        took = READY
    if words[STAGE] == NUMBER:
        if not pop(chain.partners, words[TURN], core.scratch):
            return took
        took = READY
        if words[CODE] == SO_FAR:
            words[TOLD_BY + words[TURN]] = core.scratch[0]
            least = core.scratch[0]
            for number in range(chain.cores):
                least = min(least, words[TOLD_BY + number])
            words[SEEN] = least
            words[STAGE] = BETWEEN
            return READY
        words[LEFT] = core.scratch[0]
        words[STAGE] = PARTNER
        output.words[COUNT] = 0
    while words[LEFT] > 0:
        if not pop(chain.partners, words[TURN], core.scratch):
            return took
        took = READY
        poke(output.partners, output.words[COUNT], core.scratch[0])
        output.words[COUNT] += 1
        words[LEFT] -= 1
    words[STAGE] = BETWEEN
    output.words[SIDE] = words[CODE] & 1
    output.words[POSITION] = words[CODE] >> 1
    return FOUND


# --- steps ----------------------------------------------------------------------------------------


@inlined
def is_known(core, side):
    """Whether a core knows the next tuple of a stream, or that there is none."""
    return core.windows.two_way == 0 or core.words[side * SIDE_WORDS + HEAD] != NONE


@inlined
def may_process(core, side):
    """Whether the head of a side is there, and is next or not too far ahead of the other side."""
    words = core.words
    if words[side * SIDE_WORDS + HEAD] != THERE:
        return False
    rank = words[side * SIDE_WORDS + RANK]
    if words[(1 - side) * SIDE_WORDS + HEAD] == THERE:
        return rank < words[(1 - side) * SIDE_WORDS + RANK]
    return is_known(core, 1 - side) or rank - words[LAST + 1 - side] <= core.ahead


def make_step(
    timing: Timing | None = None,
    on_output: Callable[..., None] | None = None,
    *,
    index: str = "b-plus-tree",
    **parameters: int,
) -> Callable[..., int]:
    """Return the step of a core, or of the collector: one tuple or record, without clocks."""
    return _step_over(index)


def make_process_head(steps: Steps) -> Callable[..., int]:
    """Return ``process_head(core, side, probing)``: READY, or INDEX_FULL."""
    find, scan, insert, expire = steps.find, steps.scan, steps.insert, steps.expire

    @inlined
    def process_on(core, mine, other, side, rank, key, time, probing):
        windows, words = core.windows, core.words
        position = mine.words[NEXT]
        before = rank - position if windows.two_way else position
        expire(windows, other, before - windows.length, time - windows.span)
        at = 0
        if probing:
            find(other.index, low_of(windows, key), windows.place)
            count = scan(windows, other, low_of(windows, key), high_of(windows, key), core.found)
            at = write_found(core, 2 * position + side, before, count)
        if windows.two_way:
            forget(core, 1 - side, rank)
            if probing and position % windows.shares == windows.number:
                at = meet_passed(core, 1 - side, position, key, time, at)
        if is_known(core, 1 - side):
            expire(windows, mine, position + 1 - windows.length, time - windows.span)
        else:
            mark("round_robin_as_printed: a core goes on while the other stream is late")
            remember(core, side, rank, position, before, key, time)
        words[LAST + side] = rank
        words[OUT_COUNT] = at
        return insert(windows, mine, key, time)

    @inlined
    def process_head(core, side, probing):
        """Process the head of a side."""
        windows, words = core.windows, core.words
        base = side * SIDE_WORDS
        rank, key, time = words[base + RANK], words[base + KEY], words[base + TIME]
        if side == 0:
            status = process_on(core, windows.r, windows.s, side, rank, key, time, probing)
        else:
            status = process_on(core, windows.s, windows.r, side, rank, key, time, probing)
        words[base + HEAD] = NONE
        words[SEEN] += 1
        if words[SEEN] & TELL_MASK == 0:
            tell(core, words[OUT_COUNT])
        return READY if status != FULL else INDEX_FULL

    return process_head


@cache
def _step_over(index: str) -> Callable[..., int]:
    steps = make_steps(INDEXES[index], whole=False)
    process_head, expire = make_process_head(steps), steps.expire

    @inlined
    def close(core):
        """Expire tuples that no later tuple would meet, after the end of both streams.

        In a quiescent state an index then has exactly its window, whichever stream was ahead.
        """
        windows = core.windows
        if windows.span == 0:
            expire(windows, windows.r, seen_of(windows, 0) - windows.length, 0)
            if windows.two_way:
                expire(windows, windows.s, seen_of(windows, 1) - windows.length, 0)

    @inlined
    def step(chain, core, output, feed):
        if core.windows.number == chain.cores:
            return collect(chain, core, output, feed)
        words = core.words
        done = move(chain, core, feed)
        done |= hand_over(chain, core)
        if words[OUT] < words[OUT_COUNT]:
            return READY if done else NOT_READY
        if words[HEAD] == CLOSED and words[SIDE_WORDS + HEAD] == CLOSED:
            close(core)
            if words[TOLD] < words[SEEN]:
                tell(core, 0)
                return READY
            if all_sent(chain, core, feed, 0) and all_sent(chain, core, feed, 1):
                return END
        elif may_process(core, 0):
            return process_head(core, 0, feed.probing)
        elif may_process(core, 1):
            return process_head(core, 1, feed.probing)
        return READY if done else NOT_READY

    return step


VARIANT = Variant(
    id="round-robin-as-printed",
    family="join",
    title="Round robin, as printed",
    paper="pim_tree",
    section="2.2.3",
    operations=operations_of(make_state, make_step, seen, ordered=False, collectors=1),
    order="none: pairs as they are found",
    # A step never waits; a core without input answers NOT_READY.
    progress="lock-free",
    threads={"core": "1 to 16 in a chain", "collector": "one, takes pairs"},
    capacity="the tuples of a window; messages and pairs wait for room in their rings",
    parameters=PARAMETERS,
    look=Look("sky", "P"),
    shown=(
        Shown("index=b-plus-tree", "B+-Tree, round robin", Look("vermillion", "P", "dense"), {}),
        Shown(
            "index=nested-loop-scalar", "Nested loop, round robin", Look("grey", "X", "dense"), {}
        ),
    ),
)
