"""The parameters, limits and records that all worklists of a partitioned operator share."""

from __future__ import annotations

import numpy as np

from operators.contract import Parameter, UsageError
from operators.core.layout import LINE_WORDS, WORD_BYTES, aligned_words
from operators.partition.family import MOST_PARTITIONS, MOST_SLOTS, MOST_WORKERS

# A worklist touches all of its memory before it starts; beyond this limit the machine would swap or
# kill the process.
MOST_BYTES = 4 << 30
PARTITIONS = Parameter("partitions", 100, 1, MOST_PARTITIONS, "", "buckets of the key space")
PARTITIONS_OF_WORKERS = Parameter(
    "partitions", 0, 0, MOST_PARTITIONS, "", "buckets of the key space; 0 for one a worker"
)
# Held partition of a worker that has none.
NO_PARTITION = -1
# Words of a tuple in a queue: the serial number, from 1, and the added word.
SERIAL = 0
WORD = 1
RECORD_WORDS = 2


def check_shape(partitions: int, workers: int, capacity: int, records: int) -> None:
    """Check the parameters of a worklist; `records` is the total capacity of the queues.

    Raises
    ------
    UsageError
        When a number is out of range, or the queues would take too much memory.
    """
    for name, value, least, most in (
        ("partitions", partitions, 1, MOST_PARTITIONS),
        ("workers", workers, 1, MOST_WORKERS),
        ("capacity", capacity, 2, MOST_SLOTS),
    ):
        if not least <= value <= most:
            raise UsageError(f"{name} must be between {least} and {most}, received {value}")
    needed = records * RECORD_WORDS * WORD_BYTES
    if needed > MOST_BYTES:
        raise UsageError(
            f"{partitions} partitions with queues of {capacity} tuples need {needed} bytes, and at"
            f" most {MOST_BYTES} are allowed; lower slots or partitions"
        )


def make_held(workers: int) -> np.ndarray:
    """Return a word for each worker, on separate lines: the held partition, none at first."""
    held = aligned_words(workers * LINE_WORDS)
    held[::LINE_WORDS] = NO_PARTITION
    return held
