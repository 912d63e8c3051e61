"""Shared parts of the forms of ``millrace replay``: options, and the final message."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from experiments.replay import stages
from operators.running.outputs import claimed

TIME_UNITS = ("s", "ms", "us")


class Replayed(NamedTuple):
    """The result of a replay: tuples processed, rows written and rows set aside, in files."""

    tuples: int
    rows: int
    rejected: int


def add_time(group: Any, default: str | None = None) -> None:
    """Add the options that name the column of times, and the unit of times."""
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
    """Add the option for the unit in which calendar times are counted."""
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


def run(
    replay: Callable[[Any], Replayed],
    request: Any,
    as_json: bool,
    rows: str = "rows",
    began: float | None = None,
) -> int:
    """Run a replay and report on stderr, or on stdout as JSON; return the exit status.

    Parameters
    ----------
    replay : callable
        Runs a request; raises ``RunFailed`` when a thread failed.
    request : Request
        Request of the family.
    as_json : bool
    rows : str
        The name of the output's rows, for the report.
    began : float, optional
        When the command began, by ``time.perf_counter``; by default now.
    """
    # Loads the compiler; mistakes in the options are reported before that.
    from operators.running.run_threads import RunFailed

    clock = stages.begin(began)
    try:
        with ExitStack() as outputs:
            outputs.callback(clock.clear)
            for path in _written(request):
                outputs.enter_context(claimed(path))
            done = replay(request)
    except RunFailed as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 1
    if as_json:
        told = {"output": str(request.output), "seconds": clock.seconds()}
        print(json.dumps({**done._asdict(), **told}))
        return 0
    told = f"{done.rows} {rows} from {done.tuples} tuples in {request.output}"
    if request.rejected is not None:
        told += f", {done.rejected} rows set aside in {request.rejected}"
    # One line, even if a name has several.
    print(f"millrace: {' '.join(told.split())}", file=sys.stderr)
    return 0


def _written(request: Any) -> list[Path]:
    """Return the files that a request writes; a query may have several outputs."""
    outputs = [*request.outputs.values()] if hasattr(request, "outputs") else [request.output]
    return [each for each in (*outputs, request.rejected) if each is not None]
