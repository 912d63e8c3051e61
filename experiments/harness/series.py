"""A series of a figure: a variant, with the settings that tell it from the variant's defaults.

Written ``t-gate`` or ``t-gate:levels=8`` (several settings apart by commas), in declarations, in
the rows and in the figures' tables alike.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.contract import UsageError


class Series(NamedTuple):
    """A variant's id, and name=value of what is set beside the figure's own settings."""

    variant: str
    settings: dict[str, str]


def parse(series: str) -> Series:
    """Return the parts of a series.

    Raises
    ------
    UsageError
        When it is not of the form id:name=value,name=value.

    Examples
    --------
    >>> parse("t-gate:levels=8")
    Series(variant='t-gate', settings={'levels': '8'})
    >>> parse("mq").settings
    {}
    """
    variant, colon, rest = series.partition(":")
    settings = {}
    for entry in rest.split(",") if colon else ():
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            raise UsageError(f"a series is id:name=value, received {series!r}")
        settings[name] = value
    return Series(variant, settings)
