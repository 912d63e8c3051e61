"""The settings that the third paper's figures sweep, by the size of a profile."""

from __future__ import annotations

from experiments.declare import Sweep

MINUTES = {"quick": (300, 900), "laptop": (300, 600, 900), "paper": (300, 600, 900)}
OF_WINDOWS = Sweep("window_s", MINUTES, "s windows")
BY_THREADS = Sweep(
    "threads",
    {"quick": (1, 2, 4), "laptop": (1, 2, 4, 8, 16),
     "paper": (1, 2, 4, 8, 16, 24, 32, 40, 48)},
    "processing threads",
    {"quick": (2,), "laptop": (1, 2, 4)},
)  # fmt: skip
# The search for a density takes seconds per point.
BY_FEW_THREADS = Sweep(
    "threads",
    {"quick": (1, 2), "laptop": (1, 2, 4, 8), "paper": (1, 2, 4, 8, 16, 24, 32, 40, 48)},
    "processing threads",
    {"quick": (2,), "laptop": (2,)},
)
BY_SOURCES = Sweep(
    "sources",
    {"quick": (1, 2, 4), "laptop": (1, 2, 4, 8, 16), "paper": (1, 2, 4, 8, 12, 16, 20, 24, 28, 30)},
    "sources",
)
OF_READERS = Sweep(
    "readers",
    {"quick": (1, 2, 4), "laptop": (1, 2, 4, 8, 16), "paper": (1, 2, 4, 8, 16, 24, 30)},
    "readers",
)
BY_SECONDS = Sweep(
    "window_s",
    {"quick": (0.5, 1), "laptop": (2, 4, 8), "paper": (2, 4, 8)},
    "window (s)",
)
# A pair waits until each other thread has put out a later one, so that latency depends on the rate
# of pairs, which grows with window times density squared. At 4 billion c/s, of which one in 250,000
# is a pair, each of the paper's 48 threads has 333 a second; with these densities each of two
# threads has 240 to 480 (quick), or 170 to 680.
OF_DENSITIES = Sweep(
    "density", {"quick": (11_000,), "laptop": (4_600,), "paper": (4_600,)}, "tuples/s"
)

# Streams of R; S has equally many.
BY_STREAMS = Sweep(
    "streams",
    {"quick": (1, 4), "laptop": (1, 2, 4, 8), "paper": (1, 2, 4, 8, 16)},
    "physical streams of R and as many of S",
    label="Physical streams of R, as many of S",
)
