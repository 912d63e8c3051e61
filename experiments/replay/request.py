"""What reading needs to know of a replay's request, whatever its family."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Request(Protocol):
    """What is read of a replay's request.

    Attributes
    ----------
    inputs : tuple of Path
        One physical stream each, in the order of their numbers.
    time, key, value, text : str or None
        Names of columns; None for what is not read.
    time_unit : str or None
        s, ms or us for calendar times; None where times are integers of the files' own unit.
    decimals : int or None
        Digits after the point that values are rounded to; None keeps all of them.
    max_keys : int or None
    output : Path
    rejected : Path or None
        Where rows that cannot be used are set aside; None makes the first of them an error.
    """

    inputs: tuple[Path, ...]
    time: str
    key: str | None
    value: str | None
    text: str | None
    time_unit: str | None
    decimals: int | None
    max_keys: int | None
    output: Path
    rejected: Path | None


class Table(NamedTuple):
    """A request of nothing but times and what ``Numbers`` say, as a join's is."""

    inputs: tuple[Path, ...]
    time: str
    time_unit: str | None
    output: Path
    rejected: Path | None
    key: None = None
    value: None = None
    text: None = None
    decimals: None = None
    max_keys: None = None

    @classmethod
    def of(cls, request: Any) -> Table:
        """Return what there is to read for a request of a join."""
        return cls(
            request.inputs, request.time, request.time_unit, request.output, request.rejected
        )


class Numbers(NamedTuple):
    """What a column of numbers holds, where that is not the values of an aggregate.

    Attributes
    ----------
    called : str
        In messages and reasons.
    columns : tuple of str
        Its name in each file; empty where ``Request.value`` is its name in all of them.
    least_decimals : int
        Digits after the point that all numbers get at least.
    remedy : str
        What to do about a number that does not fit 64 bits; empty for what helps with values.
    """

    called: str = "value"
    columns: tuple[str, ...] = ()
    least_decimals: int = 0
    remedy: str = ""


VALUES = Numbers()
