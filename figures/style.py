"""One style for every figure: sizes, fonts, and a fixed look for each variant and each state.

A variant has the same colour, marker and dash wherever it appears, those that its file declares;
adding one repaints nothing. The colours are those of Okabe and Ito, which stay apart for
colour-blind readers; marker and dash tell the variants apart without colour. A variant of ours has
a darker or lighter shade of what it was made from. A state
changes the point and not its colour:

=================  =====================================================================
ours               thinner line of short dots: no figure of a paper has the variant
oversubscribed     hollow marker
coarse             smaller marker and thinner line
saturated          a caret above the marker
noisy              a cross below the marker
unsteady           a wave to the right of the marker
tied               a grey equals sign to the left: no further apart than equal runs are
predicted          grey dots without markers: never looks like a measurement
=================  =====================================================================
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from matplotlib.markers import CARETUPBASE, MarkerStyle

from experiments import series
from experiments.judging.claims import UsageError

NARROW, WIDE = 3.33, 7.0  # inches: one column and two
FONT_SIZE = 8.0
SMALL = 6.0

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#6e6e6e"
FAINT = "#d4d4d4"

PARAMETERS = {
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "xtick.labelsize": FONT_SIZE - 1,
    "ytick.labelsize": FONT_SIZE - 1,
    "legend.fontsize": FONT_SIZE - 1,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.3,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "text.usetex": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # Element names in an SVG are random without it.
    "svg.hashsalt": "millrace",
}


class Look(NamedTuple):
    """How a series is drawn."""

    title: str
    color: str
    marker: str
    dash: tuple
    ours: bool = False  # no figure of a paper has it: thinner


SOLID, DASHED, DASH_DOT, DENSE = (0, ()), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (2.5, 1))
OURS = (0, (1.2, 1.2))
# The names that a VARIANT may use.
COLORS = {
    "black": BLACK,
    "orange": ORANGE,
    "sky": SKY,
    "green": GREEN,
    "yellow": YELLOW,
    "blue": BLUE,
    "vermillion": VERMILLION,
    "purple": PURPLE,
    "grey": GREY,
}
DASHES = {"solid": SOLID, "dashed": DASHED, "dash-dot": DASH_DOT, "dense": DENSE, "dots": OURS}
# For variants that declare no look: chosen by the id alone, so that no other variant moves it.
OTHER_COLORS = (BLACK, SKY, "#8c6d1f", "#5e4fa2")
OTHER_MARKERS = ("H", "X", "<", ">", "h")
# Where lines are values of a swept setting and not variants.
SWEPT = (
    (ORANGE, "^", DASHED),
    (PURPLE, "v", DENSE),
    (BLUE, "o", SOLID),
    (GREEN, "D", DASH_DOT),
    (VERMILLION, "s", DASHED),
    (SKY, "P", DENSE),
    (BLACK, "X", SOLID),
)


def look_of(family: str, variant: str) -> Look:
    """Return the look of a series of a family, the same in every figure.

    Examples
    --------
    >>> look_of("gate", "t-gate:levels=2").title
    'T-Gate, 2 levels'
    """
    title, look, ours = series.drawn(family, variant)
    if look is not None:
        known = look.color in COLORS or re.fullmatch("#[0-9a-fA-F]{6}", look.color)
        if not known or look.dash not in DASHES or look.marker not in MarkerStyle.markers:
            raise UsageError(
                f"{family} {variant} declares {look}: colours are {', '.join(COLORS)} or #rrggbb,"
                f" dashes {', '.join(DASHES)}, markers those of matplotlib"
            )
        color = COLORS.get(look.color, look.color)
        return Look(title, color, look.marker, DASHES[look.dash], ours)
    number = zlib.crc32(variant.encode())
    color = OTHER_COLORS[number % len(OTHER_COLORS)]
    marker = OTHER_MARKERS[number // 7 % len(OTHER_MARKERS)]
    return Look(title, color, marker, OURS, ours=True)


def swept_look(place: int, title: str) -> Look:
    """Return the look of the `place`-th value of a swept setting."""
    return Look(title, *SWEPT[place % len(SWEPT)])


MARKER_SIZE, COARSE_MARKER_SIZE = 5.0, 3.6
LINE_WIDTH, COARSE_LINE_WIDTH, OURS_LINE_WIDTH = 1.3, 0.8, 0.7

# Drawn beside the marker, so that the variant stays readable: marker, size, right and up in points,
# colour.
OVERLAYS = {
    "saturated": (CARETUPBASE, 4.0, 0.0, 4.0, BLACK),
    "noisy": ("x", 3.5, 0.0, -6.0, BLACK),
    "unsteady": (r"$\sim$", 4.5, 5.5, 0.0, BLACK),
    "tied": (r"$=$", 4.5, -5.5, 0.0, GREY),
}
STATE_TITLES = {
    "saturated": "saturated",
    "oversubscribed": "more threads than cores",
    "noisy": "noisy machine",
    "unsteady": "no steady state",
    "coarse": "coarse: a short run",
    "tied": "tied with the best",
}
