"""What the forms of ``millrace replay`` have in common: options, and what is said in the end."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

TIME_UNITS = ("s", "ms", "us")


class Replayed(NamedTuple):
    """What a replay did: tuples processed, rows written and rows set aside, in files."""

    tuples: int
    rows: int
    rejected: int


def add_time(group: Any, default: str | None = None) -> None:
    """Add the options that name the column of times, and say what it counts."""
    usual = "" if default is None else f" ({default})"
    group.add_argument(
        "--time",
        default=default,
        required=default is None,
        metavar="COLUMN",
        help=f"whole numbers, ascending{usual}",
    )
    add_time_unit(group)


def add_time_unit(group: Any) -> None:
    """Add the option that says what calendar times are counted in."""
    group.add_argument(
        "--time-unit",
        choices=TIME_UNITS,
        help="for times like 2014-06-23T10:00:00Z (no zone is UTC): the unit to count in",
    )


def add_rejected(group: Any) -> None:
    """Add the option that sets rows aside."""
    group.add_argument(
        "--rejected", metavar="FILE.csv", help="set rows that cannot be used aside here"
    )


def add_output(parser: argparse.ArgumentParser, columns: str) -> Any:
    """Add the options of the output, which has these columns, and return their group."""
    group = parser.add_argument_group("output")
    group.add_argument("--output", required=True, metavar="OUT.parquet", help=columns)
    group.add_argument("--overwrite", action="store_true", help="replace files that exist")
    return group


def run(replay: Callable[[Any], Replayed], request: Any, as_json: bool, rows: str = "rows") -> int:
    """Run a replay and say on stderr what was done, or on stdout as JSON; return the exit status.

    Parameters
    ----------
    replay : callable
        Runs a request; raises ``RunFailed`` when a thread failed.
    request : Request
        Of its family.
    as_json : bool
    rows : str
        What a row of the output is.
    """
    # Loads the compiler, which a slip in the options need not wait for.
    from operators.running.crew import RunFailed

    try:
        done = replay(request)
    except RunFailed as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps({**done._asdict(), "output": str(request.output)}))
        return 0
    told = f"{done.rows} {rows} from {done.tuples} tuples in {request.output}"
    if request.rejected is not None:
        told += f", {done.rejected} rows set aside in {request.rejected}"
    print(f"millrace: {told}", file=sys.stderr)
    return 0
