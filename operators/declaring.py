"""Tells modules that declare something to Millrace from others of the same name.

Folders elsewhere on Python's path extend Millrace's packages by their names alone, and unrelated
projects use such names too: a user's study may lie in ``experiments/mine/figures.py``. Importing it
to find out would run it.
"""

from __future__ import annotations

import re
from pathlib import Path


def declares(file: Path, name: str) -> bool:
    """Return whether a module's source assigns `name` at top level.

    Parameters
    ----------
    file : Path
        A source file; an unreadable one declares nothing.
    name : str
        ``FAMILY``, ``PAPER`` and so on.
    """
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(rf"^{name}\b *[:=]", text, re.MULTILINE) is not None
