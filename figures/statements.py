"""A statement of a paper in few words: the comparison, the ratio, and the number of the paper.

The page, the forest plot and its table use the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.judging.badges import DOWNWARDS, shortened, with_ends
from experiments.judging.claim_types import LOST, TIMES

# At most this many names a side, and characters; beyond them the comparison omits the names.
NAMED, LONGEST = 2, 100
# Below ratios with brackets, which a reader may take for the noise of the machine.
BRACKETS = (
    "Brackets are the interval or the range over the processes of this run. They do not say how far"
    " two equal runs lie apart on this machine, its noise."
)


def part_words(claim: Mapping[str, Any]) -> str:
    """Return the number of a statement and its subject, or else the quote."""
    return shown_by(claim) or f"“{claim['quote']}”"


def shown_by(claim: Mapping[str, Any]) -> str | None:
    """Return the number of a statement and its subject; None where there is no number.

    For example "throughput, T-Gate over skip list: 2.2 times [1.8, 2.7], the paper 1.5". Where
    lower is better the ratio stays below 1, and the paper's number is put on the same scale.
    """
    if claim["ratio"] is None:
        return None
    signs = claim["pairs"]
    pairs = f", {signs['for']} of {signs['of']} pairs for it" if signs["of"] > 1 else ""
    number, ends = ratio_of(claim)
    told = f"{compared(claim)}: {number} times{ends}{pairs}"
    there = paper_ratio(claim)
    return told if there is None else f"{told}, the paper {shortened(there)}"


def ratio_of(claim: Mapping[str, Any]) -> tuple[str, str]:
    """Return a statement's ratio, and its ends in brackets with their kind; empty without ends."""
    number, ends = with_ends(claim["ratio"], *(claim["interval"] or (None, None)))
    kind = claim["interval_kind"]
    return number, f"{ends} ({kind})" if ends and kind else ends


def paper_ratio(claim: Mapping[str, Any]) -> float | None:
    """Return the number of the paper on the scale of the measured ratio; None without one.

    "Ten times lower" is a ratio of 0.1.
    """
    if claim["unit"] != TIMES or claim["value"] in (None, LOST):
        return None
    return 1.0 / claim["value"] if claim["wanted"] in DOWNWARDS else float(claim["value"])


def compared(claim: Mapping[str, Any]) -> str:
    """Return the comparison behind a statement: the quantity in words, and the two sides."""
    sides = sides_of(claim)
    words = claim["compared"]
    told = " over ".join(sides)
    if len(sides) < 2 or len(told) > LONGEST:
        return words
    return told if told.startswith(words) else f"{words}, {told}"


def sides_of(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the two sides of a comparison; empty where there are too many."""
    sides = []
    for side in ("above", "below"):
        words = f"{claim['compared']} in "
        names = [part[side].removeprefix(words) for part in claim["parts"] if part["ratio"]]
        names = list(dict.fromkeys(names))
        sides.append(" or ".join(names) if len(names) <= NAMED else "")
    return tuple(sides) if all(sides) else ()


def label_of(claim: Mapping[str, Any]) -> str:
    """Return the comparison and its setting, or the quote where the sides have no short names.

    For example "throughput, T-Gate over skip list, 20 inputs", or "..., 12 pairs".
    """
    words = compared(claim)
    pairs = [part for part in claim["parts"] if part["ratio"]]
    if not pairs or words == claim["compared"]:
        return f"“{claim['quote']}”"
    # Behind a colon the setting of a pair repeats the two sides.
    setting = pairs[0]["where"].partition(": ")[0] if len(pairs) == 1 else f"{len(pairs)} pairs"
    return f"{words}, {setting}" if setting else words


def mentions(claim: Mapping[str, Any], name: str) -> bool:
    """Return whether a statement is about a design: `name` is in the quote or on a side.

    A name inside a longer one does not count: MQ is not in MQLF.
    """
    texts = [claim["quote"], claim["compared"]]
    texts += [part[side] for part in claim["parts"] for side in ("above", "below")]
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    return any(word.search(text) for text in texts)


def designs_of(claim: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of the designs that a statement is about, of those in `names` by id."""
    return tuple(each for each, name in names.items() if mentions(claim, name))


def joined_words(words: Iterable[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> joined_words(["MQ"]), joined_words(["MQ", "MQLF", "WiML"])
    ('MQ', 'MQ, MQLF and WiML')
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
