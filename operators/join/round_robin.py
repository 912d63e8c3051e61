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
    ACCEPTED,
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
from operators.core.layout import aligned_words
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
from operators.index.family import IndexOperations, check_window
from operators.index.window import make_answer
from operators.join import share
from operators.join.family import INDEX_FULL, MOST_THREADS, JoinOperations
from operators.join.index_join import behind, footprint_of, widest
from operators.join.share import SEEN, Share, make_share, make_share_steps

# What a step answers beside NOT_READY, READY (it did something) and END: core 0 has all partners of
# the next tuple, ``found[0:words[COUNT]]``.
FOUND = 2

# Words of a core, those of a side behind its number times SIDE_WORDS.
HEAD = 0  # the next tuple of a stream: NONE, THERE or CLOSED
RANK, KEY, TIME = 1, 2, 3  # of the head
FEED_PLACE = 4  # where the next tuple lies in memory, at the end of the chain that it enters at
SENT, SENT_PLACE = 5, 6  # there: the next position to be sent ahead, and where it lies in memory
HANDED_ON, READ = 7, 8  # elsewhere: messages the next core has, if any, and those read of them
SIDE_WORDS = 9
OUT, OUT_COUNT = 18, 19  # partners not handed to core 0 yet: the next, and how many there are
# Core 0 alone: whose partners are next, how many of them are still to come (-1: their number), and
# how many of the tuple it has.
TURN, LEFT, COUNT = 20, 21, 22
TUPLES = 23  # tuples whose partners core 0 has given out
CORE_WORDS = 24

NONE, THERE, CLOSED = range(3)
# Messages and partners that are under way between two cores, at most.
MESSAGES, PARTNERS = 64, 1024
# The rank of the message behind the last tuple.
NO_MORE = -1


class Core(NamedTuple):
    """One core: its share of both windows, its ends of the rings, and where it is."""

    r: Share
    s: Share  # of a self join: that of R once more
    words: np.ndarray  # see above
    place: np.ndarray  # between `find` and `scan` of an index
    out: np.ndarray  # (share, and more): partners found here of the tuple processed last
    found: np.ndarray  # (window + 1): core 0's, partners of the next tuple
    scratch: np.ndarray  # a word read from a ring
    # (2 * cores): into core c, R through ring c and S through ring cores + c. A record is a rank,
    # a key and, in windows of time, a time.
    ways: Rings
    # (cores): from core c to core 0, for each tuple the number of its partners and then these.
    partners: Rings
    number: int
    cores: int
    span: int  # ticks of a window of time, else 0
    half_width: int
    lowest: int
    highest: int
    two_way: int
    kind: int  # of its indexes: the place in INDEXES


class Feed(NamedTuple):
    """What a run joins: tuples of both streams, up to a position of each."""

    r: np.ndarray  # keys, which begin again behind the last one
    s: np.ndarray
    ranks_r: np.ndarray  # by position; empty where R's and S's arrive by turns
    ranks_s: np.ndarray
    times_r: np.ndarray  # by position; read in windows of time alone
    times_s: np.ndarray
    end_r: int
    end_s: int
    probing: int  # 0 while windows are filled: nobody looks for partners


def by_turns(
    r: np.ndarray, s: np.ndarray, end: int, probing: int = 1, *, two_way: bool = True
) -> Feed:
    """Return what a run joins whose tuples arrive by turns, one of R before one of S, if any."""
    none = np.zeros(0, dtype=np.int64)
    return Feed(r, s, none, none, none, none, end, end if two_way else 0, probing)


def by_time(
    r_times: np.ndarray, r: np.ndarray, s_times: np.ndarray, s: np.ndarray, probing: int = 1
) -> Feed:
    """Return what a run joins whose tuples arrive by time, at equal times those of R first."""
    ranks_r = np.arange(len(r)) + np.searchsorted(s_times, r_times, side="left")
    ranks_s = np.arange(len(s)) + np.searchsorted(r_times, s_times, side="right")
    return Feed(r, s, ranks_r, ranks_s, r_times, s_times, len(r), len(s), probing)


# What a core's share may be indexed by.
INDEXES = {each.id: each.operations for each in registry.declared_in("index")}


