"""What can be wrong with a row of an input, and how that is said."""

from __future__ import annotations

from collections.abc import Sequence

from datasets.formats import numbers, times
from experiments.replay.values import NumberColumn

# State of a row: the first thing that is wrong with it.
FINE = 0
REASONS = {
    1: ("time", numbers.NULL, "null time", "the time is null"),
    2: ("time", numbers.UNPARSABLE, "unparsable time", "is no time"),
    3: ("time", times.OUT_OF_RANGE, "time out of range", "is not between 0 and 2**62 - 1"),
    4: ("time", times.TOO_FINE, "time finer than its unit", "is finer than the time unit"),
    5: ("key", numbers.NULL, "null key", "the key is null"),
    6: ("text", numbers.NULL, "null text", "the text is null"),
}
# Of columns of numbers; the states of the first one begin here, those of the others follow.
NUMBER_FAULTS = {
    numbers.NULL: ("null value", "the value is null"),
    numbers.UNPARSABLE: ("unparsable value", "is no number"),
}
FIRST_NUMBER = 10
SET_ASIDE = "mend the row, or set such rows aside with --rejected FILE.csv"


def number_fault(column: int, fault: int) -> int:
    """Return the state of a row with a fault in the column-th of its numbers."""
    return FIRST_NUMBER + len(NUMBER_FAULTS) * column + list(NUMBER_FAULTS).index(fault)


def words_of(columns: Sequence[NumberColumn], state: int) -> tuple[str, str, str]:
    """Return the role of the column that is at fault, the reason, and what is said of it."""
    if state in REASONS:
        role, _, reason, said = REASONS[state]
        return role, reason, said
    place, fault = divmod(state - FIRST_NUMBER, len(NUMBER_FAULTS))
    column = columns[place]
    reason, said = (
        word.replace("value", column.kind.called) for word in list(NUMBER_FAULTS.values())[fault]
    )
    return column.role, reason, said
