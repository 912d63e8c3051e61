"""The turn of a worker: opens a block of due records, and takes blocks through segments.

Three ways to choose the segments:

*Run to completion*: from the first segment to the last one, at each of them all blocks that wait
there. A worker carries the block that it opened as far as it can, and the blocks that it meets on
the way. The fewer blocks may be in flight, the shorter is the latency when saturated; and the more
often a worker has nothing to do, because another one has the operator that is next.

*From opposite ends*: one block at the first segment where one waits; every other worker looks from
the last segment on. While neither end is ahead by the whole ring, operators and their state stay on
their cores, which counts where a cache line takes long from core to core. The ring is always full.

*By a scheduler of the paper*: see `operators.pipeline.blocks.scheduled`.

A block has as many records as are due, and at most as many as it may have: it is small when a
worker has nothing else to do.

Guarantee: the output is that of a serial run. Each block passes each ordered segment, and each part
of a scattered one, in the order of the numbers, which is that of the source; in a segment records
are processed in order, or at least those of a key; and a segment behind gets the outputs in the
order of the records. A block with more outputs than there is room for keeps the tokens of the
segments that it has not left, so that no later block overtakes it while it goes around.

Progress: the oldest block in flight always waits at a segment where it is next, or a worker has it.
No worker waits for another one inside a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now, store
from operators.core.jit import inlined
from operators.pipeline.block_ring import (
    NONE,
    begin_opening,
    claim_between,
    end_opening,
    end_part,
    finished,
    hold,
    hold_next,
    hold_part,
    leave,
    let_go,
    next_of,
    opened,
    scatter,
    send,
    show,
)
from operators.pipeline.blocks.advancing import Advancing, flushes_at, make_advancing
from operators.pipeline.blocks.layout import FREE, ORDERED, SCATTERED, Segment
from operators.pipeline.blocks.noting import STOPPED
from operators.pipeline.blocks.scattering import Scattering, divide_nothing, make_scattering
from operators.pipeline.blocks.scheduled import make_work_by_scheduler
from operators.pipeline.blocks.state import (
    BEGIN,
    COUNT,
    CURSOR,
    ENTRY,
    FED,
    FINAL,
    FIRST_KEY,
    FLUSH_WORDS,
    FLUSHED,
    KEYS,
    LEFT,
    OVER,
    PEAK,
    RECORDS,
    STARTED,
    header_of,
    to_do,
)
from operators.pipeline.declare import Pipeline
from operators.pipeline.state import LATEST_NS, chain, deliver, due_at, records_due

# The answer of opening: a block was opened that enters at a later segment.
ELSEWHERE = -2


# --- opening a block ------------------------------------------------------------------------------


@inlined
def due_records(state, fed):
    """Return how many records of the next block are due, and note how late the first one is."""
    count = min(state.block, records_due(state) - fed)
    if state.pace.period_ns > 0.0 and count > 0:
        late = now() - due_at(state.pace, fed)
        # RELAXED: only the opener writes it; it is read after the workers have ended.
        latest = max(late, load(state.pace.words, LATEST_NS, RELAXED))
        store(state.pace.words, LATEST_NS, latest, RELAXED)
    return count


@inlined
def fill(state, number, segment, begin, records, count):
    """Write the words of a new block, which enters at a segment with `count` records or keys."""
    head = header_of(state, number)
    headers = state.headers
    headers[head + BEGIN] = begin
    headers[head + RECORDS] = records
    headers[head + ENTRY] = NONE if records > 0 else segment
    for each in range(state.ring.segments):
        headers[head + 2 * each + CURSOR] = 0
        headers[head + 2 * each + COUNT] = 0
    headers[head + 2 * segment + COUNT] = count
    marked = (begin + records) // state.marker_every > begin // state.marker_every
    headers[head + STARTED] = now() if marked else 0


@inlined
def note_in_flight(state, count):
    """Note how many blocks are in flight with a new one."""
    # RELAXED: only the opener writes this word; it is read after the workers have ended.
    store(state.words, PEAK, max(count, load(state.words, PEAK, RELAXED)), RELAXED)


@inlined
def open_next(state, claimed):
    """Open a block of due records, or one that flushes; return its number, ELSEWHERE or NONE.

    With `claimed` the caller has the block; otherwise it waits at the first segment.
    """
    number = begin_opening(state.ring)
    if number == NONE:
        return NONE
    # Before the block is shown: it may be finished at once.
    in_flight = number + 1 - finished(state.ring)
    answer = NONE
    # RELAXED: only the opener writes these words, and the next one is ordered by the flag.
    fed = load(state.words, FED, RELAXED)
    over = load(state.words, OVER, RELAXED)
    if fed < state.total:
        count = due_records(state, fed)
        if count > 0:
            fill(state, number, 0, fed, count, count)
            store(state.words, FED, fed + count, RELAXED)
            if fed + count == state.total:
                # RELAXED: compared with the number of finished blocks, which comes after it.
                flushes = len(state.flushes) // FLUSH_WORDS
                store(state.words, OVER, number + 1 + flushes, RELAXED)
            show(state.ring, number, 0, claimed)
            answer = number
    elif number < over:
        each = len(state.flushes) - (over - number) * FLUSH_WORDS
        segment, first = state.flushes[each + FLUSHED], state.flushes[each + FIRST_KEY]
        fill(state, number, segment, first, 0, state.flushes[each + KEYS])
        show(state.ring, number, segment, 0)
        answer = ELSEWHERE
    if answer != NONE:
        note_in_flight(state, in_flight)
    end_opening(state.ring)
    return answer


# --- leaving a segment ----------------------------------------------------------------------------


@inlined
def finish(state, number):
    """Let the markers of a block leave the pipeline, and note its records."""
    head = header_of(state, number)
    begin, records = state.headers[head + BEGIN], state.headers[head + RECORDS]
    started = state.headers[head + STARTED]
    if started > 0:
        every = state.marker_every
        for _ in range((begin + records) // every - begin // every):
            # Bare markers: the outputs have left.
            deliver(state.sink, 0, state.scratch, 0, -started)
    if records > 0:
        # RELAXED: a number for the progress of the run.
        store(state.words, LEFT, begin + records, RELAXED)


def make_pass_on(segment: int, ordered: bool, last: bool) -> Callable[..., None]:
    """Return ``pass_on(state, number)``, by which a block leaves a segment, for good or not."""

    @inlined
    def pass_on(state, number):
        # Before the block is sent: then it is another worker's.
        left = to_do(state, number, segment)
        if last:
            if left == NONE:
                finish(state, number)
                leave(state.ring, number, segment)
            else:
                send(state.ring, number, left)
        else:
            send(state.ring, number, segment + 1)
            if ordered and left == NONE:
                leave(state.ring, number, segment)

    return pass_on


def make_range_of(first: int, segment: int, before: int) -> Callable[..., tuple[int, int]]:
    """Return ``range_of(state)``: the blocks among which those are that wait at a segment.

    Segment `first`, the next one that takes blocks in order, has left behind the blocks before; and
    an ordered segment before this one has sent on no block behind the one that is next there.
    """

    @inlined
    def range_of(state):
        ring = state.ring
        begin = next_of(ring, first)
        if before == ORDERED:
            return begin, next_of(ring, segment - 1) + 1
        return begin, opened(ring)

    return range_of


# --- work at a segment ----------------------------------------------------------------------------


def make_advance(advancing: Advancing, segment: int) -> Callable[..., int]:
    """Return ``advance``, which processes records or keys, whichever the block has there."""
    records, keys = advancing

    @inlined
    def advance(control, its, state, worker, number, out):
        if flushes_at(state, number, segment):
            return keys(control, its, state, worker, number, out)
        return records(control, its, state, worker, number, out)

    return advance


def _make_ordered(segment: int, last: bool, advancing: Advancing) -> Callable[..., int]:
    advance = make_advance(advancing, segment)
    pass_on = make_pass_on(segment, True, last)

    @inlined
    def work(control, its, state, worker, most, out):
        status = NOT_READY
        if segment == 0 and open_next(state, 0) != NONE:
            status = READY
        number = hold(state.ring, segment)
        taken = 0
        while number != NONE:
            found = advance(control, its, state, worker, number, out)
            if found != READY:
                # The token stays with this worker: the run has ended.
                return found
            status = READY
            pass_on(state, number)
            taken += 1
            if taken < most:
                number = hold_next(state.ring, segment)
            else:
                let_go(state.ring, segment)
                number = NONE
        return status

    return work


def _make_free(
    segment: int, following: int, before: int, advancing: Advancing
) -> Callable[..., int]:
    records = advancing.records
    pass_on = make_pass_on(segment, False, False)
    range_of = make_range_of(following, segment, before)

    @inlined
    def find(state):
        # The next block here: one that waits, or at the first segment a new one.
        number = NONE
        held = state.segments[segment]
        # Blocks wait at the first segment only if they come back to it.
        if segment > 0 or held.room < held.takes * held.most:
            first, end = range_of(state)
            number = claim_between(state.ring, first, end, segment)
        if segment == 0 and number == NONE:
            number = open_next(state, 1)
        return number

    @inlined
    def work(control, its, state, worker, most, out):
        status = NOT_READY
        number = find(state)
        taken = 0
        while number >= 0:
            found = records(control, its, state, worker, number, out)
            if found != READY:
                return found
            status = READY
            pass_on(state, number)
            taken += 1
            # One new block a turn: then those that it meets on the way.
            number = find(state) if segment > 0 and taken < most else NONE
        return READY if number == ELSEWHERE else status

    return work


def _make_work_on(
    segment: int, process: Callable[..., int], take_back: Callable[..., int]
) -> Callable[..., int]:
    @inlined
    def work_on(control, its, state, worker, part, most, out):
        # Blocks whose part waits: READY, NOT_READY if there was none, or as `process` answers.
        status = NOT_READY
        number = hold_part(state.ring, segment, part)
        taken = 0
        while number != NONE:
            found = process(control, its, state, worker, number, part, out)
            if found != READY:
                return found
            status = READY
            final = state.headers[header_of(state, number) + FINAL] != 0
            if end_part(state.ring, number, segment, part, final):
                found = take_back(control, its, state, worker, number, out)
                if found != READY:
                    return found
            taken += 1
            number = hold_part(state.ring, segment, part) if taken < most else NONE
        return status

    return work_on


def _make_scattered(
    segment: int, following: int, before: int, advancing: Advancing, scattering: Scattering
) -> Callable[..., int]:
    keys, (divide, process, gather) = advancing.keys, scattering
    pass_on = make_pass_on(segment, False, False)
    range_of = make_range_of(following, segment, before)

    @inlined
    def flush(control, its, state, worker, number, out):
        found = keys(control, its, state, worker, number, out)
        if found == READY:
            pass_on(state, number)
        return found

    @inlined
    def give_out(control, its, state, worker, number, out):
        if not flushes_at(state, number, segment):
            found = divide(control, its, state, worker, number, out)
            if found != READY:
                return found
        elif state.headers[header_of(state, number) + 2 * segment + CURSOR] > 0:
            return flush(control, its, state, worker, number, out)
        else:
            # Empty parts, by which it waits for the blocks before in each of them.
            divide_nothing(state, number)
        scatter(state.ring, number, segment)
        return READY

    @inlined
    def take_back(control, its, state, worker, number, out):
        # With the last part of a block ended.
        if flushes_at(state, number, segment):
            return flush(control, its, state, worker, number, out)
        gather(state, number)
        pass_on(state, number)
        return READY

    work_on = _make_work_on(segment, process, take_back)

    @inlined
    def work(control, its, state, worker, most, out):
        status = NOT_READY
        if segment == 0 and open_next(state, 0) != NONE:
            status = READY
        first, end = range_of(state)
        number = claim_between(state.ring, first, end, segment)
        taken = 0
        while number != NONE:
            found = give_out(control, its, state, worker, number, out)
            if found != READY:
                return found
            status = READY
            taken += 1
            if taken < most:
                number = claim_between(state.ring, number + 1, end, segment)
            else:
                number = NONE
        for each in range(state.ring.parts):
            # Workers begin at different parts.
            part = (worker * state.ring.parts // state.workers + each) % state.ring.parts
            found = work_on(control, its, state, worker, part, most, out)
            if found != READY and found != NOT_READY:
                return found
            if found == READY:
                status = READY
        return status

    return work


def _works(pipeline: Pipeline, segments: tuple[Segment, ...]) -> list[Callable[..., int]]:
    found = []
    for number, segment in enumerate(segments):
        advancing = make_advancing(pipeline, segments, number)
        before = segments[number - 1].kind if number else FREE
        following = number + 1
        while following < len(segments) and segments[following].kind == FREE:
            following += 1
        if segment.kind == FREE:
            found.append(_make_free(number, following, before, advancing))
        elif segment.kind == SCATTERED:
            scattering = make_scattering(pipeline, segments, number)
            found.append(_make_scattered(number, following, before, advancing, scattering))
        else:
            found.append(_make_ordered(number, number + 1 == len(segments), advancing))
    return found


def make_work_in_blocks(
    pipeline: Pipeline,
    segments: tuple[Segment, ...],
    schedulers: Sequence[Callable[..., int]] = (),
) -> Callable[..., int]:
    """Return ``work_in_blocks(control, its, state, worker, out)``: one turn of a worker.

    READY: it did some work; NOT_READY: there was none; END: all outputs have left the pipeline; or
    a failure.

    Parameters
    ----------
    pipeline : Pipeline
    segments : tuple of Segment
        From ``segments_of``.
    schedulers : sequence of callable
        The ``choose`` functions of the schedulers; none for workers that go by a walk.
    """
    works = _works(pipeline, segments)
    if schedulers:
        return make_work_by_scheduler(segments, works, schedulers)
    work = chain(works)
    count = len(segments)

    @inlined
    def work_in_blocks(control, its, state, worker, out):
        status = NOT_READY
        backward = state.ends != 0 and worker % 2 == 0
        most = 1 if state.ends != 0 else state.ring.most
        number = 0
        while number < count:
            segment = count - 1 - number if backward else number
            found = work(segment, control, its, state, worker, most, out)
            number += 1
            if found == STOPPED:
                return READY
            if found < NOT_READY:
                return found
            if found == READY:
                status = READY
                if state.ends != 0:
                    number = count
        # RELAXED: a number that is known before the last block is finished; `finished` acquires.
        if status == NOT_READY and finished(state.ring) == load(state.words, OVER, RELAXED):
            status = END
        return status

    return work_in_blocks
