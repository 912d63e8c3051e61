"""What the pictures of notebooks have in common: drawings that show no measured rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import matplotlib
from matplotlib.figure import Figure

from figures import draw, style


@dataclass(frozen=True)
class Picture:
    """A drawing that a notebook shows as it is.

    Attributes
    ----------
    figure : Figure
    """

    figure: Figure

    def _repr_png_(self) -> bytes:
        return draw.saved(self.figure, "png")


def in_style(picture: Callable[..., Picture]) -> Callable[..., Picture]:
    """Return `picture` drawing in the style of the figures."""

    @wraps(picture)
    def drawn(*given: object) -> Picture:
        with matplotlib.rc_context(style.PARAMETERS):
            return picture(*given)

    return drawn
