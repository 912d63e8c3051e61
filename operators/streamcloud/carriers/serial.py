"""The carrier of one thread: stage after stage, and the caller says which rows come together.

It is the plainest there is, and the one to test with: what a plan puts out may depend neither on
how many blobs are sent before the stages are looked at, nor on how the rows that wait for an
instance are put into steps, nor on which of them have not come yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.streamcloud.parts import Parts, Sent
from operators.streamcloud.rows import Row

# From the rows that wait for an instance, in the order in which they were sent, to the rows of each
# step. Those it leaves out keep waiting. The rows of one sender must keep their order.
Batching = Callable[[Sequence[Row]], Sequence[Sequence[Row]]]


def together(waiting: Sequence[Row]) -> Sequence[Sequence[Row]]:
    """Put all that waits into one step."""
    return [waiting]


def one_by_one(waiting: Sequence[Row]) -> Sequence[Sequence[Row]]:
    """Make a step of each row."""
    return [[row] for row in waiting]


def run(parts: Parts, batching: Batching = together, blobs: int = 1) -> None:
    """Run a plan until its streams end, or its source pauses.

    Parameters
    ----------
    parts : Parts
    batching : callable
        How rows are put into steps.
    blobs : int
        How many the source sends before the stages are looked at.

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
        # Each receiver stands behind all that send to it, so that one sweep moves everything.
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
