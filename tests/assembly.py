"""Machine code as text: the loops in it."""

from __future__ import annotations

import re

# A comparison of many lanes that leaves the results in all lanes.
PACKED = re.compile(r"\s(v?pcmp\w+\s.*[xyz]mm\d|cm(gt|ge|hi|hs)\s+v\d)")


def loops_of(text: str) -> list[list[str]]:
    """Return the lines of each innermost loop, from the label to the backward jump."""
    lines, found = text.splitlines(), []
    labels = {line.split(":")[0]: at for at, line in enumerate(lines) if line.startswith(".L")}
    for at, line in enumerate(lines):
        jump = re.match(r"\s+(?:j\w+|b(?:\.\w+)?)\s+(\.L\w+)", line)
        if jump and labels.get(jump[1], at) < at:
            found.append((labels[jump[1]], at))
    inner = [a for a in found if not any(a[0] <= b[0] and b[1] <= a[1] and a != b for b in found)]
    return [lines[begin:end] for begin, end in inner]
