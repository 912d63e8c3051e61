"""``python -m operators.check``: what ``millrace check`` starts, as a process without compilation.

0: nothing was found, 1: a failure was found, 2: the request cannot be met.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from operators.check.arguments import add_arguments
from operators.contract import UsageError

FOUND, BAD_REQUEST, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Check, and return the exit status."""
    try:
        return _run(_parser().parse_args(argv))
    except UsageError as error:
        print(f"millrace: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_REQUEST
    except KeyboardInterrupt:
        print("millrace: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="millrace check")
    add_arguments(parser)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--share", action="store_true", help="no more than the tests have time for")
    return parser


def _run(options: argparse.Namespace) -> int:
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        raise UsageError("the proving ground runs interpreted: set NUMBA_DISABLE_JIT=1")
    if options.mutant is not None:
        from operators.check.families import mutant_named
        from operators.check.mutants import apply

        # Before any structure is imported.
        apply(mutant_named(options.mutant))
    from operators.check import command

    return command.run(options)


if __name__ == "__main__":
    sys.exit(main())
