"""What is downstream of a reorder buffer in a bench: it checks the order, folds, and takes a while.

Whoever sends runs it, one thread at a time, so that its words are plain. It notes how many outputs
were sent in the first worker's block of control words: that is how far the run is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED
from operators.core import histogram
from operators.core.atomics import RELAXED, now, store
from operators.core.integers import fold
from operators.core.jit import inlined, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.work import matrix_work
from operators.running.control import BLOCKS, PROGRESS, pass_marks
from operators.running.schedule import Schedule, due_after, is_open

# The words of a receiver.
RECEIVED = 0
DIGEST = 1
DISORDER = 2
MARKED = 3  # markers that came out


class Downstream(NamedTuple):
    """What a receiver has for itself, made before the run.

    Attributes
    ----------
    words : int64 array
        RECEIVED, DIGEST, DISORDER and MARKED.
    latencies : histogram
        Of open runs, from the due time.
    products : int
        What sending an output takes.
    schedule : Schedule
        Of the run: its outputs go by the ranks of their inputs.
    first, last : int
        The outputs whose latencies are kept are those from first to last, from 0.
    begun : int64 array
        By serial number, modulo its length: when its work began, in ns. Written by its worker, and
        handed over with its output; as long as no two under way have one place.
    processing : histogram
        From then on, of the markers: every so many outputs, in the middle three fifths of them.
    marker_every, markers : int
        So many; and how many markers a run has, 0 for none.
    """

    words: np.ndarray
    latencies: np.ndarray
    products: int
    schedule: Schedule
    first: int
    last: int
    begun: np.ndarray
    processing: np.ndarray
    marker_every: int
    markers: int


class Receiver(NamedTuple):
    """A receiver in a run: what it has, the control words, and when the run began."""

    control: np.ndarray
    downstream: Downstream
    go: int


def make_downstream(
    products: int,
    schedule: Schedule,
    first: int,
    last: int,
    under_way: int = 0,
    marker_every: int = 1,
    markers: int = 0,
) -> Downstream:
    """Return the words of a receiver that has received nothing.

    Parameters
    ----------
    products, schedule, first, last, marker_every, markers
        As in `Downstream`.
    under_way : int
        Serial numbers between the lowest that was not sent and the highest that was begun, at most;
        needed where there are markers.
    """
    words, latencies = aligned_words(LINE_WORDS), histogram.make_histogram()
    begun, processing = aligned_words(under_way + 1), histogram.make_histogram()
    return Downstream(words, latencies, products, schedule, first, last, begun, processing,
                    marker_every, markers)  # fmt: skip


@inlined
def begin_work(downstream, serial):
    """Note when a worker begins with a serial number, if a marker is on it."""
    if downstream.markers > 0 and serial % downstream.marker_every == 0:
        downstream.begun[serial % len(downstream.begun)] = now()


@inlined
def _end_work(downstream, serial):
    """Note how long a marker took; for who sends."""
    if downstream.markers > 0 and serial % downstream.marker_every == 0:
        number = downstream.words[MARKED]
        if downstream.markers // 5 <= number and number < downstream.markers * 4 // 5:
            taken = now() - downstream.begun[serial % len(downstream.begun)]
            histogram.record(downstream.processing, taken, 1)
        downstream.words[MARKED] = number + 1


@inlined
def receive(receiver, serial, output):
    """Receive an output: ACCEPTED."""
    downstream = receiver.downstream
    count = downstream.words[RECEIVED] + 1
    if serial != count:
        downstream.words[DISORDER] += 1
    word = matrix_work(output, downstream.products)
    downstream.words[DIGEST] = fold(downstream.words[DIGEST], word)
    downstream.words[RECEIVED] = count
    _end_work(downstream, serial)
    if is_open(downstream.schedule) and downstream.first < count and count <= downstream.last:
        due = receiver.go + due_after(downstream.schedule, count - 1)
        histogram.record(downstream.latencies, now() - due, 1)
    store(receiver.control, BLOCKS + PROGRESS, count, RELAXED)
    pass_marks(receiver.control, BLOCKS, count)
    return ACCEPTED


@kernel
def fold_received(outputs, products, total, out):
    """Fold what a receiver must get into ``out[0]``: `outputs` again and again, `total` in all."""
    digest = 0
    for rank in range(total):
        digest = fold(digest, matrix_work(outputs[rank % len(outputs)], products))
    out[0] = digest
