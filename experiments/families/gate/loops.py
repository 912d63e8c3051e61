"""The readers of a gate: each reads to the end, checks the order, and folds the tuples.

In an open run a reader takes the clock for one tuple in 64. Taking it for every tuple cost 40 ns a
tuple, which a closed run does not spend: a gate of more than 10.7 M tuples/s could not keep up with
70 % of the gate's closed-loop throughput.
"""

from __future__ import annotations

from functools import cache

from operators.contract import READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.integers import fold, mix64
from operators.core.jit import inlined
from operators.running.control import DIGEST, DISORDER, GO, report
from operators.running.drivers import make_driver
from operators.running.schedule import due_after, is_open

# The latency of one in this many consecutive tuples is taken.
SAMPLED_BITS = 6
SAMPLED_EACH = 1 << SAMPLED_BITS


@inlined
def is_sampled(rank):
    """Say whether the latency of the tuple of this rank is sampled: one in each 64.

    A hash of the block of 64 selects the tuple. No position in the block is preferred, so that
    sampling does not alias with anything periodic in the tuples or in their due times.
    """
    return rank & (SAMPLED_EACH - 1) == mix64(rank >> SAMPLED_BITS) & (SAMPLED_EACH - 1)


@inlined
def delivery_word(timestamp, source, key, value):
    """Return the word that a gate's reader folds for a tuple: all four fields enter it."""
    return timestamp ^ (source << 48) ^ (key << 56) ^ mix64(value)


@inlined
def _begin(control, own, *arguments):
    # Tuples read, their digest, and the timestamp and source of the last one.
    return 0, 0, -1, -1


@inlined
def _finish(control, own, status, kept, *arguments):
    store(control, own + DIGEST, kept[1], RELAXED)


@cache
def make_reader_loop(get_next_ready_tuple, record):
    """Return the kernel of a gate's reader.

    Parameters
    ----------
    get_next_ready_tuple : callable
        The gate's operation.
    record : callable
        ``record(histogram, latency_ns, count)``, called for sampled tuples of open runs.

    Returns
    -------
    callable
        ``reader_loop(control, own, state, reader, out, histogram, schedule, first, last)``: reads
        to END, checks the total order, folds each tuple into a digest, and records the
        latencies of the sampled tuples of rank `first` to `last` - 1 (none in a closed run).
    """

    @inlined
    def read(control, own, kept, state, reader, out, histogram, schedule, first, last):
        count, digest, before_time, before_source = kept
        status = get_next_ready_tuple(state, reader, out)
        if status == READY:
            timestamp = out[0]
            source = out[1]
            if timestamp < before_time or (timestamp == before_time and source < before_source):
                disorder = load(control, own + DISORDER, RELAXED)
                store(control, own + DISORDER, disorder + 1, RELAXED)
            before_time = timestamp
            before_source = source
            digest = fold(digest, delivery_word(timestamp, source, out[2], out[3]))
            if is_open(schedule) and first <= count and count < last and is_sampled(count):
                due = load(control, GO, RELAXED) + due_after(schedule, count)
                record(histogram, now() - due, 1)
            count += 1
            report(control, own, count)
        return status, (count, digest, before_time, before_source)

    return make_driver(read, _begin, _finish)
