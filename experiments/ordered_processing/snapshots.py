"""A structure after one step, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BufferSnapshot:
    """A reorder buffer after a step.

    Attributes
    ----------
    event : str
        The step in words.
    slots : tuple of int
        Serial number of the output in each slot, 0 for none.
    following : int
        Serial number of the next output to send.
    sent : tuple of int
        Serial numbers sent in this step.
    refused : bool
        Whether the output was too far ahead.
    """

    event: str
    slots: tuple[int, ...]
    following: int
    sent: tuple[int, ...]
    refused: bool


@dataclass(frozen=True)
class QueueSnapshot:
    """A hybrid queue after a step.

    Attributes
    ----------
    event : str
        The step in words.
    master : tuple of int
        Keys that wait in the master queue.
    queues : tuple of tuple of str
        Tuples that wait in the queue of each partition: "t4".
    counts : tuple of int
        By partition, the taken keys whose tuples are not yet processed.
    working : dict of str to (int, str)
        By worker letter, the partition that the worker owns and the tuple it works on.
    """

    event: str
    master: tuple[int, ...]
    queues: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...]
    working: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class TimeSpent:
    """The distribution of the workers' time in a short run of a pipeline.

    Attributes
    ----------
    scheduler : str
        Id of the variant.
    shares : dict of str to float
        By operator, its share of the time in operators.
    throughput_tps : float
    valid : bool
        Whether the output was that of a serial run.
    """

    scheduler: str
    shares: dict[str, float]
    throughput_tps: float
    valid: bool
