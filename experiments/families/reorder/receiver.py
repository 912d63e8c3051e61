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

# The words of a receiver.
RECEIVED = 0
DIGEST = 1
DISORDER = 2
MARKED = 3  # markers that came out


class Arrivals(NamedTuple):
    """What a receiver has for itself, made before the run.

    Attributes
    ----------
    words : int64 array
        RECEIVED, DIGEST, DISORDER and MARKED.
    latencies : histogram
        Of open runs, from the due time.
    products : int
        What sending an output takes.
    period_ns : float
        Between due times; 0 for a closed run.
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
    period_ns: float
    first: int
    last: int
    begun: np.ndarray
    processing: np.ndarray
    marker_every: int
    markers: int


class Receiver(NamedTuple):
    """A receiver in a run: what it has, the control words, and when the run began."""

    control: np.ndarray
    arrivals: Arrivals
    go: int


def make_arrivals(
    products: int,
    period_ns: float,
    first: int,
    last: int,
    under_way: int = 0,
    marker_every: int = 1,
    markers: int = 0,
) -> Arrivals:
    """Return the words of a receiver that has received nothing.

    Parameters
    ----------
    products, period_ns, first, last, marker_every, markers
        As in `Arrivals`.
    under_way : int
        Serial numbers between the lowest that was not sent and the highest that was begun, at most;
        needed where there are markers.
    """
    words, latencies = aligned_words(LINE_WORDS), histogram.make_histogram()
    begun, processing = aligned_words(under_way + 1), histogram.make_histogram()
    return Arrivals(words, latencies, products, float(period_ns), first, last, begun, processing,
                    marker_every, markers)  # fmt: skip


@inlined
def begin_work(arrivals, serial):
    """Note when a worker begins with a serial number, if a marker is on it."""
    if arrivals.markers > 0 and serial % arrivals.marker_every == 0:
        arrivals.begun[serial % len(arrivals.begun)] = now()


@inlined
def _end_work(arrivals, serial):
    """Note how long a marker took; for who sends."""
    if arrivals.markers > 0 and serial % arrivals.marker_every == 0:
        number = arrivals.words[MARKED]
        if arrivals.markers // 5 <= number and number < arrivals.markers * 4 // 5:
            taken = now() - arrivals.begun[serial % len(arrivals.begun)]
            histogram.record(arrivals.processing, taken, 1)
        arrivals.words[MARKED] = number + 1


@inlined
def receive(receiver, serial, output):
    """Receive an output: ACCEPTED."""
    arrivals = receiver.arrivals
    count = arrivals.words[RECEIVED] + 1
    if serial != count:
        arrivals.words[DISORDER] += 1
    word = matrix_work(output, arrivals.products)
    arrivals.words[DIGEST] = fold(arrivals.words[DIGEST], word)
    arrivals.words[RECEIVED] = count
    _end_work(arrivals, serial)
    if arrivals.period_ns > 0.0 and arrivals.first < count and count <= arrivals.last:
        due = receiver.go + int((count - 1) * arrivals.period_ns)
        histogram.record(arrivals.latencies, now() - due, 1)
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
