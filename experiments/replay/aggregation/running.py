"""The threads of a replay: an input thread a file, and an output thread that drains its rows.

::

    file 0 --> [input 0] --add--> +----------+                       rows, when the buffer is full
    file 1 --> [input 1] --add--> | operator | --process--> [output] ---------------------> file
    ...                           +----------+
                                       ^ update, where the variant has it
                                [update 0 ...]

Rows come in one sequence whatever the timing, and the buffer is drained when the next winset does
not fit, so that even the blocks in which rows are written do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.replay.aggregation.draining import drain
from experiments.replay.aggregation.request import Request
from experiments.replay.aggregation.results import Results
from experiments.replay.aggregation.writing import RowWriter
from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.reading import Recording, Stream, read_recording
from operators import registry
from operators.aggregation.family import refusal
from operators.aggregation.functions import TEXT
from operators.aggregation.plan import NO_TEXT, Text, make_plan
from operators.contract import UsageError, Variant
from operators.running import crew
from operators.running.crew import Role
from operators.running.drivers import Feed, make_input_loop, make_steps_loop
from operators.running.handover import compile_roles
from operators.running.schedule import CLOSED_LOOP

# Rows that are kept before they are written; a winset of more keys has a buffer of its size.
ROWS_BUFFERED = 1 << 18
TUPLES_A_SECOND = 1_000_000


def _feed(stream: Stream) -> Feed:
    rows = len(stream.timestamp)
    columns = [np.require(column, np.int64, ["C", "W"]) for column in stream]
    # The ranks say only that the stream is gone through once: nothing here has a due time.
    return Feed(*columns, np.arange(rows), rows, 0)


def _make_state(variant: Variant, request: Request, recording: Recording) -> Any:
    plan = make_plan(
        request.function,
        request.window_size,
        request.window_advance,
        keys=max(recording.keys, 1),
        rows_capacity=max(recording.keys, ROWS_BUFFERED),
    )
    text = _text_of(recording) if request.function in TEXT else None
    inputs = len(recording.streams)
    return variant.operations.make_state(plan, inputs, **_settings(variant, request), text=text)


def _text_of(recording: Recording) -> Text:
    buffers = recording.text_buffers
    return NO_TEXT if buffers is None else Text(*buffers)


def _settings(variant: Variant, request: Request) -> dict[str, int]:
    """Return the variant's parameters: its defaults, and the update threads asked for."""
    defaults = variant.settings({})
    if "update_threads" not in defaults:
        return defaults
    return variant.settings({"update_threads": request.update_threads})


def _roles(
    variant: Variant,
    request: Request,
    recording: Recording,
    append: Callable[[np.ndarray], None],
) -> list[Role]:
    """Return the threads of a run, whose rows go to `append`."""
    operations, state = variant.operations, _make_state(variant, request, recording)
    roles = [Role("output", drain, (state, operations.process, append), output=True)]
    if operations.update is not None:
        update = make_steps_loop(operations.update)
        roles += [
            Role(f"update {thread}", update, (state, thread))
            for thread in range(_settings(variant, request)["update_threads"])
        ]
    enter = make_input_loop(operations.add, operations.close)
    for number, stream in enumerate(recording.streams):
        feed = _feed(stream)
        roles.append(Role(f"input {number}", enter, (state, number, feed, feed.rows, CLOSED_LOOP)))
    return roles


def _run(variant: Variant, request: Request, recording: Recording, writer: RowWriter) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    empty = Recording([Stream(nothing, nothing, nothing)], None, 0, True, None, [])
    compile_roles(_roles(variant, request, empty, lambda rows: None))
    crew.run(
        _roles(variant, request, recording, writer.append),
        pin=False,
        expected_seconds=recording.rows / TUPLES_A_SECOND,
        limit_seconds=float("inf"),
        failures=registry.family(variant.family).failures,
    )


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
    """Run an aggregate over the files of a request and write what it puts out.

    Parameters
    ----------
    request : Request

    Returns
    -------
    Replayed

    Raises
    ------
    UsageError
        When an input is not what it should be, or a result does not fit its type. No output was
        touched.
    RunFailed
        When a thread failed. No output was touched.
    """
    variant = check_variant(request)
    recording = read_recording(request)
    with outputs_appearing(request, recording.rejected) as output:
        writer = RowWriter(output, Results(request, recording), recording.labels)
        try:
            _run(variant, request, recording, writer)
        finally:
            writer.close()
    return Replayed(recording.rows, writer.rows, len(recording.rejected))
