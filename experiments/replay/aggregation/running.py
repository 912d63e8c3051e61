"""A replay of an aggregate: files to streams, `operators.aggregation.run`, and rows to a file."""

from __future__ import annotations

from experiments.replay import stages
from experiments.replay.aggregation.request import Request
from experiments.replay.aggregation.results import Results
from experiments.replay.aggregation.writing import RowWriter
from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.reading import Recording, read_recording
from experiments.replay.request import Numbers
from operators import registry
from operators.aggregation.family import refusal
from operators.aggregation.functions import TEXT
from operators.aggregation.plan import NO_TEXT, Text, make_plan
from operators.aggregation.run import Aggregating, run
from operators.contract import UsageError, Variant
from operators.running.library import make_feed

# Rows per write; a winset with more keys gets a buffer of that size.
ROWS_A_WRITE = 1 << 18


def _aggregating(variant: Variant, request: Request, recording: Recording) -> Aggregating:
    plan = make_plan(
        request.function,
        request.window_size,
        request.window_advance,
        keys=max(recording.keys, 1),
        rows_capacity=max(recording.keys, ROWS_A_WRITE),
    )
    feeds = [make_feed(*stream) for stream in recording.streams]
    text = _text_of(recording) if request.function in TEXT else None
    return Aggregating(variant, plan, feeds, text, _settings(variant, request))


def _text_of(recording: Recording) -> Text:
    buffers = recording.text_buffers
    return NO_TEXT if buffers is None else Text(*buffers)


def _settings(variant: Variant, request: Request) -> dict[str, int]:
    """Return the variant's parameters: the defaults, and the requested update threads."""
    defaults = variant.settings({})
    if "update_threads" not in defaults:
        return defaults
    return variant.settings({"update_threads": request.update_threads})


def _numbers(request: Request) -> tuple[Numbers, ...]:
    """Return the kind of the values: functions that only pass them on may take doubles as such."""
    if request.value is None:
        return ()
    handed_on = request.function in ("min", "max", "first")
    return (Numbers(doubles=handed_on and request.decimals is None and not request.exact),)


def check_variant(request: Request) -> Variant:
    """Return the variant of a request.

    Raises
    ------
    UsageError
        When it is unknown, does not take the function, or has too many update threads.
    """
    variant = registry.variant("aggregation", request.variant)
    reason = refusal(variant, request.function)
    if reason is not None:
        raise UsageError(f"{variant.id} {reason}")
    _settings(variant, request)
    return variant


def replay(request: Request) -> Replayed:
    """Run an aggregate over the files of a request and write the output.

    Parameters
    ----------
    request : Request

    Returns
    -------
    Replayed

    Raises
    ------
    UsageError
        When an input is faulty, or a result does not fit its type. No output was touched.
    RunFailed
        When a thread failed. No output was touched.
    """
    variant = check_variant(request)
    recording = read_recording(request, *_numbers(request))
    stages.current().enter(stages.RUN)
    with outputs_appearing(request, recording.rejected) as output:
        writer = RowWriter(output, Results(request, recording), recording.labels)
        try:
            run(_aggregating(variant, request, recording), writer.append)
        finally:
            writer.close()
    return Replayed(recording.rows, writer.rows, len(recording.rejected))
