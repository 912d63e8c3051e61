"""What a job of the workflow prints, kept in a file beside the results as well as shown.

Live lines, which rewrite themselves with a carriage return, are shown only. A user's error ends
the job as one line without a traceback; any other exception keeps its traceback in the file.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from operators.contract import UsageError
from operators.running.interrupts import interrupts_kept


class _Copied:
    """A text stream that is also written to a file; anything else is the stream's own."""

    def __init__(self, shown: TextIO, kept: TextIO) -> None:
        self._shown = shown
        self._kept = kept

    def write(self, text: str) -> int:
        if "\r" not in text:
            self._kept.write(text)
            self._kept.flush()
        return self._shown.write(text)

    def __getattr__(self, name: str):
        return getattr(self._shown, name)


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turn a user's error inside the context into one line.

    Raises
    ------
    SystemExit
        With status 2 after a ``UsageError``, whose message was printed as ``millrace: ...``; with
        status 130 after an interrupt.
    """
    try:
        with interrupts_kept():
            yield
    except UsageError as cause:
        print(f"millrace: {cause}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("millrace: interrupted; what was finished is kept", file=sys.stderr)
        raise SystemExit(130) from None


@contextlib.contextmanager
def kept_log(path: str | Path) -> Iterator[None]:
    """Copy what is printed inside the context to `path`.

    Parameters
    ----------
    path : path
        The log; its folder is made, and an older log is replaced.

    Raises
    ------
    SystemExit
        As ``plain_errors`` does.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(path, "w", encoding="utf-8") as kept,
        contextlib.redirect_stdout(_Copied(sys.stdout, kept)),
        contextlib.redirect_stderr(_Copied(sys.stderr, kept)),
        plain_errors(),
    ):
        try:
            yield
        except (UsageError, KeyboardInterrupt):
            raise
        except Exception:
            # Python shows it when the job ends, which the file would miss.
            kept.write(traceback.format_exc())
            raise
