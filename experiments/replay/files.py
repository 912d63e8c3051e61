"""The files of a replay: names, lengths of time, and outputs that appear atomically."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from datasets.formats.rejected import Rejected, write_rejected
from datasets.formats.times import TICKS_A_SECOND
from experiments.replay.request import Request
from operators.contract import UsageError
from operators.running.outputs import appearing, led_to

ENDINGS = (".csv", ".csv.gz", ".parquet")
MICROSECONDS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Units of a window option such as 30s."""


def schema_of(path: Path) -> pa.Schema:
    """Return the columns of a Parquet file, whatever characters the file's name has."""
    with open(path, "rb") as file:
        return pq.read_schema(file)


def ticks(option: str, given: str, time_unit: str | None) -> int:
    """Return the length of a window in ticks.

    Parameters
    ----------
    option : str
        For messages.
    given : str
        A whole number of ticks, or, if `time_unit` defines the tick, a number with a unit.
    time_unit : str or None

    Raises
    ------
    UsageError
        When it is neither, or not a whole number of ticks.

    Examples
    --------
    >>> ticks("--window-size", "5m", "s")
    300
    """
    if re.fullmatch(r"[+-]?[0-9]+", given):
        return int(given)
    found = re.fullmatch(r"([0-9]+) ?([a-z]+)", given)
    if found is None or found.group(2) not in MICROSECONDS:
        units = ", ".join(MICROSECONDS)
        raise UsageError(
            f"{option} {given!r} is no length of time; give a whole number of the files' own time"
            f" units, or with --time-unit a number and one of {units}, such as 30s"
        )
    if time_unit is None:
        raise UsageError(
            f"{option} {given} has a unit and the files' times have none; give a whole number of"
            " the files' own time units, or --time-unit s|ms|us for times like 2014-06-23T10:00:00Z"
        )
    length = int(found.group(1)) * MICROSECONDS[found.group(2)]
    count, remainder = divmod(length, 1_000_000 // TICKS_A_SECOND[time_unit])
    if remainder:
        raise UsageError(
            f"{option} {given} is no whole number of {time_unit}; give a finer --time-unit"
        )
    return count


def checked_input(path: Path) -> Path:
    """Return an input file.

    Raises
    ------
    UsageError
        When the name has no known ending, or there is no such file.
    """
    if not path.name.lower().endswith(ENDINGS):
        raise UsageError(
            f"{path} is not named as one of {', '.join(ENDINGS)}; give such a file, or rename it"
        )
    if not path.exists():
        raise UsageError(f"{path} does not exist; give the path of a file")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name its files, one a physical stream")
    return path


def checked_outputs(
    output: str, rejected: str | None, inputs: Sequence[Path], overwrite: bool
) -> tuple[Path, Path | None]:
    """Return the files for the output and for rows set aside, see ``checked_output``."""
    written = checked_output("--output", Path(output), (".parquet",), inputs, overwrite)
    aside = None
    if rejected is not None:
        aside = checked_output("--rejected", Path(rejected), (".csv",), inputs, overwrite)
    return written, aside


def checked_output(
    option: str, path: Path, endings: tuple[str, ...], inputs: Sequence[Path], overwrite: bool
) -> Path:
    """Return an output file that may be written.

    Parameters
    ----------
    option : str
        For messages.
    path : Path
    endings : tuple of str
        Allowed endings of the name, the usual one first.
    inputs : sequence of Path
        The output must be none of them.
    overwrite : bool
        Whether the output may exist.

    Raises
    ------
    UsageError
        When the output may not be written; the message says why.
    """
    if not path.name.lower().endswith(endings):
        raise UsageError(
            f"{option} {path}: the file is written as {endings[0][1:]}; give a name that ends in"
            f" {endings[0]}"
        )
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path} is a device or a pipe; give the name of a file")
    # If it is a link, the target is written.
    if led_to(path).is_symlink():
        raise UsageError(f"{option} {path} is a link that leads back to itself; remove it")
    folder = led_to(path).parent
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}; make it first")
    if path.exists():
        if any(os.path.samefile(path, one) for one in inputs):
            raise UsageError(f"{option} {path} is also an input; choose another name")
        if not overwrite:
            raise UsageError(f"{option} {path} exists; choose another name, or give --overwrite")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option} {path}: folder {folder} cannot be written; choose another")
    return path


@contextmanager
def outputs_appearing(request: Request, rejected: Sequence[Rejected]) -> Iterator[Path]:
    """Write the rows set aside, if requested, and yield a hidden name for the output.

    After an exception neither file exists, see ``appearing``.

    Parameters
    ----------
    request : Request
    rejected : sequence of Rejected
        By the number of the input, then line.
    """
    with ExitStack() as files:
        # Exited last, so that the output appears once the rows set aside are in their file.
        output = files.enter_context(appearing(request.output))
        if request.rejected is not None:
            aside = files.enter_context(appearing(request.rejected))
            write_rejected(aside, rejected, list(map(str, request.inputs)), line_end="\r\n")
        yield output
