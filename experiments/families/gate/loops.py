"""The readers of a gate: each reads to the end, checks the order, and folds what it got."""

from __future__ import annotations

from functools import cache

from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.integers import fold, mix64
from operators.core.jit import inlined, kernel
from operators.running.control import (
    DIGEST,
    DISORDER,
    STOP,
    STOP_MASK,
    end,
    fail,
    go_on,
    meet,
    wait_for_input,
)


@inlined
def delivery_word(timestamp, source, key, value):
    """Return the word that a gate's reader folds for a tuple: all four fields enter it."""
    return timestamp ^ (source << 48) ^ (key << 56) ^ mix64(value)


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
        ``reader_loop(control, own, state, reader, out, histogram, period_ns, first, last)``: reads
        to the END, checks the total order, folds each tuple into a digest, and records the
        latencies of the tuples of rank `first` to `last` - 1 (none in a closed run).
    """

    @kernel
    def reader_loop(control, own, state, reader, out, histogram, period_ns, first, last):
        go = meet(control, own)
        count = 0
        round = 0
        digest = 0
        before_time = -1
        before_source = -1
        status = NOT_READY
        while status != END and go != 0:
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
                if period_ns > 0.0 and first <= count and count < last:
                    record(histogram, now() - go - int(count * period_ns), 1)
                count += 1
                round = go_on(control, own, count, round)
                if count & STOP_MASK == 0 and load(control, STOP, RELAXED) != 0:
                    break
            elif status == NOT_READY:
                round = wait_for_input(control, own, round)
                if load(control, STOP, RELAXED) != 0:
                    break
            elif status != END:
                fail(control, own, status)
                break
        store(control, own + DIGEST, digest, RELAXED)
        end(control, own)

    return reader_loop
