"""``python -m operators.check``: the process that ``millrace check`` starts, without compilation.

The exit status is 0 if nothing was found, 1 for a failure, and 2 for an invalid request.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

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
        # The reader of the output has closed the pipe; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="millrace check")
    add_arguments(parser)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--replace", metavar="FILE", help="run these texts of modules instead")
    parser.add_argument("--few-orders", action="store_true", help="races and old stores alone")
    parser.add_argument("--more-orders", action="store_true", help="the same, ten times as long")
    parser.add_argument("--share", action="store_true", help="no more than the tests have time for")
    return parser


def _run(options: argparse.Namespace) -> int:
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        raise UsageError("the proving ground runs interpreted: set NUMBA_DISABLE_JIT=1")
    if options.replace is not None:
        from operators.check.mutants import replace_modules

        replace_modules(json.loads(Path(options.replace).read_text("utf-8")))
    if options.mutant is not None:
        from operators.check.families import mutant_named
        from operators.check.mutants import apply

        # Before anything imports a structure.
        apply(mutant_named(options.mutant))
    from operators.check import command, endless

    endless.watch()
    return command.run(options)


if __name__ == "__main__":
    sys.exit(main())
