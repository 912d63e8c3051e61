"""Workers that a scheduler sends to segments, a block being to it what a tuple is in the paper.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 6. A turn is that
of `operators.pipeline.runtime`: under the board's lock a worker reports its last turn and is sent
to a segment; there it takes blocks for a slice of time, by the measured cost.

A *visit* is what a worker does at a segment with one block, or with one part of it: a block has one
visit at most segments, and at a scattered one a visit that divides it and one for each part.
Worklists and costs are counted in visits, and a segment's selectivity is known from the beginning:
the visits of a block at the next segment over those at this one.

# ASSUME: the paper's schedulers know tuples only. Here they send workers for blocks, however many
# records a block has at a segment: with more records a visit is dearer, and that they see.
# ASSUME: blocks that are not opened yet wait at the first segment as long as the ring has room. An
# ordered segment is schedulable while the block that is next waits there, since no other one can be
# taken. No output is ever parked: a block keeps its slot.
# ASSUME: fused operators are one operator to a scheduler, and so is the sink behind a segment that
# is not an ordered one.
# ASSUME: as in the tuple-wise form, a worker that found nothing at a segment is not sent there in
# its next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load, now
from operators.core.jit import inlined
from operators.core.spin_lock import acquire, release
from operators.pipeline.block_ring import (
    NONE,
    finished,
    opened,
    part_waits_next,
    segment_of,
    waits_next,
)
from operators.pipeline.blocks.layout import FREE, SCATTERED, Segment
from operators.pipeline.blocks.noting import STOPPED, passed_at
from operators.pipeline.blocks.state import FED, OVER
from operators.pipeline.board import (
    EVERYBODY,
    NOBODY,
    SCHEDULABLE,
    SELECTIVITY,
    WAITING,
    WORKERS,
    look,
    note,
    report,
    send_to,
)
from operators.pipeline.state import PLACE, SPENT_NS, TAKEN, WORKER_WORDS, chain, records_due


@inlined
def to_open(state):
    """Return how many blocks could be opened now: of due records, or to flush."""
    # RELAXED: hints, like all that a scheduler sees.
    fed = load(state.words, FED, RELAXED)
    known = opened(state.ring)
    if fed < state.total:
        left = (max(records_due(state) - fed, 0) + state.block - 1) // state.block
    else:
        left = max(load(state.words, OVER, RELAXED) - known, 0)
    return min(left, max(state.ring.most - (known - finished(state.ring)), 0))


@inlined
def visits_at(state, segment, kind, blocks):
    """Return the visits that wait at a segment, 0 if none can be made, and the most workers there.

    `blocks` is the number of blocks that wait there.
    """
    ring = state.ring
    new = to_open(state) if segment == 0 else 0
    if kind == FREE:
        return blocks + new, EVERYBODY
    if kind == SCATTERED:
        found = (blocks + new) * (1 + ring.parts)
        for part in range(ring.parts):
            found += 1 if part_waits_next(ring, segment, part) else 0
        return found, ring.parts
    able = new > 0 or waits_next(ring, segment)
    return blocks + new if able else 0, 1


def _make_post(segments: tuple[Segment, ...]) -> Callable[..., None]:
    """Return ``post(state, worker)``, which writes the worklists onto the board, under its lock."""
    # One function a segment, so that its kind is known when it is compiled.
    visits = chain([_visits_at(number, segment.kind) for number, segment in enumerate(segments)])
    count = len(segments)

    @inlined
    def post(state, worker):
        board, ring = state.sending.board, state.ring
        own = worker * WORKER_WORDS
        before, taken = state.sending.words[own + PLACE], state.sending.words[own + TAKEN]
        for segment in range(count):
            note(board, segment, WAITING, 0)
        for number in range(finished(ring), opened(ring)):
            segment = segment_of(ring, number)
            if segment != NONE:
                note(board, segment, WAITING, look(board, segment, WAITING) + 1)
        for segment in range(count):
            found, most = visits(segment, state, look(board, segment, WAITING))
            free = found > 0 and look(board, segment, WORKERS) < most
            if before == segment and taken == 0:
                free = False
            note(board, segment, WAITING, found)
            note(board, segment, SCHEDULABLE, 1 if free else 0)

    return post


def _visits_at(segment: int, kind: int) -> Callable[..., tuple[int, int]]:
    @inlined
    def visits(state, blocks):
        return visits_at(state, segment, kind, blocks)

    return visits


def _make_ask(
    segments: tuple[Segment, ...], choose: Callable[..., int]
) -> Callable[..., tuple[int, int]]:
    """Return ``ask(state, worker)``: the next segment of a worker, and the number of blocks there.

    It first reports the worker's last turn.
    """
    post = _make_post(segments)

    @inlined
    def ask(state, worker):
        sending, own = state.sending, worker * WORKER_WORDS
        board, words = sending.board, sending.words
        acquire(sending.lock, 0)
        before = words[own + PLACE]
        if before != NOBODY:
            # The selectivity is known, and not to be estimated from the visits of a turn.
            known = look(board, before, SELECTIVITY)
            report(board, before, words[own + TAKEN], 0, words[own + SPENT_NS], now())
            note(board, before, SELECTIVITY, known)
        post(state, worker)
        place = choose(sending.scheduler, board)
        limit = send_to(board, place)
        release(sending.lock, 0)
        words[own + PLACE] = place
        words[own + TAKEN] = 0
        words[own + SPENT_NS] = 0
        return place, limit

    return ask


def make_work_by_scheduler(
    segments: tuple[Segment, ...],
    works: Sequence[Callable[..., int]],
    schedulers: Sequence[Callable[..., int]],
) -> Callable[..., int]:
    """Return ``work_by_scheduler(control, its, state, worker, out)``: one turn of a worker.

    It answers as ``make_work_in_blocks`` says.

    Parameters
    ----------
    segments : tuple of Segment
    works : sequence of callable
        ``work(control, its, state, worker, most, out)`` of each segment, which takes blocks there.
    schedulers : sequence of callable
        The ``choose`` functions, of which ``state.sending.scheduler`` selects one.
    """
    work, ask = chain(works), _make_ask(segments, chain(schedulers))

    @inlined
    def work_by_scheduler(control, its, state, worker, out):
        place, limit = ask(state, worker)
        if place == NOBODY:
            # RELAXED: a number known before the last block is finished; `finished` acquires.
            over = finished(state.ring) == load(state.words, OVER, RELAXED)
            return END if over else NOT_READY
        status, found, taken = NOT_READY, READY, 0
        begin = now()
        while found == READY and taken < limit:
            # Some segments take one block in a call, and others as many as there are.
            before = passed_at(state, worker, place)
            found = work(place, control, its, state, worker, limit - taken, out)
            if found == READY:
                status = READY
                # A block that only flushes is not counted as passed.
                taken += max(passed_at(state, worker, place) - before, 1)
        own = worker * WORKER_WORDS
        state.sending.words[own + TAKEN] = taken
        state.sending.words[own + SPENT_NS] = now() - begin
        if found == STOPPED:
            return READY
        return status if found >= NOT_READY else found

    return work_by_scheduler
