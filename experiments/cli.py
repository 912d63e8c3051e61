"""The ``millrace`` command: arguments in, one function call, an exit status.

0 is success, 1 a measurement or check that failed or a fault of ours, 2 a request that cannot be
met, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. An error is one line on stderr that begins with
``millrace:``. With ``--json`` stdout holds JSON and nothing else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from experiments import surroundings
from experiments.commands.arguments import make_parser
from operators.contract import UsageError
from operators.running.interrupts import how_it_ended, interrupts_kept

FAILED = 1
BAD_REQUEST = 2


def start(began: float | None = None) -> int:
    """Run the command as the program of this process, in a clean environment: see `settle`.

    Parameters
    ----------
    began : float, optional
        When the process began, by ``time.perf_counter``; now unless given.
    """
    began = time.perf_counter() if began is None else began
    surroundings.in_utf8()
    try:
        surroundings.settle()
    except UsageError as error:
        return _say(error, BAD_REQUEST)
    return main(began=began)


def main(argv: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run the command and return the exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.
    began : float, optional
        When the command began, by ``time.perf_counter``; now unless given.
    """
    began = time.perf_counter() if began is None else began
    try:
        with interrupts_kept():
            return _run(argv, began)
    except UsageError as error:
        return _say(error, BAD_REQUEST)
    except KeyboardInterrupt as error:
        return _say(*how_it_ended(error))
    except BrokenPipeError:
        # Whoever read our output has enough.
        _forget(sys.stdout)
        return FAILED
    except MemoryError:
        return _say("out of memory: give less data, or fewer keys and windows", FAILED)
    except Exception as error:
        return _unforeseen(error)


def _unforeseen(error: Exception) -> int:
    """Report an error of the system or a mistake of ours, and return status 1."""
    # Imported here, since few runs need it.
    from experiments import faults

    known = faults.of_the_system(error)
    if known is None and faults.shown():
        raise error
    return _say(known or faults.of_ours(error), FAILED)


def _say(message: object, status: int) -> int:
    try:
        print(f"millrace: {' '.join(str(message).split())}", file=sys.stderr, flush=True)
    except OSError:
        _forget(sys.stderr)  # Nobody reads it.
    return status


def _forget(stream: TextIO | None) -> None:
    """Discard output that is still buffered: Python would complain once more at exit."""
    if stream is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _run(argv: Sequence[str] | None, began: float) -> int:
    try:
        options = make_parser().parse_args(argv)
    except SystemExit as end:
        # --help and --version have already printed.
        _flush()
        return int(end.code or 0)
    options.began = began
    status = _command(options.command)(options)
    _flush()
    return status


def _flush() -> None:
    """Flush standard output.

    Raises
    ------
    BrokenPipeError
        When nobody reads it any more.
    UsageError
        When it cannot be written.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _forget(sys.stdout)
        raise UsageError(
            f"standard output cannot be written: {error.strerror}; send it elsewhere"
        ) from None


def _command(name: str):
    """Return the function of a subcommand; imports take a second, so only those needed are made."""
    if name == "list":
        from experiments.commands.listing import run
    elif name == "bench":
        from experiments.commands.bench import run
    elif name == "replay":
        from experiments.commands.replay import run
    elif name == "claims":
        from experiments.commands.claims import run
    elif name == "check":
        from experiments.commands.check import run
    elif name == "compare":
        from experiments.commands.compare import run
    elif name == "export":
        from experiments.commands.export import run
    elif name == "plan":
        from experiments.commands.plan import run
    elif name == "generate":
        from experiments.commands.generate import run
    elif name == "import":
        from experiments.commands.importing import run
    elif name == "cluster":
        from experiments.commands.cluster import run
    elif name == "pack":
        from experiments.commands.pack import run
    else:
        from experiments.commands.doctor import run
    return run


if __name__ == "__main__":
    sys.exit(start())
