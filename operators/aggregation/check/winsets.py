"""Scenarios of an output thread's winsets, which belong to one thread at a time."""

from __future__ import annotations

from typing import Any

from operators.aggregation import update_output
from operators.aggregation.plan import make_plan
from operators.aggregation.sink import take_rows
from operators.aggregation.specification import TableSpecification
from operators.aggregation.through_time import ACTIVE
from operators.aggregation.winsets import BITMAP_BITS, FIRST_PLACE, GENERATION, N, WindowState
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, Variant
from operators.core.check.handed_on import HandedOn, calls, every_script, handed_on

NOT_THERE = -1
ALONE = {
    "home_slot": "A function of the key and of constants, which reads no word that changes.",
}


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of an output thread's winsets, which another thread continues."""
    keys = 5
    window = variant.operations.calls

    homes: list[int] = []

    def make(rows: int = 32, winsets: int = 8) -> WindowState:
        plan = make_plan("count", 2, 1, keys, rows_capacity=rows, winsets_capacity=winsets)
        windows = variant.operations.make_state(plan)
        windows.control[ACTIVE] = 1
        homes[:] = [window["home_slot"](windows, key) for key in range(keys)]
        return windows

    def inside(state: HandedOn, call: Call) -> Any:
        windows = state.inside
        control = windows.control
        if call.name == "reset":
            # The oldest winset is output, and another follows.
            update_output.output(windows, -1)
            control[ACTIVE] += 1
            return ACCEPTED
        (key,) = call.arguments
        place = int(control[FIRST_PLACE])
        tag = (int(control[GENERATION]) << windows.key_bits) | key
        if call.name == "count":
            at = window["find_or_create"](windows, place, homes[key], key, tag)
            windows.table[at + N] += 1
        else:
            # `find` is called only with keys that the bitmap has.
            if not windows.present[place * windows.bitmap_words] >> (key % BITMAP_BITS) & 1:
                return NOT_THERE
            at = window["find"](windows, place, key, tag)
        return int(windows.table[at + N])

    def finish(state: HandedOn, history: list[HistoryOperation]) -> None:
        variant.operations.check_invariants(state.inside)
        update_output.output(state.inside, -1)
        counted = sum(o.name == "count" for o in history)
        found = int(take_rows(state.inside.sink)[:, -1].sum())
        assert found == counted, f"{counted} tuples were counted, {found} put out"

    def scenario(name: str, *programs: tuple[Call, ...], **more: Any) -> Scenario:
        return handed_on(
            name,
            variant,
            make,
            inside,
            programs,
            specification=TableSpecification,
            finish=finish,
            **more,
        )

    one, two = ("count", 0), ("count", 3)
    steps = calls(one, two, "reset")
    return [
        scenario("handed-on", calls(one, two, ("find", 3)), calls(two, "reset", two)),
        scenario("a-call-each", calls(one, two), calls(("find", 3), ("find", 3))),
        scenario("put-out", calls(one, "reset", one), calls("reset", one, ("find", 0))),
        every_script(
            variant,
            lambda: make(rows=0, winsets=1 << 7),
            inside,
            lambda state: inside(state, Call("reset")),
            TableSpecification,
            steps,
        ),
        scenario("three-threads", calls(one, two), calls("reset", one), calls(two, one), deep=True),
    ]
