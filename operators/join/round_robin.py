"""Round-robin partitioning: a chain of cores, each with an index over its share of the window.

Source: section 2.2.3 of "Parallel Index-based Stream Join on a Multicore CPU", figure 3, after Roy,
Teubner and Gemulla, "Low-latency handshake join", 2014. Tuple n of a stream is kept by core n mod P
alone, its *home*. R enters at the left end of the chain, S at the right one, and each tuple is
handed on to the far end, past every core (fast forwarding); every core searches its own share::

      R from memory                                               positions n with n mod P = 1
           |
           v                                                                   |
    +--------------+   R: (rank, key)    +--------------+   R    +--------------+
    |    core 0    | ------------------> |    core 1    | -----> |    core 2    |
    |  I_R    I_S  | <------------------ |  I_R    I_S  | <----- |  I_R    I_S  |
    +--------------+   S: (rank, key)    +--------------+   S    +--------------+
           ^                                    |                      |     ^
           | partners of each tuple, by core    |                      |     |
           +------------------------------------+----------------------+   S from memory

One step of a core::

    collect          core 0: partners that cores have found, until all are there of the next tuple
    send ahead       at the end where a stream enters: as many tuples as the next core has room for
    hand on          elsewhere: all that came in and the next core has room for
    take a head      the next tuple of either stream: of those handed on, or from memory at its end
    process          the head that arrived earlier: search, delete, insert if it is its home

A tuple has a *rank*, its place in the arrival order of both streams, and each core processes them
in that order. So every core sees the same windows at the same tuple, and a pair is found once:
where the earlier one is kept, by the later one. A self join has no S: the one stream passes all
cores, and searches the shares that it is kept in. In windows of time a tuple's time goes with it.

Invariants
----------
1. A core processes tuples in the order of their ranks. It hands them on before, whether it can
   process them yet or not: as far as the rings have room, a stream comes to the far end without
   waiting for the other one. What was handed on and not read yet keeps its slot.
2. Behind the tuple of rank k the indexes of all cores hold exactly the windows as of rank k: each
   tuple at its home.
3. Core 0 gives out the partners of a tuple when every core has processed it: in the order of ranks.

Nobody waits inside a step: what does not fit is tried again in the next one. And someone gets on:
let k be the least rank that some core has not processed. What lies unread in the rings ahead of
that tuple came before it in its stream: it has a rank below k, and was processed there. So there is
nothing, and room for the tuple; and likewise for the next one of the other stream, whose rank the
core has to know. Partners are in nobody's way: core 0 waits for those of rank k or of an earlier
one, and takes them from whoever has them.

Shared words are those of the rings (`operators.core.spsc_ring`); all others belong to one core. The
linearization points of handing on are those of ``publish``, of making room those of ``give_back``.

# ASSUME: handshake joins let a tuple meet those that are under way against it with acknowledgements
# and a second look; here a core waits until it knows which of its two heads arrived earlier. The
# paper asks for results in the order of arrival, and the searches, which it counts, are the same.
# ASSUME: partners are put in order by core 0 beside its own work, so that P cores are P threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators import registry
from operators.contract import (
    END,
    FULL,
    NOT_READY,
    READY,
    Look,
    Parameter,
    Shown,
    UsageError,
    Variant,
)
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spsc_ring import (
    NO_SLOT,
    Rings,
    claim,
    front,
    give_back,
    make_rings,
    pop,
    publish,
    push,
    slot_place,
    take,
)
from operators.core.spsc_ring import check_invariants as check_rings
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations
from operators.index.window import make_answer
from operators.join.family import (
    COUNT,
    FOUND,
    INDEX_FULL,
    MOST_THREADS,
    JoinOperations,
    State,
    Timing,
    make_output,
)
from operators.join.feed import end_of, rank_of, time_of
from operators.join.window import (
    Windows,
    behind,
    each_window,
    footprint_of,
    make_process,
    make_steps,
    make_windows,
    seen_of,
    seen_of_both,
    views_of,
)
from operators.join.window import check_invariants as check_windows

# Words of a core, those of a side behind its number times SIDE_WORDS.
HEAD = 0  # the next tuple of a stream: NONE, THERE or CLOSED
RANK, KEY, TIME = 1, 2, 3  # of the head
FEED_PLACE = 4  # where the next tuple lies in memory, at the end of the chain that it enters at
SENT, SENT_PLACE = 5, 6  # there: the next position to be sent ahead, and where it lies in memory
HANDED_ON, READ = 7, 8  # elsewhere: messages the next core has, if any, and those read of them
SIDE_WORDS = 9
OUT, OUT_COUNT = 18, 19  # partners not handed to core 0 yet: the next, and how many there are
# Core 0 alone: whose partners are next, and how many of them are still to come (-1: their number).
TURN, LEFT = 20, 21
TUPLES = 22  # tuples whose partners core 0 has given out
CORE_WORDS = 24

NONE, THERE, CLOSED = range(3)
# Messages and partners that are under way between two cores, at most.
MESSAGES, PARTNERS = 64, 1024
# The rank of the message behind the last tuple.
NO_MORE = -1


class Chain(NamedTuple):
    """What connects the cores."""

    # (2 * cores): into core c, R through ring c and S through ring cores + c. A record is a rank,
    # a key and, in time windows, a time.
    ways: Rings
    # (cores): from core c to core 0, for each tuple the number of its partners and then these.
    partners: Rings
    cores: int
    kind: int  # of its indexes: the place in INDEXES


class Core(NamedTuple):
    """One core: its share of both windows, and where it is."""

    windows: Windows
    words: np.ndarray  # see above
    out: np.ndarray  # (share, and more): partners found here of the tuple processed last
    scratch: np.ndarray  # a word read from a ring


# What a core's share may be indexed by.
INDEXES = {each.id: each.operations for each in registry.declared_in("index")}


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
) -> State:
    """Return a chain of cores with empty windows.

    Parameters
    ----------
    window, half_width, two_way, key_bits, span
        As of any join.
    threads : int
        Cores of the chain.
    index : str
        Of the family ``index``.
    messages, partners : int
        That are under way between two cores, at most.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    if not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"a chain has 1 to {MOST_THREADS} threads, received {threads}")

    def make_core(number: int) -> Core:
        kept = make_windows(
            INDEXES[index], window, half_width, two_way=two_way, key_bits=key_bits, span=span,
            number=number, shares=threads,
        )  # fmt: skip
        (windows,) = views_of(INDEXES[index], kept, 1)
        words = aligned_words(CORE_WORDS)
        words[OUT] = -2  # none
        words[LEFT] = -1
        return Core(windows, words, make_answer(len(windows.r.keys)), aligned_words(LINE_WORDS))

    cores = tuple(make_core(number) for number in range(threads))
    ways = make_rings(2 * threads, messages, 3 if span else 2)
    found = make_rings(threads, partners)
    chain = Chain(ways, found, threads, list(INDEXES).index(index))
    return State(chain, cores, make_output(window))