def make_cores(
    index_id: str,
    window: int,
    half_width: int,
    threads: int,
    key_bits: int = 32,
    *,
    two_way: bool = True,
    span: int = 0,
    messages: int = MESSAGES,
    partners: int = PARTNERS,
) -> tuple[Core, ...]:
    """Return the cores of a chain with empty windows.

    Parameters
    ----------
    index_id : str
        Of the family ``index``.
    window, half_width : int
        As of any join.
    threads : int
        Cores of the chain.
    key_bits : int
        32 or 64.
    two_way : bool
        Whether there is an S.
    span : int
        As of any join: ticks of a window of time, else 0.
    messages, partners : int
        That are under way between two cores, at most.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    key_type = check_window(window, key_bits)
    if not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"a chain has 1 to {MOST_THREADS} threads, received {threads}")
    index = INDEXES[index_id]
    limits = np.iinfo(key_type)
    ways = make_rings(2 * threads, messages, 3 if span else 2)
    found = make_rings(threads, partners)

    def core(number: int) -> Core:
        r = make_share(index, window, span, number, threads, key_bits)
        s = make_share(index, window, span, number, threads, key_bits) if two_way else r
        words = aligned_words(CORE_WORDS)
        words[OUT] = -2  # none
        words[LEFT] = -1
        return Core(
            r,
            s,
            words,
            aligned_words(index.places(r.index)),
            make_answer(len(r.keys)),
            aligned_words(window + 1 if number == 0 else 1),
            aligned_words(1),
            ways,
            found,
            number,
            threads,
            span,
            widest(half_width, limits),
            int(limits.min),
            int(limits.max),
            int(two_way),
            list(INDEXES).index(index_id),
        )

    return tuple(core(number) for number in range(threads))


def reopen(cores: tuple[Core, ...]) -> None:
    """Let a chain that has come to its END go on with more tuples."""
    for core in cores:
        for side in range(2):
            base = side * SIDE_WORDS
            core.words[base + HEAD] = NONE
            # What was sent last is that there is no more.
            core.words[base + SENT] = seen_of(core, side)


# --- handing on -----------------------------------------------------------------------------------


@inlined
def seen_of(core, side):
    """How many tuples of a stream this core has processed."""
    return core.r.words[SEEN] if side == 0 else core.s.words[SEEN] * core.two_way


@inlined
def end_of(feed, side):
    """How many tuples a stream has."""
    return feed.end_r if side == 0 else feed.end_s


@inlined
def rank_of(feed, side, position):
    """Return the rank of a tuple that enters."""
    ranks = feed.ranks_r if side == 0 else feed.ranks_s
    return peek(ranks, position) if len(ranks) > 0 else 2 * position + side


@inlined
def time_of(core, feed, side, position):
    """Return the time of a tuple that enters, 0 where nobody reads it."""
    if core.span == 0:
        return 0
    return peek(feed.times_r if side == 0 else feed.times_s, position)


@inlined
def write(core, place, rank, key, time):
    """Write the message of a tuple at a place of a ring."""
    poke(core.ways.records, place, rank)
    poke(core.ways.records, place + 1, key)
    if core.span > 0:
        poke(core.ways.records, place + 2, time)


@inlined
def enters_here(core, side):
    """Whether a stream enters the chain at this core."""
    return core.number == (0 if side == 0 else core.cores - 1)


@inlined
def ends_here(core, side):
    """Whether a stream leaves the chain behind this core."""
    return core.number == (core.cores - 1 if side == 0 else 0)


@inlined
def send_ahead(core, feed, side):
    """Give the next core tuples that enter here, as many as it has room for: whether any."""
    if core.cores == 1 or not enters_here(core, side):
        return False
    base = side * SIDE_WORDS
    words = core.words
    keys = feed.r if side == 0 else feed.s
    ring = side * core.cores + (core.number + 1 if side == 0 else core.number - 1)
    done = False
    while words[base + SENT] <= end_of(feed, side):
        place = claim(core.ways, ring)
        if place == NO_SLOT:
            break
        position, at = words[base + SENT], words[base + SENT_PLACE]
        if position < end_of(feed, side):
            time = time_of(core, feed, side, position)
            write(core, place, rank_of(feed, side, position), peek(keys, at), time)
            words[base + SENT_PLACE] = behind(at, len(keys))
        else:
            poke(core.ways.records, place, NO_MORE)
        publish(core.ways, ring)
        words[base + SENT] = position + 1
        done = True
    return done


@inlined
def all_sent(core, feed, side):
    """Whether the next core has all of a stream that enters here."""
    here = core.cores > 1 and enters_here(core, side)
    return not here or core.words[side * SIDE_WORDS + SENT] > end_of(feed, side)


@inlined
def hand_on(core, side):
    """Give the next core what came in, processed here or not, as far as it has room: whether any.

    A slot is taken with that, and given back when the message is read (``take_head``).
    """
    if enters_here(core, side) or ends_here(core, side):
        return False
    ring = side * core.cores + core.number
    following = ring + 1 if side == 0 else ring - 1
    records = core.ways.records
    done = False
    came = front(core.ways, ring)
    while came != NO_SLOT:
        place = claim(core.ways, following)
        if place == NO_SLOT:
            break
        time = peek(records, came + 2) if core.span > 0 else 0
        write(core, place, peek(records, came), peek(records, came + 1), time)
        publish(core.ways, following)
        core.words[side * SIDE_WORDS + HANDED_ON] = take(core.ways, ring)
        done = True
        came = front(core.ways, ring)
    return done


@inlined
def take_head(core, feed, side):
    """Take the next tuple of a stream if there is none here: whether something was done."""
    base = side * SIDE_WORDS
    words = core.words
    if words[base + HEAD] != NONE:
        return False
    if enters_here(core, side):
        position = seen_of(core, side)
        if position < end_of(feed, side):
            place = words[base + FEED_PLACE]
            keys = feed.r if side == 0 else feed.s
            words[base + RANK] = rank_of(feed, side, position)
            words[base + TIME] = time_of(core, feed, side, position)
            words[base + KEY] = peek(keys, place)
            words[base + FEED_PLACE] = behind(place, len(keys))
        else:
            words[base + RANK] = NO_MORE
    else:
        ring = side * core.cores + core.number
        if ends_here(core, side) and front(core.ways, ring) != NO_SLOT:
            words[base + HANDED_ON] = take(core.ways, ring)  # there is nobody to get it
        if words[base + READ] == words[base + HANDED_ON]:
            return False
        place = slot_place(core.ways, ring, words[base + READ])
        words[base + RANK] = peek(core.ways.records, place)
        words[base + KEY] = peek(core.ways.records, place + 1)
        if core.span > 0:
            words[base + TIME] = peek(core.ways.records, place + 2)
        words[base + READ] += 1
        give_back(core.ways, ring, words[base + READ])
    words[base + HEAD] = CLOSED if words[base + RANK] == NO_MORE else THERE
    return True


# --- partners -------------------------------------------------------------------------------------


@inlined
def hand_partners(core):
    """Give core 0 what this core has found, as far as there is room: whether all of it is there."""
    words = core.words
    while words[OUT] >= -1 and words[OUT] < words[OUT_COUNT]:
        word = words[OUT_COUNT] if words[OUT] < 0 else peek(core.out, words[OUT])
        if push(core.partners, core.number, word) == FULL:
            return False
        words[OUT] += 1
    words[OUT] = -2  # none
    return True


@inlined
def collect(core):
    """Take partners of the next tuple, core by core: FOUND when it has those of all of them."""
    words = core.words
    while words[TURN] < core.cores:
        if not pop(core.partners, words[TURN], core.scratch):
            return NOT_READY
        if words[LEFT] < 0:
            words[LEFT] = core.scratch[0]
        else:
            poke(core.found, words[COUNT], core.scratch[0])
            words[COUNT] += 1
            words[LEFT] -= 1
        if words[LEFT] == 0:
            words[LEFT] = -1
            words[TURN] += 1
    return FOUND


def _index_of(cores: tuple[Core, ...]) -> IndexOperations:
    return list(INDEXES.values())[cores[0].kind]


def _shares_of(core: Core) -> tuple[Share, ...]:
    """Return the share of each stream."""
    return (core.r, core.s) if core.two_way else (core.r,)


def footprint(cores: tuple[Core, ...]) -> dict[str, int]:
    """Return the bytes in use of all cores by component; "window": the keys that they keep."""
    shares = [each for core in cores for each in _shares_of(core)]
    states, keys = zip(*((each.index, each.keys) for each in shares), strict=True)
    return footprint_of(_index_of(cores), states, keys)


def merge_ns(cores: tuple[Core, ...]) -> int:
    """Return the time that merges have taken, the mean over the cores, which work side by side."""
    index = _index_of(cores)
    shares = [each for core in cores for each in _shares_of(core)]
    return sum(int(index.merge_ns(each.index)) for each in shares) // len(cores)


def inserted(cores: tuple[Core, ...]) -> np.ndarray:
    """Return nothing: subindexes of several cores have no common ranges."""
    return np.zeros(0, dtype=np.int64)


def cycle(cores: tuple[Core, ...]) -> int:
    """Return after how many tuples of a stream the work of its home repeats."""
    return _index_of(cores).cycle(cores[0].r.index) * len(cores)


def check_invariants(cores: tuple[Core, ...]) -> None:
    """Check a chain at rest: every core has seen as much, and keeps its share of the windows.

    Raises
    ------
    AssertionError
        Naming the core.
    """
    check_rings(cores[0].ways)
    check_rings(cores[0].partners)
    for core in cores:
        unread = [core.words[at + HANDED_ON] - core.words[at + READ] for at in (0, SIDE_WORDS)]
        assert not any(unread), f"core {core.number}: messages were not read, {unread}"
        for side, each in enumerate(_shares_of(core)):
            share.check_invariants(each, int(seen_of(cores[0], side)))


@cache
def make_step(index_id: str) -> Callable[..., int]:
    """Return ``step(core, feed)`` over an index, see the head of this file.

    It answers READY when something was done, NOT_READY when others have to do something first,
    FOUND (core 0: the partners of the next tuple are in ``found[0:words[COUNT]]``, in no order)
    and END; INDEX_FULL where an index had no room.
    """
    search, expire, keep = make_share_steps(INDEXES[index_id])

    @inlined
    def process(core, feed, side):
        """Process the head of a side."""
        words = core.words
        base = side * SIDE_WORDS
        key, time = words[base + KEY], words[base + TIME]
        words[OUT_COUNT] = 0
        if core.span > 0:
            expire(core.r, time)
            if core.two_way:
                expire(core.s, time)
        if side == 0:
            if feed.probing:
                words[OUT_COUNT] = search(core, core.s, key)
            status = keep(core.r, key, time)
        else:
            if feed.probing:
                words[OUT_COUNT] = search(core, core.r, key)
            status = keep(core.s, key, time)
        words[OUT] = -1  # their number comes first
        words[base + HEAD] = NONE
        return READY if status == ACCEPTED else INDEX_FULL

    @inlined
    def step(core, feed):
        words = core.words
        if core.number == 0:
            if words[TURN] == core.cores:
                # The tuple before was given out.
                words[TURN], words[COUNT] = 0, 0
                words[TUPLES] += 1
            if collect(core) == FOUND:
                return FOUND
        done = send_ahead(core, feed, 0) | send_ahead(core, feed, 1)
        done |= hand_on(core, 0) | hand_on(core, 1)
        done |= take_head(core, feed, 0) | take_head(core, feed, 1)
        if not hand_partners(core):
            return READY if done else NOT_READY
        r, s = words[HEAD], words[SIDE_WORDS + HEAD]
        if r == CLOSED and s == CLOSED:
            sent = all_sent(core, feed, 0) and all_sent(core, feed, 1)
            if sent and (core.number != 0 or words[TUPLES] == feed.end_r + feed.end_s):
                return END
        elif r != NONE and s != NONE:
            r_first = s == CLOSED or (r == THERE and words[RANK] < words[SIDE_WORDS + RANK])
            return process(core, feed, 0 if r_first else 1)
        return READY if done else NOT_READY

    return step


VARIANT = Variant(
    id="round-robin",
    family="join",
    title="Round robin",
    paper="pim_tree",
    section="2.2.3",
    operations=JoinOperations(
        make_state=make_cores,
        process=None,
        stamped=None,
        merge_ns=merge_ns,
        footprint=footprint,
        inserted=inserted,
        cycle=cycle,
        check_invariants=check_invariants,
        make_step=make_step,
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
