"""The font of all figures: DejaVu Sans, which matplotlib ships, reduced to the letters needed.

The whole font has tables for dozens of scripts, and a PDF file embeds the letters in use: finding
these in the whole font takes longer than drawing the figure. So the Latin and Greek letters are
extracted once, into matplotlib's cache, as a font with a new name. Any other letter is drawn from
the whole font.
"""

from __future__ import annotations

import hashlib
import io
import logging
from functools import cache
from pathlib import Path

import fontTools
import matplotlib
from fontTools import subset
from matplotlib.font_manager import FontProperties, findfont, fontManager

from experiments.records.files import write_file

WHOLE, OWN = "DejaVu Sans", "DejaVu Sans Latin"
WEIGHTS = ("normal", "bold")
# Latin, Greek, punctuation, mathematical signs, and exponents.
LETTERS = (*range(0x20, 0x180), *range(0x391, 0x3CA), *range(0x2010, 0x2027), 0x2070,
           *range(0x2074, 0x207C), 0x2192, 0x2212, 0x221A, 0x2264, 0x2265)  # fmt: skip


@cache
def families() -> list[str]:
    """Return the font families of figures, in the order in which letters are looked up."""
    made_by = (matplotlib.__version__, fontTools.version, LETTERS, OWN)
    version = hashlib.sha256(repr(made_by).encode()).hexdigest()[:12]
    for weight in WEIGHTS:
        path = Path(matplotlib.get_cachedir(), f"millrace-{weight}-{version}.ttf")
        if not path.is_file():
            write_file(path, _reduced(findfont(FontProperties(family=WHOLE, weight=weight))))
        fontManager.addfont(path)
    return [OWN, WHOLE]


def _reduced(file: str) -> bytes:
    """Return a font reduced to ``LETTERS``, under a new name."""
    # fontTools logs each table that it drops.
    logging.getLogger("fontTools.subset").setLevel(logging.ERROR)
    options = subset.Options(layout_features=["kern"], name_IDs=["*"], recommended_glyphs=True)
    options.drop_tables += ["FFTM", "MATH", "GSUB"]
    with subset.load_font(file, options) as font:
        letters = subset.Subsetter(options)
        letters.populate(unicodes=LETTERS)
        letters.subset(font)
        for record in font["name"].names:
            for given, own in ((WHOLE, OWN), (WHOLE.replace(" ", ""), OWN.replace(" ", ""))):
                record.string = record.toUnicode().replace(given, own)
        # Equal fonts, equal bytes: omit the time of making.
        font.recalcTimestamp = False
        target = io.BytesIO()
        font.save(target)
    return target.getvalue()
