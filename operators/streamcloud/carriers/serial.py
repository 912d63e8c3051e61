"""The carrier of one thread: stage after stage, with rows grouped into steps by the caller.

It is the simplest carrier, and the one to test with: the output of a plan may depend neither on
the number of blobs sent before the stages run, nor on the grouping of an instance's waiting rows
into steps, nor on which rows have not arrived yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.streamcloud.parts import Parts, Sent
from operators.streamcloud.rows import Row

# From the waiting rows of an instance, in the order in which they were sent, to the rows of each
# step. Rows that are left out keep waiting. The rows of one sender must keep their order.
Batching = Callable[[Sequence[Row]], Sequence[Sequence[Row]]]


def together(waiting: Sequence[Row]) -> Sequence[Sequence[Row]]:
    """Put all waiting rows into one step."""
    return [waiting]


def one_by_one(waiting: Sequence[Row]) -> Sequence[Sequence[Row]]:
    """Make a step of each row."""
    return [[row] for row in waiting]


def run(parts: Parts, batching: Batching = together, blobs: int = 1) -> None:
    """Run a plan until the streams end, or the source pauses.

    Parameters
    ----------
    parts : Parts
    batching : callable
        How rows are put into steps.
    blobs : int
        How many the source sends before the stages run.

    Raises
    ------
    UsageError
        When an expression fails: operator, tuple and cause.
    """
    waiting: dict[tuple[int, int], list[Row]] = {each: [] for each in parts.receivers()}

    def deliver(sent: Sequence[Sent]) -> None:
        for to, row in sent:
            waiting[to, row.dest].append(row)

    def sweep(batching: Batching) -> None:
        # Receivers are in topological order, so that one sweep moves everything.
        for (place, number), rows in waiting.items():
            steps = batching(rows) if rows else ()
            taken = {id(row) for step in steps for row in step}
            waiting[place, number] = [row for row in rows if id(row) not in taken]
            for step in steps:
                if parts.is_output(place):
                    parts.keep(place, step)
                else:
                    deliver(parts.step(place, number, step))

    goes_on = True
    while goes_on:
        for _ in range(blobs):
            sent = parts.next_blob()
            goes_on = bool(sent)
            deliver(sent)
        sweep(batching)
    sweep(together)