def reopen(state: State) -> None:
    """Let a chain that has come to its END go on with more tuples."""
    for core in state.threads:
        for side in range(2):
            base = side * SIDE_WORDS
            core.words[base + HEAD] = NONE
            # What was sent last is that there is no more.
            core.words[base + SENT] = seen_of(core.windows, side)


@inlined
def seen(core):
    """Return how many tuples of both streams a core has processed."""
    return seen_of_both(core.windows)


# --- handing on -----------------------------------------------------------------------------------


@inlined
def entering_time(core, feed, side, position):
    """Return the time of a tuple that enters, 0 where nobody reads it."""
    return time_of(feed, side, position) if core.windows.span > 0 else 0


@inlined
def write(chain, core, place, rank, key, time):
    """Write the message of a tuple at a place of a ring."""
    poke(chain.ways.records, place, rank)
    poke(chain.ways.records, place + 1, key)
    if core.windows.span > 0:
        poke(chain.ways.records, place + 2, time)


@inlined
def enters_here(chain, core, side):
    """Whether a stream enters the chain at this core."""
    return core.windows.number == (0 if side == 0 else chain.cores - 1)


@inlined
def ends_here(chain, core, side):
    """Whether a stream leaves the chain behind this core."""
    return core.windows.number == (chain.cores - 1 if side == 0 else 0)


@inlined
def send_ahead(chain, core, feed, side):
    """Give the next core tuples that enter here, as many as it has room for: whether any."""
    if chain.cores == 1 or not enters_here(chain, core, side):
        return False
    base = side * SIDE_WORDS
    words = core.words
    keys = feed.r if side == 0 else feed.s
    ring = side * chain.cores + (core.windows.number + 1 if side == 0 else core.windows.number - 1)
    done = False
    while words[base + SENT] <= end_of(feed, side):
        place = claim(chain.ways, ring)
        if place == NO_SLOT:
            break
        position, at = words[base + SENT], words[base + SENT_PLACE]
        if position < end_of(feed, side):
            time = entering_time(core, feed, side, position)
            write(chain, core, place, rank_of(feed, side, position), peek(keys, at), time)
            words[base + SENT_PLACE] = behind(at, len(keys))
        else:
            poke(chain.ways.records, place, NO_MORE)
        publish(chain.ways, ring)
        words[base + SENT] = position + 1
        done = True
    return done


