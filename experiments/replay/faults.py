"""How an error says what is wrong with a value; `datasets.formats.rejected` has the faults."""

from __future__ import annotations

from datasets.formats.numbers import NULL, UNPARSABLE
from datasets.formats.times import OUT_OF_RANGE, TOO_FINE

SET_ASIDE = "mend the row, or set such rows aside with --rejected FILE.csv"
_OF_TIMES = {
    UNPARSABLE: "is no time",
    OUT_OF_RANGE: "is not between 0 and 2**62 - 1",
    TOO_FINE: "is finer than the time unit",
}


def sentence(called: str, given: object, state: int, time_unit: str | None) -> tuple[str, str]:
    """Return what is wrong with a value, and what to do about it.

    Parameters
    ----------
    called : str
        What its column is called: time, key, text, or what its numbers are.
    given : object
        The value, as the file has it.
    state : int
        As in `datasets.formats.rejected.REASONS`.
    time_unit : str or None
        What calendar times are counted in.

    Examples
    --------
    >>> sentence("value", "soon", UNPARSABLE, None)[0]
    'soon is no number'
    """
    if state == NULL:
        return f"the {called} is null", SET_ASIDE
    if called != "time":
        return f"{given!s:.60} is no number", SET_ASIDE
    said = f"{given!s:.60} {_OF_TIMES[state]}"
    if state == UNPARSABLE and time_unit is None:
        remedy = f"for calendar times give --time-unit s|ms|us; or {SET_ASIDE}"
        return f"{said} (a whole number of the files' own units)", remedy
    if state == TOO_FINE:
        return f"{said} {time_unit}", "give a finer --time-unit (ms or us)"
    return said, SET_ASIDE
