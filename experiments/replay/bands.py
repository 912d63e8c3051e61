"""Half widths of bands, as exact as the numbers that they are compared with."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from datasets.formats import numbers
from operators.contract import UsageError


class HalfWidth(NamedTuple):
    """A half width as it was given: mantissa / 10**scale, `scale` 0 at least.

    Attributes
    ----------
    option : str
        Which gave it, for messages.
    text : str
    mantissa, scale : int
    """

    option: str
    text: str
    mantissa: int
    scale: int

    def scaled(self, decimals: int, called: str) -> int:
        """Return it in units of the last of so many decimals, which the numbers have.

        Parameters
        ----------
        decimals : int
        called : str
            What the numbers are called, for the message.

        Raises
        ------
        UsageError
            When it does not fit 64 bits.
        """
        half_width = self.mantissa * 10 ** (decimals - self.scale)
        if half_width > numbers.LARGEST:
            raise UsageError(
                f"{self.option} {self.text:.60} does not fit 64 bits with {decimals} decimals,"
                f" which {called} have; give a smaller one, or {called} with fewer decimals"
            )
        return half_width


def half_width(option: str, given: str) -> HalfWidth:
    """Return the half width of an option.

    Raises
    ------
    UsageError
        When it is no number, below 0, or does not fit 64 bits.
    """
    parsed = numbers.parse_decimals(pa.array([given], pa.string()))
    mantissa, scale, state = int(parsed.mantissa[0]), int(parsed.scale[0]), int(parsed.state[0])
    if state == numbers.TOO_WIDE:
        raise UsageError(f"{option} {given:.60} does not fit 64 bits; give a smaller one")
    if state != numbers.FINE or mantissa < 0:
        raise UsageError(f"{option} must be a number, 0 at least, received {given:.60}")
    # 1e3 has a scale of -3: the digits are written out.
    return HalfWidth(option, given, mantissa * 10 ** max(-scale, 0), max(scale, 0))