@inlined
def all_sent(chain, core, feed, side):
    """Whether the next core has all of a stream that enters here."""
    here = chain.cores > 1 and enters_here(chain, core, side)
    return not here or core.words[side * SIDE_WORDS + SENT] > end_of(feed, side)


@inlined
def hand_on(chain, core, side):
    """Give the next core what came in, processed here or not, as far as it has room: whether any.

    A slot is taken with that, and given back when the message is read (``take_head``).
    """
    if enters_here(chain, core, side) or ends_here(chain, core, side):
        return False
    ring = side * chain.cores + core.windows.number
    following = ring + 1 if side == 0 else ring - 1
    records = chain.ways.records
    done = False
    arrived = front(chain.ways, ring)
    while arrived != NO_SLOT:
        place = claim(chain.ways, following)
        if place == NO_SLOT:
            break
        time = peek(records, arrived + 2) if core.windows.span > 0 else 0
        write(chain, core, place, peek(records, arrived), peek(records, arrived + 1), time)
        publish(chain.ways, following)
        core.words[side * SIDE_WORDS + HANDED_ON] = take(chain.ways, ring)
        done = True
        arrived = front(chain.ways, ring)
    return done


@inlined
def take_head(chain, core, feed, side):
    """Take the next tuple of a stream if there is none here: whether something was done."""
    base = side * SIDE_WORDS
    words = core.words
    if words[base + HEAD] != NONE:
        return False
    if enters_here(chain, core, side):
        position = seen_of(core.windows, side)
        if position < end_of(feed, side):
            place = words[base + FEED_PLACE]
            keys = feed.r if side == 0 else feed.s
            words[base + RANK] = rank_of(feed, side, position)
            words[base + TIME] = entering_time(core, feed, side, position)
            words[base + KEY] = peek(keys, place)
            words[base + FEED_PLACE] = behind(place, len(keys))
        else:
            words[base + RANK] = NO_MORE
    else:
        ring = side * chain.cores + core.windows.number
        if ends_here(chain, core, side) and front(chain.ways, ring) != NO_SLOT:
            words[base + HANDED_ON] = take(chain.ways, ring)  # there is nobody to get it
        if words[base + READ] == words[base + HANDED_ON]:
            return False
        place = slot_place(chain.ways, ring, words[base + READ])
        words[base + RANK] = peek(chain.ways.records, place)
        words[base + KEY] = peek(chain.ways.records, place + 1)
        if core.windows.span > 0:
            words[base + TIME] = peek(chain.ways.records, place + 2)
        words[base + READ] += 1
        give_back(chain.ways, ring, words[base + READ])
    words[base + HEAD] = CLOSED if words[base + RANK] == NO_MORE else THERE
    return True


# --- partners -------------------------------------------------------------------------------------


@inlined
def hand_partners(chain, core):
    """Give core 0 what this core has found, as far as there is room: whether all of it is there."""
    words = core.words
    while words[OUT] >= -1 and words[OUT] < words[OUT_COUNT]:
        word = words[OUT_COUNT] if words[OUT] < 0 else peek(core.out, words[OUT])
        if push(chain.partners, core.windows.number, word) == FULL:
            return False
        words[OUT] += 1
    words[OUT] = -2  # none
    return True


@inlined
def collect(chain, core, output):
    """Take partners of the next tuple, core by core: FOUND when it has those of all of them."""
    words = core.words
    while words[TURN] < chain.cores:
        if not pop(chain.partners, words[TURN], core.scratch):
            return NOT_READY
        if words[LEFT] < 0:
            words[LEFT] = core.scratch[0]
        else:
            poke(output.partners, output.words[COUNT], core.scratch[0])
            output.words[COUNT] += 1
            words[LEFT] -= 1
        if words[LEFT] == 0:
            words[LEFT] = -1
            words[TURN] += 1
    return FOUND


# --- at rest --------------------------------------------------------------------------------------


def _index_of(state: State) -> IndexOperations:
    return list(INDEXES.values())[state.shared.kind]


def footprint(state: State) -> dict[str, int]:
    """Return the bytes in use of all cores by component; "window": the keys that they keep."""
    kept = [each for core in state.threads for each in each_window(core.windows)]
    return footprint_of(_index_of(state), kept)


def merge_ns(state: State) -> int:
    """Return the time that merges have taken, the mean over the cores, which work in parallel."""
    index = _index_of(state)
    kept = [each for core in state.threads for each in each_window(core.windows)]
    return sum(int(index.merge_ns(each.index)) for each in kept) // len(state.threads)


