"""One style for every figure: sizes, fonts, and a fixed look for each variant and each state.

A variant has the same colour, marker and dash in every figure, as declared in the variant's file;
adding a variant repaints nothing. The colours are those of Okabe and Ito, which colour-blind
readers can tell apart; marker and dash tell the variants apart without colour. A variant of ours
has a darker or lighter shade of the variant it was derived from.

No state puts a glyph next to a marker:

=================  =====================================================================
ours               thinner line of short dots: no figure of a paper has the variant
oversubscribed     grey background at the x of the point
noisy, unsteady,   pale marker; the notes count them
unsustained
saturated          a caret at the upper edge, never joined: the value means nothing
failed             a red cross on the axis, and a gap in the line
tied               where lines are rows, a grey bar from the best value to it; over the rate, a
                   grey maximum; otherwise only in the table of the figure
predicted          a grey dash: never looks like a measurement
=================  =====================================================================
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from typing import NamedTuple

from matplotlib.colors import to_hex, to_rgb
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.markers import MarkerStyle

from experiments import series
from experiments.declare import Series
from experiments.judging.points import UsageError
from figures import fonts

NARROW, WIDE = 3.33, 7.0  # inches: one column and two
# Points, at these widths of figures; no text is smaller.
FONT_SIZE = 8.0
SMALL = 7.0
FONTS = fonts.families()

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
RED = "#c40d1e"
GREY = "#5f5f5f"
FAINT = "#d4d4d4"
# The background behind oversubscribed points: more threads than cores.
CROWDED = "#ececec"
# The background behind values that tie with the best one.
TIED = "#cfcfcf"

PARAMETERS = {
    "font.family": FONTS,
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
    # Without a salt, element names in an SVG are random.
    "svg.hashsalt": "millrace",
}


class Look(NamedTuple):
    """The look of a series."""

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
# In grey the first looks like a failed point, the others like a prediction and a bracket end.
NO_MARKERS = ("x", "_", "|")
# For variants that declare no look; chosen by the id alone, so that no other variant changes it.
OTHER_COLORS = (BLACK, SKY, "#8c6d1f", "#5e4fa2")
OTHER_MARKERS = ("H", "X", "<", ">", "h")
# For lines that are values of a swept setting, not variants.
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
    title, look, ours, _ = series.drawn(family, Series(variant))
    if look is not None:
        known = look.color in COLORS or re.fullmatch("#[0-9a-fA-F]{6}", look.color)
        marked = look.marker in MarkerStyle.markers and look.marker not in NO_MARKERS
        if not known or look.dash not in DASHES or not marked:
            raise UsageError(
                f"{family} {variant} declares {look}: colours are {', '.join(COLORS)} or #rrggbb,"
                f" dashes {', '.join(DASHES)}, markers those of matplotlib but for"
                f" {' '.join(NO_MARKERS)}"
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


MARKER_SIZE = 4.6
LINE_WIDTH, OURS_LINE_WIDTH = 1.2, 0.8
# The share of white in the face and in the edge of a pale marker.
PALE_FACE, PALE_EDGE = 0.82, 0.5

# The word for each weak state in the notes; a point in any of these states is pale.
WEAK = {
    "noisy": "noisy",
    "unsteady": "not steady",
    "unsustained": "not kept up with",
}


def mixed(color: str, white: float) -> str:
    """Return a colour with this share of `white` mixed in.

    Examples
    --------
    >>> mixed("#000000", 0.5)
    '#808080'
    """
    return to_hex([part + (1.0 - part) * white for part in to_rgb(color)])


def readable(color: str) -> str:
    """Return a colour dark enough for letters on white.

    Examples
    --------
    >>> readable("#000000")
    '#000000'
    """
    parts = to_rgb(color)
    # The weights of red, green and blue in perceived brightness.
    bright = 0.2126 * parts[0] ** 2.2 + 0.7152 * parts[1] ** 2.2 + 0.0722 * parts[2] ** 2.2
    # A contrast of 4.5 to white, which the accessibility guidelines of the web require for letters.
    share = min(1.0, (0.183 / bright) ** (1 / 2.2)) if bright else 1.0
    return to_hex([part * share for part in parts])


# The unit of a rate after a number, and after "million" and the like. For comparisons the name of
# the quantity says that they are counted.
_RATES = {"t/s": ("tuples/s", " tuples/s"), "c/s": ("1/s", "/s")}
_EXPONENTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rate_unit(largest: float, unit: str = "t/s") -> tuple[float, str]:
    """Return the size and the name of the unit for rates up to `largest`.

    Examples
    --------
    >>> rate_unit(2e6), rate_unit(3e9, "c/s")
    ((1000000.0, 'million tuples/s'), (1000000000.0, 'billion/s'))
    """
    alone, behind = _RATES[unit]
    for size, word in ((1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if largest >= size:
            return size, f"{word}{behind}"
    return 1.0, alone


def power(base: int, exponent: float) -> str:
    """Return a power as text with a superscript exponent.

    Examples
    --------
    >>> power(2, 20), power(10, -5)
    ('2²⁰', '10⁻⁵')
    """
    return f"{base}{str(round(exponent)).translate(_EXPONENTS)}"


@cache
def width_of(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a line of text in inches."""
    face = FontProperties(family=FONTS, weight="bold" if bold else "normal")
    font = get_font(findfont(face))
    font.set_size(size, 72)
    font.set_text(text, 0.0)
    return font.get_width_height()[0] / 64 / 72


# A non-breaking space.
BOUND = "\u00a0"


def parts_of(text: str) -> list[str]:
    """Return the parts of a text between which a line may break."""
    return re.findall(r"[^ _-]+[_-]* *|[_-]+ *", text)


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Return `text` in lines of at most `width` inches.

    Lines break at blanks other than ``BOUND``, after hyphens and underscores, and, where that is
    not enough, anywhere.
    """
    lines, line = [], ""
    for word in parts_of(text):
        if width_of((line + word).rstrip(), size) <= width:
            line += word
            continue
        if line:
            lines.append(line.rstrip())
        while width_of(word.rstrip(), size) > width and len(word) > 1:
            fits = max(
                n for n in range(1, len(word)) if n == 1 or width_of(word[:n], size) <= width
            )
            lines.append(word[:fits])
            word = word[fits:]
        line = word
    return [*lines, line.rstrip()] if line else lines
