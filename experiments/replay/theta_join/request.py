"""The options of a replay, checked before any file is opened and anything is compiled."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments.replay.bands import HalfWidth, checked_decimals, half_width
from experiments.replay.files import checked_input, checked_outputs
from experiments.replay.windows import window_ticks
from operators import registry
from operators.contract import TIMESTAMP_LIMIT, UsageError, Variant
from operators.theta_join import number_predicates
from operators.theta_join.family import (
    MOST_STREAMS,
    MOST_THREADS,
    OPPOSITE,
    OWN,
    Extent,
    Shape,
    State,
    make_extent,
)


class Band(NamedTuple):
    """A column of R, one of S, and the most by which they may differ."""

    r: str
    s: str
    half_width: HalfWidth


@dataclass(frozen=True)
class Request:
    """A checked replay of a theta join.

    Attributes
    ----------
    variant : Variant
    parameters : dict
        The variant's parameters, without the number of threads.
    inputs : tuple of Path
        R's files, then S's: a physical stream each.
    r_streams : int
        How many of the inputs are R's.
    bands : tuple of Band
    time : str
        The column of times in all inputs.
    time_unit : str or None
        s, ms or us for calendar times; None if times are integers in the files' unit.
    extent : Extent
    threads : int
        Requested number of comparing threads; a join of one thread has one.
    shares : int
        Threads among which the tuples of a window are divided.
    output : Path
    rejected : Path or None
        Where unusable rows are set aside; None makes the first of them an error.
    decimals : int or None
        Digits after the point that numbers are rounded to; None keeps all of them.
    """

    variant: Variant
    parameters: dict[str, Any]
    inputs: tuple[Path, ...]
    r_streams: int
    bands: tuple[Band, ...]
    time: str
    time_unit: str | None
    extent: Extent
    threads: int
    shares: int
    output: Path
    rejected: Path | None
    decimals: int | None


def make_request(variant_id: str, options: argparse.Namespace) -> Request:
    """Return the request of some options.

    Raises
    ------
    UsageError
        One line: what was received, the limit, the remedy.
    """
    variant = registry.variant("theta_join", variant_id)
    if not 1 <= options.threads <= MOST_THREADS:
        raise UsageError(
            f"--threads must be between 1 and {MOST_THREADS}, received {options.threads}"
        )
    bands = tuple(map(_band, options.band))
    span, count = _window(options)
    streams = len(options.r) + len(options.s)
    if streams > MOST_STREAMS:
        raise UsageError(
            f"--r and --s name {streams} files, and a join has {MOST_STREAMS} physical streams at"
            " most; merge some of them first"
        )
    parameters = variant.settings({})
    parameters.pop("threads", None)
    shape = Shape(len(options.r), len(options.s), options.threads, 1)
    extent, small = _extent(variant, parameters, shape, span, count, options.purge)
    inputs = tuple(checked_input(Path(one)) for one in (*options.r, *options.s))
    output, rejected = checked_outputs(options.output, options.rejected, inputs, options.overwrite)
    return Request(
        variant=variant,
        parameters=parameters,
        inputs=inputs,
        r_streams=len(options.r),
        bands=bands,
        time=options.time,
        time_unit=options.time_unit,
        extent=extent,
        threads=options.threads,
        # Any core of a chain may hold any of the tuples.
        shares=1 if small.driver is not None else max(len(small.threads), 1),
        output=output,
        rejected=rejected,
        decimals=checked_decimals(options.decimals, *(band.half_width for band in bands)),
    )


def _band(given: str) -> Band:
    r, s, width = parts if len(parts := given.split(":")) == 3 else ("", "", "")
    if not (r and s and width):
        raise UsageError(
            f"--band takes a column of R, one of S and by how much they differ at most, such as"
            f" x:a:10, received {given:.60}"
        )
    return Band(r, s, half_width(f"--band {r}:{s}: the half width", width))


def _window(options: argparse.Namespace) -> tuple[int, int]:
    """Return the ticks of a time window and the tuples of a counted one: one of them is 0."""
    count = options.window_count
    if count is None:
        return window_ticks("--window", options.window, options.time_unit), 0
    if not 1 <= count < TIMESTAMP_LIMIT:
        raise UsageError(f"--window-count must be at least 1 and below 2**62, received {count}")
    return 0, count


def _extent(
    variant: Variant,
    parameters: dict[str, Any],
    shape: Shape,
    span: int,
    count: int,
    purge: str | None,
) -> tuple[Extent, State]:
    """Return the extent of windows, and a join of this kind with the smallest windows.

    The join itself refuses a purge it does not take; without a requested purge the first accepted
    one is used. Windows of counted tuples do not depend on the purge.
    """
    purges = (OWN, OPPOSITE) if purge is None else (purge,)
    no_rows = number_predicates.number_tables((), (), (0,))
    refused: UsageError | None = None
    for chosen in (OWN,) if count else purges:
        extent = make_extent(span, count, chosen)
        try:
            make_state = variant.operations.make_state
            return extent, make_state(
                number_predicates.bands(1), no_rows, extent, shape, **parameters
            )
        except UsageError as error:
            refused = error
    raise refused
