"""The findings of a part of the comparison, and how they are printed."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# The number of characters shown of a difference.
LETTERS = 60


class Difference(NamedTuple):
    """One difference: location and description."""

    where: str
    what: str


class Finding(NamedTuple):
    """A sentence on the compared things, and the differences."""

    summary: str
    differences: Sequence[Difference] = ()


def shown(before: str, after: str) -> str:
    """Return two texts from shortly before the first difference."""
    at = len(os.path.commonprefix([before, after]))
    begin = max(at - LETTERS // 3, 0)
    parts = (repr(text[begin : begin + LETTERS]) for text in (before, after))
    return " -> ".join(parts)


def names(entry: str, where: str) -> bool:
    """Return whether an entry of a list of expected differences names the one at `where`.

    The entry must occur in `where` as a whole: ``a.py:f`` matches ``a.py:f``, but not
    ``a.py:free``; ``a.py:Class`` also matches its methods, ``a.py`` all of the file, and
    ``folder/`` all below it.
    """
    ends = "" if entry.endswith("/") else r"(?![\w/-])"
    return re.search(rf"(?<![\w./-]){re.escape(entry)}{ends}", where) is not None


def show(findings: Iterable[Finding], expected: Sequence[str] = ()) -> int:
    """Print findings as they come, and return how many differences no entry of `expected` names."""
    unexpected = 0
    used: set[str] = set()
    for finding in findings:
        print(finding.summary)
        for difference in finding.differences:
            by = [entry for entry in expected if names(entry, difference.where)]
            used.update(by)
            unexpected += not by
            mark = "  (expected) " if by else "  "
            print(f"{mark}{difference.where}: {difference.what}", flush=True)
    for entry in expected:
        if entry not in used:
            print(f"  nothing differs at {entry}, which is expected to")
    print(f"{unexpected} differences" + (" that are not expected" if expected else ""), flush=True)
    return unexpected
