"""What a replay is asked to do, checked before any file is opened and anything is compiled."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from datasets.formats import numbers
from experiments.replay.files import checked_input, checked_output, ticks
from operators import registry
from operators.contract import TIMESTAMP_LIMIT, UsageError, Variant
from operators.index.family import MOST_WINDOW

# What a variant may take, by the name of its parameter.
OPTIONS = ("merge_ratio", "insertion_depth", "chain_length")


class HalfWidth(NamedTuple):
    """A half width as it was given: mantissa / 10**scale, `scale` 0 at least."""

    text: str
    mantissa: int
    scale: int


@dataclass(frozen=True)
class Request:
    """A checked replay of a join.

    Attributes
    ----------
    variant : Variant
    parameters : dict
        The variant's, all of them.
    inputs : tuple of Path
        R and S; of a self join R alone.
    keys : tuple of str
        The column of keys in each.
    time : str
        The column of times in all.
    time_unit : str or None
        s, ms or us for calendar times; None where times are integers of the files' own unit.
    half_width : HalfWidth
    window_count : int or None
        Tuples of a window; None of a window of time.
    window_ticks : int
        Ticks of a window; 0 of a window of tuples.
    output : Path
    rejected : Path or None
        Where rows that cannot be used are set aside; None makes the first of them an error.
    """

    variant: Variant
    parameters: dict[str, Any]
    inputs: tuple[Path, ...]
    keys: tuple[str, ...]
    time: str
    time_unit: str | None
    half_width: HalfWidth
    window_count: int | None
    window_ticks: int
    output: Path
    rejected: Path | None


def make_request(variant_id: str, options: argparse.Namespace) -> Request:
    """Return the request of some options.

    Raises
    ------
    UsageError
        One line: what was received, the limit, the remedy.
    """
    variant = _variant(variant_id)
    parameters = _parameters(variant, options)
    _check_threads(variant, options.threads)
    half_width = _half_width(options.half_width)
    window_ticks = _window(options)
    inputs = _inputs(options)
    output = checked_output(
        "--output", Path(options.output), (".parquet",), inputs, options.overwrite
    )
    rejected = None
    if options.rejected is not None:
        rejected = checked_output(
            "--rejected", Path(options.rejected), (".csv",), inputs, options.overwrite
        )
    return Request(
        variant=variant,
        parameters=parameters,
        inputs=inputs,
        keys=(options.key, options.s_key or options.key)[: len(inputs)],
        time=options.time,
        time_unit=options.time_unit,
        half_width=half_width,
        window_count=options.window_count,
        window_ticks=window_ticks,
        output=output,
        rejected=rejected,
    )


def _variant(variant_id: str) -> Variant:
    variant = registry.variant("join", variant_id)
    if variant.operations.process is None:
        known = [each.id for each in registry.variants("join") if each.operations.process]
        raise UsageError(
            f"{variant_id} is a join over several threads, which a replay is not built for yet;"
            f" there are: {', '.join(known)}"
        )
    return variant


def _parameters(variant: Variant, options: argparse.Namespace) -> dict[str, Any]:
    """Return the variant's parameters: those given, checked, and the defaults."""
    given = {name: value for name in OPTIONS if (value := getattr(options, name)) is not None}
    own = [each.name for each in variant.parameters if each.name in OPTIONS]
    for name in given:
        if name not in own:
            takes = " and ".join(map(_option, own)) or f"none of {', '.join(map(_option, OPTIONS))}"
            raise UsageError(f"{variant.id} does not take {_option(name)}; it takes {takes}")
    return variant.settings(given)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_threads(variant: Variant, threads: int) -> None:
    if threads < 1:
        raise UsageError(f"--threads must be at least 1, received {threads}")
    if threads > 1:
        raise UsageError(
            f"{variant.id} has one thread, and joins over several threads are not built yet;"
            f" leave --threads {threads} out"
        )


def _half_width(given: str) -> HalfWidth:
    parsed = numbers.parse_decimals(pa.array([given], pa.string()))
    mantissa, scale, state = int(parsed.mantissa[0]), int(parsed.scale[0]), int(parsed.state[0])
    if state == numbers.TOO_WIDE:
        raise UsageError(f"--half-width {given:.60} does not fit 64 bits; give a smaller one")
    if state != numbers.FINE or mantissa < 0:
        raise UsageError(f"--half-width must be a number, 0 at least, received {given:.60}")
    # 1e3 has a scale of -3: the digits are written out.
    return HalfWidth(given, mantissa * 10 ** max(-scale, 0), max(scale, 0))


def _window(options: argparse.Namespace) -> int:
    """Return the ticks of a window of time, 0 of one of tuples; either is checked."""
    count, given = options.window_count, options.window_time
    if count is not None:
        if not 1 <= count <= MOST_WINDOW:
            raise UsageError(
                f"--window-count must be between 1 and {MOST_WINDOW} tuples, received {count}"
            )
        return 0
    span = ticks("--window-time", given, options.time_unit)
    if not 1 <= span < TIMESTAMP_LIMIT:
        raise UsageError(f"--window-time must be between 1 and 2**62 - 1 ticks, received {given}")
    return span


def _inputs(options: argparse.Namespace) -> tuple[Path, ...]:
    """Return the files of R and S, or of R alone."""
    if options.self_join:
        for name in ("s", "s_key"):
            if getattr(options, name) is not None:
                raise UsageError(
                    f"--self joins R with itself and has no S; leave {_option(name)} out"
                )
        return (checked_input(Path(options.r)),)
    if options.s is None:
        raise UsageError("a join has two streams; give the other one with --s FILE, or --self")
    return checked_input(Path(options.r)), checked_input(Path(options.s))
