"""Output of commands: aligned columns for people, JSON for programs, a live line on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def print_json(content: Any) -> None:
    """Print `content` on stdout as JSON; a number without a JSON form is an error."""
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def print_columns(rows: Sequence[Sequence[Any]], indent: str = "  ") -> None:
    """Print rows of equal length with aligned columns; the last column is not padded."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        print((indent + "  ".join([*padded, row[-1]])).rstrip())


class LiveLine:
    """One line on stderr that is rewritten in place; silent if stderr is not a terminal."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._width = 0

    def say(self, text: str) -> None:
        """Replace the line."""
        if self._live:
            print(f"\r{text.ljust(self._width)}", end="", file=sys.stderr, flush=True)
            self._width = len(text)

    def clear(self) -> None:
        """Remove the line, so that something else can be written."""
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
            self._width = 0
