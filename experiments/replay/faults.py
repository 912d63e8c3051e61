"""Error messages for faulty values; `datasets.formats.rejected` defines the faults."""

from __future__ import annotations

import re

from datasets.formats.numbers import NULL, UNPARSABLE
from datasets.formats.times import OUT_OF_RANGE, TOO_FINE

NUMBER = r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*"
SET_ASIDE = "mend the row, or set such rows aside with --rejected FILE.csv"
_OF_TIMES = {
    UNPARSABLE: "is no time",
    OUT_OF_RANGE: "is not between 0 and 2**62 - 1",
    TOO_FINE: "is finer than the time unit",
}


def sentence(called: str, given: object, state: int, time_unit: str | None) -> tuple[str, str]:
    """Return a message about a faulty value, and a remedy.

    Parameters
    ----------
    called : str
        What messages call the column: time, key, text, or the name of its numbers.
    given : object
        The value, as in the file.
    state : int
        As in `datasets.formats.rejected.REASONS`.
    time_unit : str or None
        The unit of calendar times.

    Examples
    --------
    >>> sentence("value", "soon", UNPARSABLE, None)[0]
    'soon is no number'
    """
    if state == NULL:
        # An empty key is not null everywhere: in Parquet it is a key.
        empty = called == "key" and isinstance(given, str) and not given.strip()
        # NaN, N/A and the like are null, but are not obviously so to everybody.
        written = str(given).strip() if given is not None else ""
        shown = f" ({written:.60})" if written.lower() not in ("", "null") else ""
        return f"the {called} is {'empty' if empty else 'null'}{shown}", SET_ASIDE
    if called != "time":
        return f"{given!s:.60} is no number", SET_ASIDE
    said = f"{given!s:.60} {_OF_TIMES[state]}"
    counted = re.fullmatch(NUMBER, str(given)) is not None
    if state == OUT_OF_RANGE and not counted:
        said = f"{given!s:.60} is before 1970, or no longer fits 2**62 {time_unit} since then"
    if state == UNPARSABLE and time_unit is not None:
        said += f" (such as 2014-06-23T10:00:00Z, or a whole number of {time_unit} since 1970)"
        if counted:
            said = f"{given!s:.60} is no whole number of {time_unit} since 1970"
    if state == UNPARSABLE and time_unit is None:
        remedy = f"for calendar times give --time-unit s|ms|us; or {SET_ASIDE}"
        return f"{said} (a whole number of the files' own units)", remedy
    if state == TOO_FINE:
        finer = "give a finer --time-unit (ms or us)"
        return f"{said} {time_unit}", finer if time_unit != "us" else "round the times to us"
    return said, SET_ASIDE