def inserted(state: State) -> np.ndarray:
    """Return nothing: subindexes of several cores have no common ranges."""
    return np.zeros(0, dtype=np.int64)


def cycle(state: State) -> int:
    """Return after how many tuples of a stream the work of the core that keeps them repeats."""
    return _index_of(state).cycle(state.threads[0].windows.r.index) * len(state.threads)


def check_invariants(state: State) -> None:
    """Check a chain at rest: every core has seen as much, and keeps its share of the windows.

    Raises
    ------
    AssertionError
        Naming the core.
    """
    check_rings(state.shared.ways)
    check_rings(state.shared.partners)
    first, index = state.threads[0], _index_of(state)
    for number, core in enumerate(state.threads):
        unread = [core.words[at + HANDED_ON] - core.words[at + READ] for at in (0, SIDE_WORDS)]
        assert not any(unread), f"core {number}: messages were not read, {unread}"
        for side in range(2):
            behind_first = seen_of(core.windows, side) - seen_of(first.windows, side)
            assert behind_first == 0, f"core {number} is {-behind_first} tuples behind"
        check_windows(index, core.windows)


# --- steps ----------------------------------------------------------------------------------------


def make_step(
    timing: Timing | None = None,
    on_output: Callable[..., None] | None = None,
    *,
    index: str = "b-plus-tree",
    **parameters: int,
) -> Callable[..., int]:
    """Return the step of a core over an index: one tuple at a time, without clocks."""
    return _step_over(index)


@cache
def _step_over(index: str) -> Callable[..., int]:
    process = make_process(make_steps(INDEXES[index], whole=False))

    @inlined
    def process_head(core, feed, side):
        """Process the head of a side."""
        words = core.words
        base = side * SIDE_WORDS
        key, time = words[base + KEY], words[base + TIME]
        count = process(core.windows, side, key, time, core.out, feed.probing)
        words[OUT_COUNT] = count
        words[OUT] = -1  # their number comes first
        words[base + HEAD] = NONE
        return READY if count >= 0 else INDEX_FULL

    @inlined
    def step(chain, core, output, feed):
        words = core.words
        is_first = core.windows.number == 0
        if is_first:
            if words[TURN] == chain.cores:
                # The tuple before was given out.
                words[TURN], output.words[COUNT] = 0, 0
                words[TUPLES] += 1
            if collect(chain, core, output) == FOUND:
                return FOUND
        done = send_ahead(chain, core, feed, 0) | send_ahead(chain, core, feed, 1)
        done |= hand_on(chain, core, 0) | hand_on(chain, core, 1)
        done |= take_head(chain, core, feed, 0) | take_head(chain, core, feed, 1)
        if not hand_partners(chain, core):
            return READY if done else NOT_READY
        r, s = words[HEAD], words[SIDE_WORDS + HEAD]
        if r == CLOSED and s == CLOSED:
            sent = all_sent(chain, core, feed, 0) and all_sent(chain, core, feed, 1)
            if sent and (not is_first or words[TUPLES] == feed.end_r + feed.end_s):
                return END
        elif r != NONE and s != NONE:
            r_first = s == CLOSED or (r == THERE and words[RANK] < words[SIDE_WORDS + RANK])
            return process_head(core, feed, 0 if r_first else 1)
        return READY if done else NOT_READY

    return step


VARIANT = Variant(
    id="round-robin",
    family="join",
    title="Round robin",
    paper="pim_tree",
    section="2.2.3",
    operations=JoinOperations(
        make_state=make_state,
        make_step=make_step,
        seen=seen,
        merge_ns=merge_ns,
        footprint=footprint,
        inserted=inserted,
        cycle=cycle,
        check_invariants=check_invariants,
        reopen=reopen,
    ),
    order="pairs in the order of arrival of the probing tuple",
    # A step never waits; a core without input answers NOT_READY.
    progress="lock-free",
    threads={"core": "1 to 16 in a chain; core 0 puts partners in order"},
    capacity="the tuples of a window; messages and partners wait for room in their rings",
    parameters=(
        Parameter("threads", 2, 1, MOST_THREADS, "threads", "cores of the chain"),
        Parameter(
            "index",
            "b-plus-tree",
            meaning="of each core's share",
            choices=tuple(INDEXES),
        ),
    ),
    look=Look("sky", "P"),
    shown=(
        Shown("index=b-plus-tree", "B+-Tree, round robin", Look("vermillion", "P", "dense"), {}),
        Shown("index=nested-loop", "Nested loop, round robin", Look("grey", "X", "dense"), {}),
    ),
)
