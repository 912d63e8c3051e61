"""The printed output of a workflow job, shown and also kept in a file next to the results.

Live lines, which rewrite themselves with a carriage return, are only shown. An error ends the job
as one line without a traceback, a user's or any other; the file has the traceback of the latter.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from operators.contract import UsageError
from operators.running.interrupts import how_it_ended, interrupts_kept


class _Copied:
    """A text stream that is also written to a file; other attributes are the stream's."""

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
def plain_errors(log: Path | None = None) -> Iterator[None]:
    """Turn an error inside the context into one line.

    Parameters
    ----------
    log : Path, optional
        File that holds the traceback of an unforeseen error.

    Raises
    ------
    SystemExit
        With status 2 after a ``UsageError``, whose message was printed as ``millrace: ...``; with
        128 plus the number of the signal after Ctrl-C, SIGTERM or SIGHUP; with 1 after any other
        error, see `experiments.faults`.
    """
    try:
        with interrupts_kept():
            yield
    except UsageError as cause:
        print(f"millrace: {cause}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt as error:
        said, status = how_it_ended(error)
        print(f"millrace: {said}; what was finished is kept", file=sys.stderr)
        raise SystemExit(status) from None
    except Exception as error:
        # Rarely needed.
        from experiments import faults

        known = faults.of_the_system(error)
        if known is None and faults.shown():
            raise
        print(f"millrace: {known or faults.of_ours(error, log)}", file=sys.stderr)
        raise SystemExit(1) from None


@contextlib.contextmanager
def kept_log(path: str | Path) -> Iterator[None]:
    """Copy the output printed inside the context to `path`.

    Parameters
    ----------
    path : path
        The log; its folder is created, and an older log is replaced.

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
        plain_errors(path),
    ):
        try:
            yield
        except (UsageError, KeyboardInterrupt):
            raise
        except Exception:
            # Only one line of it is shown.
            kept.write(traceback.format_exc())
            raise
