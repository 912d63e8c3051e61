"""A replay on a chain of cores: each joins its share, and core 0 gives out the pairs in order.

::

    streams --> [core 0] <--> [core 1] <--> ...
                 |   ^------------+-- partners
                 +--> buffer of pairs --> file

The chain takes tuples in their order of arrival, so that pairs come in the order, and are written
as the bytes, of a join of one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from experiments.replay.join import pairing
from experiments.replay.join.pairing import (
    NEXT_R,
    NEXT_S,
    Pairs,
    note_tuple,
    put_out,
)
from experiments.replay.join.request import Request
from experiments.replay.join.streams import Streams
from operators.contract import NOT_READY, READY, ROWS_FULL
from operators.core.atomics import RELAXED, load
from operators.core.jit import kernel
from operators.core.layout import aligned_words
from operators.join.family import FAMILY
from operators.join.round_robin import COUNT, FOUND, Core, Feed, by_time, rank_of
from operators.running import crew
from operators.running.control import STOP, end, go_on, wait_for_input
from operators.running.crew import Role
from operators.running.drivers import make_steps_loop
from operators.running.handover import compile_roles, hand_out

TUPLES_A_SECOND = 1_000_000


@cache
def make_first_loop(step):
    """Return the kernel of core 0.

    Returns
    -------
    callable
        ``first_loop(control, own, core, feed, session, spare, digits, r_pairs, s_pairs)``: steps
        until the buffer of pairs is full (ROWS_FULL), told to stop (NOT_READY), or the step answers
        END or a failure, which it returns. `session` is as of the one thread of a join.
    """

    @kernel
    def first_loop(control, own, core, feed, session, spare, digits, r_pairs, s_pairs):
        round = 0
        while load(control, STOP, RELAXED) == 0:
            if not put_out(session, core.found, r_pairs, s_pairs):
                return ROWS_FULL
            status = step(core, feed)
            if status == FOUND:
                next_r, next_s = session[NEXT_R], session[NEXT_S]
                side = 1
                if next_s == feed.end_s or (
                    next_r < feed.end_r and rank_of(feed, 0, next_r) < rank_of(feed, 1, next_s)
                ):
                    side = 0
                position = next_r if side == 0 else next_s
                session[NEXT_R if side == 0 else NEXT_S] = position + 1
                note_tuple(session, side, position, core.found, core.words[COUNT], spare, digits)
                round = go_on(control, own, next_r + next_s + 1, round)
            elif status == READY:
                round = 0
            elif status == NOT_READY:
                round = wait_for_input(control, own, round)
            else:
                return status
        return NOT_READY

    return first_loop


def run_first(
    control: np.ndarray,
    own: int,
    first_loop: Any,
    core: Core,
    feed: Feed,
    buffer: Pairs,
    append: Callable[[Pairs], None],
) -> None:
    """Run core 0 to its end, giving its pairs to `append`."""
    session = aligned_words(pairing.SESSION_WORDS)
    spare, digits = aligned_words(len(core.found)), aligned_words(pairing.DIGITS)

    def take() -> tuple[int, Pairs]:
        status = first_loop(control, own, core, feed, session, spare, digits, *buffer)
        return status, pairing.taken(session, buffer)

    hand_out(control, own, take, append)
    end(control, own)


def run(request: Request, streams: Streams, buffer: Pairs, append: Callable[[Pairs], None]) -> None:
    """Join streams on a chain of threads.

    Raises
    ------
    RunFailed
        When a thread failed.
    """
    tuples = zip(streams.times, streams.keys, strict=True)
    feed = by_time(*(column for stream in tuples for column in stream))
    compile_roles(_roles(request, _cores(request, streams, 1), feed, buffer, append))
    crew.run(
        _roles(request, _cores(request, streams, streams.window), feed, buffer, append),
        pin=False,
        expected_seconds=streams.tuples / TUPLES_A_SECOND,
        limit_seconds=float("inf"),
        failures=FAMILY.failures,
    )


def _cores(request: Request, streams: Streams, window: int) -> tuple[Core, ...]:
    return request.variant.operations.make_state(
        request.parameters["index"],
        window,
        streams.half_width,
        request.parameters["threads"],
        streams.key_bits,
        two_way=len(request.inputs) == 2,
        span=request.window_ticks,
    )


def _roles(
    request: Request,
    cores: tuple[Core, ...],
    feed: Feed,
    buffer: Pairs,
    append: Callable[[Pairs], None],
) -> list[Role]:
    step = request.variant.operations.make_step(request.parameters["index"])
    first, *others = cores
    arguments = (make_first_loop(step), first, feed, buffer, append)
    loop = make_steps_loop(step)
    return [Role("core 0", run_first, arguments, output=True)] + [
        Role(f"core {core.number}", loop, (core, feed)) for core in others
    ]
