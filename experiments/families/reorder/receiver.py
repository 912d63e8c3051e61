"""The consumer behind a reorder buffer in a bench: checks the order, folds, and takes a while.

It is run by the sending thread, one thread at a time, so that plain words suffice. As the progress
of the run it reports the number of received outputs in the first worker's block of control words.
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
    """The receiver's data, made before the run.

    Attributes
    ----------
    words : int64 array
        RECEIVED, DIGEST, DISORDER and MARKED.
    latencies : histogram
        Latencies of open runs, from the due time.
    products : int
        Matrix products that receiving an output takes.
    schedule : Schedule
        Schedule of the run: outputs have the ranks of their inputs.
    first, last : int
        Latencies are recorded for the outputs of ranks `first` to `last` - 1, from 0.
    begun : int64 array
        Start time of the work, in ns, by serial number modulo the length of the array. Written by
        the worker, and handed over with the output; no two serial numbers in flight may collide.
    processing : histogram
        Latencies of markers, from that time: of every n-th output, in the middle three fifths.
    marker_every, markers : int
        The interval between markers; and the markers of a run, 0 for none.
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
    """A receiver in a run: the data, the control words, and the start of the run."""

    control: np.ndarray
    downstream: Downstream
    go: int


def make_downstream(
    products: int,
    schedule: Schedule,
    first: int,
    last: int,
    in_flight: int = 0,
    marker_every: int = 1,
    markers: int = 0,
) -> Downstream:
    """Return the data of a receiver that has received nothing.

    Parameters
    ----------
    products, schedule, first, last, marker_every, markers
        As in `Downstream`.
    in_flight : int
        The most serial numbers from the lowest unsent one to the highest begun one; needed if there
        are markers.
    """
    words, latencies = aligned_words(LINE_WORDS), histogram.make_histogram()
    begun, processing = aligned_words(in_flight + 1), histogram.make_histogram()
    return Downstream(words, latencies, products, schedule, first, last, begun, processing,
                    marker_every, markers)  # fmt: skip


@inlined
def begin_work(downstream, serial):
    """Note when a worker begins with a serial number, if the number carries a marker."""
    if downstream.markers > 0 and serial % downstream.marker_every == 0:
        downstream.begun[serial % len(downstream.begun)] = now()


@inlined
def _end_work(downstream, serial):
    """Record the processing latency of a marker; called by the sending thread."""
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
    """Fold the expected outputs into ``out[0]``: `outputs` repeated, `total` of them."""
    digest = 0
    for rank in range(total):
        digest = fold(digest, matrix_work(outputs[rank % len(outputs)], products))
    out[0] = digest
