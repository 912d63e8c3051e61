"""One style for every figure: sizes, fonts, and a fixed look for each variant and each state.

A variant has the same colour, marker and dash wherever it appears; adding one repaints nothing. The
colours are those of Okabe and Ito, which stay apart for colour-blind readers; marker and dash tell
the variants apart without colour. A variant of ours has a darker or lighter shade of what it was
made from. A state changes the point and not its colour:

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

import zlib
from typing import NamedTuple

from matplotlib.markers import CARETUPBASE

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

# The papers' variants first, in the order in which legends name them. A gate looks like the
# aggregate that stands on it: both have the same queues in them.
VARIANTS = {
    "mq": Look("MQ", VERMILLION, "s", DASHED),
    "mqlf": Look("MQLF", ORANGE, "^", DASH_DOT),
    "tumlsc": Look("TuMLSC", BLUE, "o", SOLID),
    "tumlmc": Look("TuMLMC", PURPLE, "v", DENSE),
    "wiml": Look("WiML", GREEN, "D", SOLID),
    "t-gate": Look("T-Gate", BLUE, "o", SOLID),
    "skip-list": Look("Skip list", PURPLE, "v", DENSE),
    "mq-cached": Look("MQ, cached", "#8f3e00", "p", OURS, ours=True),
    "mqlf-rings": Look("MQLF, rings", "#a87400", "<", OURS, ours=True),
    "mqlf-loser-tree": Look("MQLF, loser tree", "#5f4200", ">", OURS, ours=True),
    "tumlsc-batch": Look("TuMLSC, batches", SKY, "P", OURS, ours=True),
    "tumlsc-panes": Look("TuMLSC, panes", "#003f63", "X", OURS, ours=True),
    "tumlsc-side-by-side": Look("TuMLSC, side by side", "#5e4fa2", "h", OURS, ours=True),
    "tumlsc:unit_divisor=10": Look("TuMLSC, unit / 10", "#7189a0", "8", OURS, ours=True),
    "wiml:levels=1": Look("WiML, 1 level", "#00573f", "d", OURS, ours=True),
    "private-panes": Look("Private panes", BLACK, "*", OURS, ours=True),
    "multi-queue": Look("Multi-queue", VERMILLION, "s", OURS, ours=True),
    "multi-queue-lock-free": Look("Multi-queue, lock-free", ORANGE, "^", OURS, ours=True),
    "multi-queue-cached": Look("Multi-queue, cached", "#8f3e00", "p", OURS, ours=True),
    "multi-queue-rings": Look("Rings", "#a87400", "<", OURS, ours=True),
    "multi-queue-loser-tree": Look("Rings, loser tree", "#5f4200", ">", OURS, ours=True),
    "t-gate-batch": Look("T-Gate, batches", SKY, "P", OURS, ours=True),
    "t-gate:levels=1": Look("T-Gate, 1 level", "#003f63", "X", OURS, ours=True),
    "t-gate:levels=2": Look("T-Gate, 2 levels", "#5e4fa2", "h", OURS, ours=True),
    "t-gate:levels=8": Look("T-Gate, 8 levels", "#7189a0", "8", OURS, ours=True),
}
# For variants that are not listed: chosen by the id alone, so that no other variant moves it.
OTHER_COLORS = (BLACK, SKY, "#8c6d1f", "#5e4fa2")
OTHER_MARKERS = ("H", "X", "<", ">", "h")
# TuMLMC by its number of inputs, where it is the only variant.
FEW_INPUTS = (ORANGE, "^", DASHED)
MANY_INPUTS = (PURPLE, "v", DENSE)


def look_of(variant: str) -> Look:
    """Return the look of a variant id, or of a series ``id:name=value``, the same in every figure.

    Examples
    --------
    >>> look_of("t-gate:levels=2").title
    'T-Gate, 2 levels'
    >>> look_of("tumlsc:ahead=64").title
    'TuMLSC, ahead 64'
    """
    if variant in VARIANTS:
        return VARIANTS[variant]
    number = zlib.crc32(variant.encode())
    color = OTHER_COLORS[number % len(OTHER_COLORS)]
    marker = OTHER_MARKERS[number // 7 % len(OTHER_MARKERS)]
    own, _, settings = variant.partition(":")
    told = [entry.replace("=", " ") for entry in settings.split(",") if entry]
    title = ", ".join([VARIANTS[own].title if own in VARIANTS else own, *told])
    return Look(title, color, marker, OURS, ours=True)


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
