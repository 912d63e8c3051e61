"""Programs of the ring of blocks in which a thread calls one operation and no other.

It then reads the data of the block that it was given, or writes into the slot that it was told is
free. In whole pipelines a worker calls many operations a turn, and any of them may order memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import NOT_READY, READY, Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.pipeline.block_ring import (
    NONE,
    BlockRing,
    begin_opening,
    claim,
    end_opening,
    end_part,
    hold,
    hold_part,
    leave,
    let_go,
    scatter,
    show,
)

_NOTHING = "It tells nothing, and what it publishes is read by who asks."
ALONE = dict.fromkeys(("show", "end_opening", "send", "leave", "let_go", "scatter"), _NOTHING)
# What was written into block 0, and by each holder of a part.
FILLED, DONE = 5, 9
SEGMENT = 0


class _Bench(NamedTuple):
    """A ring, and the plain data of block 0: a word for each part, a line apart."""

    ring: BlockRing
    data: np.ndarray


def _fill(bench: _Bench) -> None:
    begin_opening(bench.ring)
    bench.data[0] = FILLED
    show(bench.ring, 0, SEGMENT, 0)
    end_opening(bench.ring)


def _pass_on(bench: _Bench) -> int:
    """Take the block out of the only segment, and so free the slot."""
    assert hold(bench.ring, SEGMENT) == 0
    seen = bench.data[0]
    leave(bench.ring, 0, SEGMENT)
    let_go(bench.ring, SEGMENT)
    return seen


def _use_again(bench: _Bench) -> int:
    if begin_opening(bench.ring) == NONE:
        return NOT_READY
    bench.data[0] = DONE
    return READY


def _divide(bench: _Bench) -> int:
    bench.data[0] = FILLED
    scatter(bench.ring, 0, SEGMENT)
    return READY


def _end(bench: _Bench, part: int) -> int:
    """End a part, and return what all parts have, for the last one."""
    bench.data[part * LINE_WORDS] = DONE
    if end_part(bench.ring, 0, SEGMENT, part, 0):
        return bench.data[0] + bench.data[LINE_WORDS]
    return READY


def _begin_parts(bench: _Bench) -> None:
    begin_opening(bench.ring)
    show(bench.ring, 0, SEGMENT, 1)
    end_opening(bench.ring)


def _give_parts(bench: _Bench) -> None:
    _begin_parts(bench)
    scatter(bench.ring, 0, SEGMENT)
    for part in range(2):
        assert hold_part(bench.ring, SEGMENT, part) == 0


PERFORM: dict[str, Callable[..., int]] = {
    "fill": lambda bench: _fill(bench) or READY,
    "pass on": _pass_on,
    "begin_opening": _use_again,
    "claim": lambda bench: bench.data[0] if claim(bench.ring, 0, SEGMENT) else NOT_READY,
    "hold": lambda bench: NOT_READY if hold(bench.ring, SEGMENT) == NONE else bench.data[0],
    "divide": _divide,
    "hold_part": lambda bench: (
        NOT_READY if hold_part(bench.ring, SEGMENT, 1) == NONE else bench.data[0]
    ),
    "end_part": _end,
}


def alone(variant: Variant) -> list[Scenario]:
    """Return the programs."""

    def program(name: str, *calls: Call, begin: Callable | None = None, **shape: int) -> Scenario:
        return _scenario(variant, name, calls, begin, **shape)

    fill, divide = Call("fill"), Call("divide")
    return [
        program("asks-for-a-slot", Call("pass on"), Call("begin_opening"), begin=_fill, slots=1),
        program("asks-for-a-block", fill, Call("claim")),
        program("asks-for-the-next", fill, Call("hold")),
        program("asks-for-a-part", divide, Call("hold_part"), begin=_begin_parts, parts=2),
        program("asks-who-is-last", Call("end_part", (0,)), Call("end_part", (1,)),
                begin=_give_parts, parts=2),
    ]  # fmt: skip


def _scenario(
    variant: Variant,
    name: str,
    calls: Sequence[Call],
    begin: Callable[[_Bench], None] | None,
    slots: int = 2,
    parts: int = 1,
) -> Scenario:
    def make() -> _Bench:
        ring = variant.operations.make_state(slots, 1, parts)
        bench = _Bench(ring, aligned_words(2 * LINE_WORDS))
        if begin is not None:
            begin(bench)
        return bench

    def perform(bench: _Bench, call: Call) -> int:
        return PERFORM[call.name](bench, *call.arguments)

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        answers = [operation.answer for operation in history]
        if name == "asks-who-is-last":
            assert sorted(answers) == [READY, 2 * DONE], f"parts ended with {answers}"
        elif name != "asks-for-a-slot":
            assert FILLED in answers, f"with {FILLED} in the block, who asks saw {answers}"

    return Scenario(
        name=name,
        make=make,
        programs=tuple((call,) for call in calls),
        perform=perform,
        finish=finish,
        retry=frozenset({NOT_READY}),
    )
