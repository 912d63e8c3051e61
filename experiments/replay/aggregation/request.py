"""The options of a replay, checked before any file is opened and anything is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from datasets.formats.times import TICKS_A_SECOND
from experiments.replay.files import checked_input, checked_outputs, ticks
from operators.aggregation.functions import COUNTS, TEXT, function_code
from operators.aggregation.plan import KEYS_LIMIT, make_plan
from operators.contract import UsageError


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
        Names of columns. `value` and `text` are None if the function does not read them.
    function : str
    window_size, window_advance : int
        In ticks of the input's time.
    time_unit : str or None
        s, ms or us for calendar times; None if times are integers in the files' unit.
    decimals : int or None
        Digits after the point that values are rounded to; None keeps all of them.
    max_keys : int or None
    update_threads : int
        For variants that have such threads.
    output : Path
    rejected : Path or None
        Where unusable rows are set aside; None makes the first of them an error.
    exact : bool
        Whether results are written as decimals of 128 bits.
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
    exact: bool


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
    exact: bool = False,
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
    if exact and (value is None or function == "avg"):
        raise UsageError(
            f"--exact is for sum, min, max and first of values, received --function {function}"
        )
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
    files = tuple(checked_input(Path(one)) for one in inputs)
    if not files:
        raise UsageError("there is no input; give one file a physical stream with --input")
    output, rejected = checked_outputs(output, rejected, files, overwrite)
    return Request(
        variant, files, time, key, value, text, function, size, advance, time_unit, decimals,
        max_keys, update_threads, output, rejected, exact,
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
