"""Remarks of a replay on stderr about files that are valid, but probably not as intended."""

from __future__ import annotations

import sys

from experiments.replay import stages


def say(remark: str | None) -> None:
    """Print a remark, if there is one, on stderr, as one line."""
    if remark:
        stages.current().clear()
        print(f"millrace: {' '.join(remark.split())}", file=sys.stderr)
