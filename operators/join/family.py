"""The family of window joins: the operations, the settings, and the conventions of every join.

A band join over sliding windows (section 5 of "Parallel Index-based Stream Join on a Multicore
CPU")::

    SELECT * FROM R, S WHERE ABS(R.x - S.x) <= diff

A tuple of one stream meets those of the other that are in their window when it arrives: the last
`window` of them, or those of the last `span` ticks. In a self join there is one stream, and a
tuple meets the earlier ones in its window: each unordered pair once, none with itself.

Pairs are ordered by the arrival of the probing tuple, then by the partner's position. A
join that gives pairs out as they are found declares so (``ordered``); it returns the same set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.family import MOST_WINDOW
from operators.index.window import make_answer

MOST_THREADS = 16
KEYS = ("uniform", "gaussian", "gamma-3-3", "gamma-1-5", "drift")
TWO_WAY, SELF = "two-way", "self"
# An index had no room for a tuple, which never happens for a window within its limits.
INDEX_FULL = -3
# The answer of a step that has put the partners of the next tuple into the output, and the output
# word with their number.
FOUND = 3
COUNT = 0
# Output words of a join whose pairs come in no order: the stream and the position of the tuple.
SIDE, POSITION = 1, 2


def no_reopen(state: State) -> None:
    """Do nothing: a join that has come to its END can go on with the next feed."""


def make_output(window: int) -> Output:
    """Return an output with room for the partners of a tuple."""
    return Output(make_answer(window), aligned_words(LINE_WORDS))


class JoinOperations(NamedTuple):
    """The operations of a join of two streams, whatever the number of threads.

    ``make_state(window, half_width, *, two_way, key_bits, span, **parameters)`` returns a `State`
    with empty windows, or raises UsageError. `window` is the most tuples that a window ever has;
    `two_way` False makes a self join; keys have 32 or 64 bits; `span` is 0 for count windows, else
    the ticks of a time window: a tuple of time t leaves when one arrives that is over t + span.
    `parameters` are those of the variant, including ``threads`` if the variant takes a number.

    ``make_step(timing=None, on_output=None, **parameters)`` returns the compiled part, one function
    for all threads and the same one for equal arguments: ``step(shared, thread, output, feed)``.
    Each thread calls it repeatedly with its entry of ``State.threads`` and one
    `operators.join.feed.Feed`. It answers

    - FOUND: ``output.partners[0:output.words[COUNT]]`` are the positions of the partners of the
      next tuple in the order of arrival, in no order among themselves. Each tuple of the feed is
      given out once, even without partners. The output belongs to the thread that got this answer
      until that thread's next step, so all tuples come out in order whichever threads do it. The
      join orders memory: that next step releases the output, and the step of another thread that
      answers FOUND acquires it. The owner of the output therefore sees all plain stores of earlier
      owners, in the output and elsewhere;
    - READY: it did other work, for which other threads may be waiting;
    - NOT_READY: other threads have to work first;
    - END: no work is left for this thread, and each tuple that it has to give out has been given
      out;
    - INDEX_FULL, or another failure of the family.

    ``ordered`` says whether tuples come out in the order of arrival. If not, FOUND gives some
    partners of one tuple: ``output.words[SIDE]`` is the stream, ``output.words[POSITION]`` the
    position in it. A tuple is given out in any number of parts, or never if it has no partners, and
    `on_output` is not called. The output belongs to the last entry of ``State.threads``, whose END
    says that all pairs were given out, and whose `seen` counts the tuples with all pairs collected.

    ``collectors`` is the number of threads that take pairs and join none: the last entries of
    ``State.threads``, which the parameter ``threads`` does not count.

    A step never waits, except in an index that threads share. Each feed goes on where the previous
    one ended: positions continue.

    ``reopen(state)`` lets a join that has come to its END go on with the next feed.

    ``seen(thread)`` returns how many tuples a thread has processed so far; it tells a thread that
    waits from one that progresses.

    ``merge_ns(state)`` is the time of merges: the mean over threads that each merge their share,
    or, if other threads join meanwhile, the time during which a merge was in flight, which is not a
    cost; ``footprint(state)`` the bytes in use by component, "window" the sliding windows
    themselves; ``inserted(state)`` the number of tuples that each subindex of an index got, one
    stream after the other (empty without subindexes); ``cycle(state)`` the number of tuples of a
    stream after which the work of an index repeats; ``check_invariants(state)`` raises
    AssertionError.

    With `on_output` a step may give out several tuples: for all but the last one it calls
    ``on_output(feed.notes, output)``, an inlined function, and answers FOUND for the last. `timing`
    asks a join whose step processes a whole tuple to read clocks between the parts of the work. A
    join may ignore either.
    """

    make_state: Callable[..., State]
    make_step: Callable[..., Callable[..., int]]
    seen: Callable[..., int]
    merge_ns: Callable[..., int]
    footprint: Callable[..., dict[str, int]]
    inserted: Callable[..., np.ndarray]
    cycle: Callable[..., int]
    check_invariants: Callable[..., None]
    reopen: Callable[..., None] = no_reopen
    ordered: bool = True
    collectors: int = 0


class Output(NamedTuple):
    """The partners of one tuple, when a step answers FOUND."""

    partners: np.ndarray
    words: np.ndarray  # COUNT; SIDE and POSITION if pairs come in no order


class State(NamedTuple):
    """The memory of a join.

    Attributes
    ----------
    shared : NamedTuple
        The data that all threads use.
    threads : tuple of NamedTuple
        The data of each thread: one entry a thread, all of one type.
    output : Output
        The partners that a step gives out.
    """

    shared: Any
    threads: tuple
    output: Output


class Timing(NamedTuple):
    """Clocks for the parts of a tuple's work, as inlined functions over ``Feed.notes``.

    ``is_due(notes)`` returns whether to time the next tuple; ``note(notes, insert, delete, search,
    scan)`` records the ns of each part, without merges.
    """

    is_due: Callable[..., bool]
    note: Callable[..., None]


def role_of(settings: Mapping[str, Any]) -> str:
    """Return the role of the data: streams of keys."""
    return "keys"


FAMILY = Family(
    id="join",
    title="pairs of two streams whose keys lie in a band, over sliding windows",
    operations=JoinOperations,
    settings=(
        Parameter("window", 1 << 16, 1, MOST_WINDOW, "tuples", "of each window"),
        Parameter("match_rate", 2.0, 0, 4096, "", "partners of a tuple, on average", decimals=6),
        Parameter("keys", "uniform", meaning="how keys are distributed", choices=KEYS),
        Parameter("kind", TWO_WAY, meaning="of two streams, or of one", choices=(TWO_WAY, SELF)),
        Parameter("drift", 0.0, 0, 1, "", "r: how far the mean of the keys moves", decimals=2),
        Parameter("sigma", 0.125, 0.001, 1, "", "of the drifting keys", decimals=4),
    ),
    failures={INDEX_FULL: "an index had no room for a tuple of its window"},
    role_of=role_of,
)
