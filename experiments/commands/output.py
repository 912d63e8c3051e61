"""How commands print: aligned columns for people, JSON for programs, a live line on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def print_json(content: Any) -> None:
    """Print `content` on stdout as JSON; a number that JSON has no form for is an error."""
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def print_columns(rows: Sequence[Sequence[Any]], indent: str = "  ") -> None:
    """Print rows of one length with their columns aligned; the last one is not padded."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        print((indent + "  ".join([*padded, row[-1]])).rstrip())


class LiveLine:
    """One line on stderr that is written over and over; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._width = 0

    def say(self, text: str) -> None:
        """Replace the line."""
        if self._live:
            print(f"\r{text.ljust(self._width)}", end="", file=sys.stderr, flush=True)
            self._width = len(text)

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
            self._width = 0
