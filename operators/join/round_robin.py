"""Round robin in the order of arrival: core 0 puts the partners of all cores in order.

Source: section 2.2.3 of "Parallel Index-based Stream Join on a Multicore CPU";
`operators.join.chain` says how tuples pass the chain. The paper's join gives pairs out as they are
found (`operators.join.round_robin_as_printed`); this one, of no paper, in the order of all joins
here::

    +--------+      +--------+      +--------+
    | core 0 | <--> | core 1 | <--> | core 2 |
    +--------+      +--------+      +--------+
        ^ partners of    |               |
        | each tuple, by core            |
        +----------------+---------------+

One step of a core::

    collect          core 0: partners that cores have found, until the next tuple has all of them
    send ahead       at the end where a stream enters: as many tuples as the next core has room for
    hand on          elsewhere: all messages that came in and the next core has room for
    take a head      the next tuple of either stream: handed on, or from memory where it enters
    process          the head that arrived earlier: search, delete, insert if this is its home

Each core processes tuples in the order of their ranks. So every core sees the same windows at the
same tuple, and a pair is found once: where the earlier one is kept, by the later one.

Invariants
----------
1. A core processes tuples in the order of their ranks.
2. After the tuple of rank k the indexes of all cores hold exactly the windows as of rank k: each
   tuple at home.
3. Core 0 gives out the partners of a tuple when every core has processed it: in the order of ranks.

No thread waits inside a step: a push that finds no room is retried in the next one. And some thread
progresses: let k be the least rank that some core has not processed. A tuple that is unread in the
rings ahead of it came earlier in the same stream, so it has a rank below k, and was processed
there. The rings are therefore empty and have room for the tuple; and likewise for the next one of
the other stream, whose rank the core has to know. Partners block no core for ever: core 0 waits for
those of rank k or of an earlier one, and takes them from the core that has them.

# ASSUME: handshake joins let a tuple meet those in flight against it by acknowledgements and a
# second look; here a core waits until it knows which of the two heads arrived earlier. The
# searches, which the paper counts, are the same.
# ASSUME: core 0 orders partners in addition to joining, so that P cores are P threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import END, FULL, NOT_READY, READY, Look, Shown, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
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
    State,
    Timing,
    make_output,
)
from operators.join.window import Windows, make_process, make_steps, seen_of_both

# The variant's words of a core: partners not yet handed to core 0, the next and their number.
OUT, OUT_COUNT = OWN_WORDS, OWN_WORDS + 1
# Core 0 alone: the core whose partners are next, and how many are to come (-1: their number).
TURN, LEFT = OWN_WORDS + 2, OWN_WORDS + 3
TUPLES = OWN_WORDS + 4  # tuples whose partners core 0 has given out
CORE_WORDS = OWN_WORDS + 6


class Core(NamedTuple):
    """One core: a share of both windows, and the state of its steps."""

    windows: Windows
    words: np.ndarray  # see above
    out: np.ndarray  # (share, and more): partners of the last processed tuple, found here
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
) -> State:
    """Return a chain of cores with empty windows.

    Parameters
    ----------
    window, half_width, two_way, key_bits, span
        As for any join.
    threads : int
        Cores of the chain.
    index : str
        An id of the family ``index``.
    messages, partners : int
        The most in flight between two cores.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    chain = make_chain(threads, index, span, messages, partners)

    def make_core(number: int) -> Core:
        windows = make_share(
            index, window, half_width, two_way=two_way, key_bits=key_bits, span=span,
            number=number, shares=threads,
        )  # fmt: skip
        words = aligned_words(CORE_WORDS)
        words[OUT] = -2  # none
        words[LEFT] = -1
        return Core(windows, words, make_answer(len(windows.r.keys)), aligned_words(LINE_WORDS))

    return State(chain, tuple(make_core(n) for n in range(threads)), make_output(window))


@inlined
def seen(core):
    """Return the number of tuples of both streams that a core has processed."""
    return seen_of_both(core.windows)


# --- partners -------------------------------------------------------------------------------------


@inlined
def hand_partners(chain, core):
    """Push found partners to core 0, while there is room; return whether any were pushed."""
    words = core.words
    first = words[OUT]
    while words[OUT] >= -1 and words[OUT] < words[OUT_COUNT]:
        word = words[OUT_COUNT] if words[OUT] < 0 else peek(core.out, words[OUT])
        if push(chain.partners, core.windows.number, word) == FULL:
            return words[OUT] > first
        words[OUT] += 1
    words[OUT] = -2  # none
    return first > -2


@inlined
def collect(chain, core, output):
    """Take partners of the next tuple, core by core: FOUND when those of all cores are there."""
    words = core.words
    took = NOT_READY
    while words[TURN] < chain.cores:
        if not pop(chain.partners, words[TURN], core.scratch):
            return took
        took = READY
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
        done = False
        if is_first:
            if words[TURN] == chain.cores:
                # The tuple before was given out.
                words[TURN], output.words[COUNT] = 0, 0
                words[TUPLES] += 1
            collected = collect(chain, core, output)
            if collected == FOUND:
                return FOUND
            done = collected == READY
        done |= move(chain, core, feed)
        done |= hand_partners(chain, core)
        if words[OUT] > -2:
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
    title="Round robin in order",
    paper="none",
    section="2.2.3",
    operations=operations_of(make_state, make_step, seen),
    order="pairs in the order of arrival of the probing tuple",
    # A step never waits; a core without input answers NOT_READY.
    progress="lock-free",
    threads={"core": "1 to 16 in a chain; core 0 puts partners in order"},
    capacity="the tuples of a window; messages and partners wait for room in their rings",
    parameters=PARAMETERS,
    extended=True,
    look=Look("sky", "D", "dense"),
    shown=(
        Shown(
            "index=b-plus-tree",
            "B+-Tree, round robin in order",
            Look("vermillion", "D", "dots"),
            {"pim_tree": ("8a",)},
        ),
        Shown(
            "index=nested-loop-scalar",
            "Nested loop, round robin in order",
            Look("grey", "d", "dots"),
            {"pim_tree": ("8a",)},
        ),
    ),
)
