"""Questions about the designs of the second paper, for the front page of a set."""

from figures.which_design import MANY, Question

QUESTIONS = (
    Question(
        "scheduler",
        "A query of several operators, {at} workers: throughput",
        ("8",),
        setting="workers",
        at=MANY,
        caveat="differences between schedulers need queues that fill",
    ),
    Question(
        "scheduler-latency",
        "A query of several operators, {at} workers: latency",
        ("8",),
        "processing_ms_mean",
        "workers",
        MANY,
    ),
    Question(
        "uneven-keys",
        "An operator by key, {at} workers, even and uneven keys",
        ("9",),
        setting="workers",
        at=MANY,
        caveat="an even number of partitions deals Gaussian keys to two workers half and half",
    ),
    Question(
        "order",
        "Putting outputs in order again, {at} workers",
        ("12",),
        "speed_up",
        "workers",
        MANY,
        caveat="with constant work all buffers are alike; the gain needs work"
        " that varies or a long send",
    ),
)
