"""The common parts of the pictures in notebooks: drawings that show no measured rows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from html import escape

import matplotlib
from matplotlib.figure import Figure

from figures import draw, style


@dataclass(frozen=True)
class Picture:
    """A drawing that a notebook displays directly.

    Attributes
    ----------
    figure : Figure
    reading : str
        A sentence on the drawn runs, shown below the picture; empty where nothing was run.
    """

    figure: Figure
    reading: str = ""

    def _repr_png_(self) -> bytes:
        return draw.saved(self.figure, "png")

    def _repr_html_(self) -> str | None:
        if not self.reading:
            return None
        image = b64encode(self._repr_png_()).decode()
        words = escape(self.reading)
        return (
            f'<figure><img src="data:image/png;base64,{image}" alt="{words}">'
            f"<figcaption>{words}</figcaption></figure>"
        )


def in_style(picture: Callable[..., Picture]) -> Callable[..., Picture]:
    """Return `picture`, wrapped to draw in the style of the figures."""

    @wraps(picture)
    def drawn(*given: object, **named: object) -> Picture:
        with matplotlib.rc_context(style.PARAMETERS):
            return picture(*given, **named)

    return drawn
