"""What a replay is asked to do, checked before any file is opened and anything is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from datasets.formats.times import TICKS_A_SECOND
from operators.aggregation.functions import COUNTS, TEXT, function_code
from operators.aggregation.plan import KEYS_LIMIT, make_plan
from operators.contract import UsageError

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


@dataclass(frozen=True)
class Request:
    """A checked replay of an aggregate.

    Attributes
    ----------
    variant : str
        Id inside the family ``aggregation``.
    inputs : tuple of Path
        One physical stream each, in the order of their numbers.
    time, key, value, text : str or None
        Names of columns. `value` and `text` are None where the function does not read them.
    function : str
    window_size, window_advance : int
        In ticks of the input's time.
    time_unit : str or None
        s, ms or us for calendar times; None where times are integers of the files' own unit.
    decimals : int or None
        Digits after the point that values are rounded to; None keeps all of them.
    max_keys : int or None
    update_threads : int
        For variants that have such threads.
    output : Path
    rejected : Path or None
        Where rows that cannot be used are set aside; None makes the first of them an error.
    """

    variant: str
    inputs: tuple[Path, ...]
    time: str
    key: str | None
    value: str | None
    text: str | None
    function: str
    window_size: int
    window_advance: int
    time_unit: str | None
    decimals: int | None
    max_keys: int | None
    update_threads: int
    output: Path
    rejected: Path | None


def make_request(
    variant: str,
    inputs: Sequence[str | Path],
    output: str | Path,
    *,
    time: str,
    function: str,
    window_size: str,
    window_advance: str,
    key: str | None = None,
    value: str | None = None,
    text: str | None = None,
    time_unit: str | None = None,
    decimals: int | None = None,
    max_keys: int | None = None,
    update_threads: int = 2,
    rejected: str | Path | None = None,
    overwrite: bool = False,
) -> Request:
    """Return a checked request.

    Parameters
    ----------
    window_size, window_advance : str
        Ticks, or with `time_unit` also 30s, 5m, 12h, 250ms.
    overwrite : bool
        Whether `output` and `rejected` may exist.

    Other parameters are the fields of `Request`.

    Raises
    ------
    UsageError
        One line: what was received, the limit, the remedy.
    """
    function_code(function)
    value, text = _used_columns(function, value, text)
    if time_unit is not None and time_unit not in TICKS_A_SECOND:
        raise UsageError(f"unknown time unit {time_unit!r}; there are: {', '.join(TICKS_A_SECOND)}")
    size = ticks("--window-size", window_size, time_unit)
    advance = ticks("--window-advance", window_advance, time_unit)
    make_plan(function, size, advance, keys=1)
    if decimals is not None and not 0 <= decimals <= 18:
        raise UsageError(f"--decimals must be between 0 and 18, received {decimals}")
    if max_keys is not None and not 1 <= max_keys <= KEYS_LIMIT:
        raise UsageError(f"--max-keys must be between 1 and {KEYS_LIMIT}, received {max_keys}")
    if update_threads < 1:
        raise UsageError(f"--update-threads must be at least 1, received {update_threads}")
    files = tuple(_checked_input(Path(one)) for one in inputs)
    if not files:
        raise UsageError("there is no input; give one file a physical stream with --input")
    output = _checked_output("--output", Path(output), (".parquet",), files, overwrite)
    if rejected is not None:
        rejected = _checked_output("--rejected", Path(rejected), (".csv",), files, overwrite)
    return Request(
        variant, files, time, key, value, text, function, size, advance, time_unit, decimals,
        max_keys, update_threads, output, rejected,
    )  # fmt: skip


def _used_columns(
    function: str, value: str | None, text: str | None
) -> tuple[str | None, str | None]:
    """Return the columns that the function reads; a count reads neither."""
    if value is not None and text is not None:
        raise UsageError("--value and --text were both given; a function reads one of them")
    if function in TEXT:
        if text is None:
            raise UsageError(f"function {function} reads texts; name their column with --text")
        return None, text
    if function in COUNTS:
        return None, None
    if function == "first" and text is not None:
        return None, text
    if value is None:
        also = " or --text" if function == "first" else ""
        raise UsageError(f"function {function} reads values; name their column with --value{also}")
    return value, None


def ticks(option: str, given: str, time_unit: str | None) -> int:
    """Return the length of a window in ticks.

    Parameters
    ----------
    option : str
        For messages.
    given : str
        A whole number of ticks, or, where `time_unit` says what a tick is, a number with a unit.
    time_unit : str or None

    Raises
    ------
    UsageError
        When it is neither, or no whole number of ticks.

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


def _checked_input(path: Path) -> Path:
    if not path.name.lower().endswith(ENDINGS):
        raise UsageError(
            f"{path} is not named as one of {', '.join(ENDINGS)}; give such a file, or rename it"
        )
    if not path.exists():
        raise UsageError(f"{path} does not exist; give the path of a file")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name its files, one a physical stream")
    return path


def _checked_output(
    option: str, path: Path, endings: tuple[str, ...], inputs: Sequence[Path], overwrite: bool
) -> Path:
    if not path.name.lower().endswith(endings):
        raise UsageError(
            f"{option} {path}: the file is written as {endings[0][1:]}; give a name that ends in"
            f" {endings[0]}"
        )
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")
    if path.exists():
        if any(os.path.samefile(path, one) for one in inputs):
            raise UsageError(f"{option} {path} is also an input; choose another name")
        if not overwrite:
            raise UsageError(f"{option} {path} exists; choose another name, or give --overwrite")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{option} {path}: folder {path.parent} cannot be written; choose another")
    return path
