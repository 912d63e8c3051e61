"""The readers of a gate: each reads to the end, checks the order, and folds what it got."""

from __future__ import annotations

from functools import cache

from operators.contract import READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.integers import fold, mix64
from operators.core.jit import inlined
from operators.running.control import DIGEST, DISORDER, GO, report
from operators.running.drivers import make_driver
from operators.running.schedule import due_after, is_open


@inlined
def delivery_word(timestamp, source, key, value):
    """Return the word that a gate's reader folds for a tuple: all four fields enter it."""
    return timestamp ^ (source << 48) ^ (key << 56) ^ mix64(value)


@inlined
def _begin(control, own, *arguments):
    # Tuples read, their digest, and the timestamp and the source of the last one.
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
        The gate's.
    record : callable
        ``record(histogram, latency_ns, count)``, called for measured tuples of open runs.

    Returns
    -------
    callable
        ``reader_loop(control, own, state, reader, out, histogram, schedule, first, last)``: reads
        to the END, checks the total order, folds each tuple into a digest, and records the
        latencies of the tuples of rank `first` to `last` - 1 (none in a closed run).
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
            if is_open(schedule) and first <= count and count < last:
                due = load(control, GO, RELAXED) + due_after(schedule, count)
                record(histogram, now() - due, 1)
            count += 1
            report(control, own, count)
        return status, (count, digest, before_time, before_source)

    return make_driver(read, _begin, _finish)
