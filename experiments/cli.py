"""The ``millrace`` command: arguments in, one function call, an exit status.

0 is success, 1 a measurement or check that failed, 2 a request that cannot be met, 130 Ctrl-C.
What goes wrong is one line on stderr that begins with ``millrace:``. With ``--json`` stdout holds
JSON and nothing else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from experiments.commands.arguments import make_parser
from operators.contract import UsageError
from operators.running.interrupts import interrupts_kept

FAILED = 1
BAD_REQUEST = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.
    """
    try:
        with interrupts_kept():
            return _run(argv)
    except UsageError as error:
        return _say(error, BAD_REQUEST)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        return _say(f"{error.strerror or error}{place}", FAILED)
    except MemoryError:
        return _say("out of memory: give less data, or fewer keys and windows", FAILED)


def _say(message: object, status: int) -> int:
    print(f"millrace: {' '.join(str(message).split())}", file=sys.stderr, flush=True)
    return status


def _run(argv: Sequence[str] | None) -> int:
    try:
        options = make_parser().parse_args(argv)
    except SystemExit as end:
        # --help and --version have printed what was asked for.
        return int(end.code or 0)
    status = _command(options.command)(options)
    sys.stdout.flush()
    return status


def _command(name: str):
    """Return the function of a subcommand; its imports take a second, so only its own are made."""
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
    elif name == "plan":
        from experiments.commands.plan import run
    else:
        from experiments.commands.doctor import run
    return run


if __name__ == "__main__":
    sys.exit(main())
