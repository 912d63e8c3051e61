"""Which calls are judged where stores are late: a refusal may be out of date."""

from __future__ import annotations

import pytest

from operators.aggregation.plan import make_plan
from operators.aggregation.specification import WHiveSpecification
from operators.check.history import HistoryOperation
from operators.check.judge import Judge
from operators.check.scenario import WAITS, Scenario
from operators.contract import ACCEPTED, FULL, NOT_READY, OUT_OF_ORDER, READY


class Nothing:
    """An object that a refused call leaves as it was."""


HIVE = WHiveSpecification(make_plan("count", 2, 2, 4), streams=2, winsets_ahead=1)
CALLS = [
    HistoryOperation(0, "add", (0, 9, 0, 1), FULL, 0, 1),
    HistoryOperation(1, "process", (), (NOT_READY,), 2, 3),
    HistoryOperation(0, "add", (0, 9, 0, 1), ACCEPTED, 4, 5),
    HistoryOperation(1, "process", (), (READY,), 6, 7),
]
SCENARIO = Scenario("refusing", object, (), lambda state, call: 0, declines=WAITS)


@pytest.mark.parametrize(
    ("specification", "buffered", "judged"),
    [
        (Nothing(), False, [FULL, (NOT_READY,), ACCEPTED, (READY,)]),
        (Nothing(), True, [ACCEPTED, (READY,)]),
        # A refused tuple has published its time, and how many tables were taken is not known.
        (HIVE, True, [HIVE.out_of_date("add"), ACCEPTED, (READY,)]),
        (HIVE, False, [FULL, (NOT_READY,), ACCEPTED, (READY,)]),
    ],
)
def test_refusals_are_left_out_or_stand_for_what_they_left(specification, buffered, judged):
    found = Judge(SCENARIO, buffered)._judged(specification, CALLS)
    assert [each.answer for each in found.values()] == judged
    assert all(CALLS[number].name == each.name for number, each in found.items())


def test_a_hive_takes_the_time_of_a_refused_tuple_whatever_room_there_was():
    hive, tuple_at_1 = HIVE.copy(), (0, 1, 0, 1)
    assert not hive.copy().accepts(0, "add", tuple_at_1, FULL)
    assert hive.accepts(0, "add", tuple_at_1, hive.out_of_date("add"))
    # It is not inside, and an earlier one is out of order.
    assert hive.copy().accepts(1, "close", (1,), ACCEPTED)
    assert not hive.copy().accepts(1, "process", (), (READY, 0, 0, 1, 0, 1))
    assert hive.accepts(0, "add", (0, 0, 0, 1), OUT_OF_ORDER)
    assert hive.out_of_date("process") is None
