"""The line below a picture: machine, cores, number of processes, and the noise floor.

All other statements of a figure are in the head of the CSV file, and on the page below the figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from figures import plot, style
from figures.load import COUNTED, FLOORS

# Words in processor names that say nothing below a picture.
_IDLE_WORDS = re.compile(r"\((?:R|TM)\)| (?:Processor|CPU)\b", re.IGNORECASE)


def line_of(told: Sequence[str]) -> str:
    """Return the line below a picture of the narrow width; a long processor name is shortened.

    Parameters
    ----------
    told : sequence of str
        Result of ``figures.load.footer_of``, which starts with the machine.
    """
    name, _, cores = told[0].partition(", ")
    found = [cores] if cores else []
    found += [each.partition(" of ")[0] for each in told if each.startswith(COUNTED)][:1]
    found += [_floor(each) for each in told if each.startswith(FLOORS)][:1]
    words = _IDLE_WORDS.sub("", name).split()
    while words:
        line = plot.as_one([", ".join([" ".join(words), *found[:1]]), *found[1:]])
        if style.width_of(line, style.SMALL) <= plot.room_of(style.NARROW):
            return line
        words.pop()
    return plot.as_one(found)


def _floor(told: str) -> str:
    """Return the noise floor in few words: the first one that is stated.

    Examples
    --------
    >>> _floor(f"{FLOORS}throughput 12 %, on grey 40 %; latency 2.1 times")
    'equal runs within 12 %'
    >>> _floor(f"{FLOORS}latency too few to say")
    'too few equal runs'
    >>> _floor(f"{FLOORS}throughput too few to say, on grey 40 %")
    'too few equal runs'
    """
    first = told.removeprefix(FLOORS).partition("; ")[0].partition(", on grey")[0]
    size = re.search(r"[\d.]+ (?:%|times)", first)
    return f"equal runs within {size[0]}" if size else "too few equal runs"
