"""The part of a replay's request that reading needs, whatever the family."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from experiments.replay.bands import HalfWidth


class Request(Protocol):
    """The part of a replay's request that reading needs.

    Attributes
    ----------
    inputs : tuple of Path
        One physical stream each, in the order of their numbers.
    time, key, value, text : str or None
        Names of columns; None for columns that are not read.
    time_unit : str or None
        s, ms or us for calendar times; None if times are integers in the files' unit.
    decimals : int or None
        Digits after the point that values are rounded to; None keeps all of them.
    max_keys : int or None
    output : Path
    rejected : Path or None
        Where unusable rows are set aside; None makes the first of them an error.
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
    """A request of only times and columns described by ``Numbers``, such as a join's."""

    inputs: tuple[Path, ...]
    time: str
    time_unit: str | None
    output: Path
    rejected: Path | None
    key: None = None
    value: None = None
    text: None = None
    decimals: int | None = None
    max_keys: None = None

    @classmethod
    def of(cls, request: Any) -> Table:
        """Return the reading part of a join's request."""
        return cls(
            request.inputs, request.time, request.time_unit, request.output, request.rejected,
            decimals=request.decimals,
        )  # fmt: skip


class Numbers(NamedTuple):
    """The kind of a column of numbers; the default is an aggregate's values.

    Attributes
    ----------
    called : str
        Name in messages and reasons.
    columns : tuple of str
        The column's name in each file; empty if ``Request.value`` is the name in all of them.
    half_width : HalfWidth or None
        Half width of the band in which they are compared; None without a band.
    doubles : bool
        Whether numbers that are not all whole may be taken as the nearest doubles: they are only
        compared and passed on, never summed.
    """

    called: str = "value"
    columns: tuple[str, ...] = ()
    half_width: HalfWidth | None = None
    doubles: bool = False


VALUES = Numbers()
