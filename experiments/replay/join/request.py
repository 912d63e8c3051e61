"""The options of a replay, checked before any file is opened and anything is compiled."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.replay.bands import HalfWidth, checked_decimals, half_width
from experiments.replay.files import checked_input, checked_outputs
from experiments.replay.windows import window_ticks
from operators import registry
from operators.contract import UsageError, Variant
from operators.index.family import MOST_WINDOW
from operators.join.asked import join_for, threads_of

# Parameters that a variant may take besides the number of threads, by name.
OPTIONS = (
    "merge_ratio", "insertion_depth", "chain_length", "index", "task_size", "merge", "descents",
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A checked replay of a join.

    Attributes
    ----------
    variant : Variant
    parameters : dict
        All parameters of the variant.
    inputs : tuple of Path
        R and S; R alone for a self join.
    keys : tuple of str
        The column of keys in each input.
    time : str
        The column of times in all inputs.
    time_unit : str or None
        s, ms or us for calendar times; None if times are integers in the files' unit.
    half_width : HalfWidth
    window_count : int or None
        Tuples of a window; None for a time window.
    window_ticks : int
        Ticks of a window; 0 for a window of tuples.
    output : Path
    rejected : Path or None
        Where unusable rows are set aside; None makes the first of them an error.
    decimals : int or None
        Digits after the point that numbers are rounded to; None keeps all of them.
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
    decimals: int | None


def make_request(variant_id: str, options: argparse.Namespace) -> Request:
    """Return the request of some options.

    Raises
    ------
    UsageError
        One line: what was received, the limit, the remedy.
    """
    variant, parameters = _join(variant_id, options)
    width = half_width("--half-width", options.half_width)
    span = _window(options)
    inputs = _inputs(options)
    output, rejected = checked_outputs(options.output, options.rejected, inputs, options.overwrite)
    return Request(
        variant=variant,
        parameters=parameters,
        inputs=inputs,
        keys=(options.key, options.s_key or options.key)[: len(inputs)],
        time=options.time,
        time_unit=options.time_unit,
        half_width=width,
        window_count=options.window_count,
        window_ticks=span,
        output=output,
        rejected=rejected,
        decimals=checked_decimals(options.decimals, width),
    )


def _join(variant_id: str, options: argparse.Namespace) -> tuple[Variant, dict[str, Any]]:
    """Return the requested join and its parameters: the given ones, checked, and the defaults."""
    given = {name: value for name in OPTIONS if (value := getattr(options, name)) is not None}
    threads = threads_of(options.threads)
    variant = registry.form_for(registry.variant("join", variant_id), given, threads.most)
    own = [each.name for each in variant.parameters if each.name in OPTIONS]
    for name in given:
        if name not in own:
            takes = registry.listed([_option(each) for each in own])
            takes = takes if own else f"none of {', '.join(map(_option, OPTIONS))}"
            raise UsageError(
                f"{variant.id} does not take {_option(name)}, which is for"
                f" {registry.listed(registry.takers_of('join', name))}; it takes {takes}"
            )
    return join_for(variant.id, given, options.threads)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _window(options: argparse.Namespace) -> int:
    """Return the ticks of a time window, 0 for a window of tuples; either is checked."""
    count, given = options.window_count, options.window_time
    if count is not None:
        if not 1 <= count <= MOST_WINDOW:
            raise UsageError(
                f"--window-count must be between 1 and {MOST_WINDOW} tuples, received {count}"
            )
        return 0
    return window_ticks("--window-time", given, options.time_unit)


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
