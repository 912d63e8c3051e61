"""Figures as parts of a page: vector graphics, and small, because all share one set of letters.

An SVG file contains the outline of every letter, so that it looks the same where the font is not
installed. On a page with dozens of figures that is most of the bytes; here each outline is stored
once.
"""

from __future__ import annotations

import re
from html import escape

_AROUND = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
# Styles that the page's style sheet already has.
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_LETTER = re.compile(r'<path id="([A-Z][\w-]*)" ([^>]*)/>')
_GROUP = re.compile(r'<g id="[^"]*"')  # nothing refers to a group
_NAMED = re.compile(r'(\bid="|href="#|url\(#)(?![A-Z])')
# Coordinates, in points: no screen shows a hundredth of a point. Scales are left alone.
_PLACE = re.compile(r'\b(?:d|x|y)="[^"]*"|translate\([^)]*\)')
_DECIMALS = re.compile(r"(\.\d\d)\d+")
_EMPTY = re.compile(r"<defs>\s*</defs>|(?<=>)\s+(?=<)")


class Pictures:
    """The figures of one page, and the letters on them.

    Attributes
    ----------
    letters : dict of str to str
        Id of an outline to its attributes.
    """

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def add(self, svg: str, name: str, alternative: str) -> str:
        """Return the markup of a figure.

        Parameters
        ----------
        svg : str
            As matplotlib writes it.
        name : str
            Unique on the page: prefix of the figure's ids.
        alternative : str
            Text that is read to readers who cannot see the figure.
        """
        text = _STYLE.sub("", _AROUND.sub("", svg))
        self.letters.update(_LETTER.findall(text))
        text = _NAMED.sub(rf"\g<1>{name}-", _GROUP.sub("<g", _LETTER.sub("", text)))
        text = _PLACE.sub(lambda found: _DECIMALS.sub(r"\1", found[0]), text)
        text = _EMPTY.sub("", _EMPTY.sub("", " ".join(text.split())))
        size = re.search(r'viewBox="[^"]*"', text)
        said = f'role="img" aria-label="{escape(alternative)}"'
        head = f"<svg {size[0] if size else ''} {said}>"
        return head + re.sub(r"^\s*<svg[^>]*>", "", text).replace("xlink:href", "href")

    def sheet(self) -> str:
        """Return the letters, to be put on the page once."""
        paths = "".join(f'<path id="{name}" {given}/>' for name, given in self.letters.items())
        return f'<svg class="letters" aria-hidden="true"><defs>{paths}</defs></svg>'
