"""The common arguments of every gate, and the limit on memory."""

from __future__ import annotations

from operators.contract import Parameter, UsageError
from operators.core.layout import WORD_BYTES

# Limits of every gate: source numbers and ring indices are tested up to these.
MAXIMUM_SOURCES = 4096
MAXIMUM_AHEAD = 1 << 24
# For gates with a queue or list for each source: the default of the T-Gate, which is compared with
# them. Figure 16x of the first paper sweeps it.
AHEAD = Parameter(
    "ahead",
    1024,
    1,
    MAXIMUM_AHEAD,
    "tuples",
    "a source's tuples not yet read",
    bounds_flight=True,
)
# A gate touches all words before it starts; past this the machine would swap or kill the process.
MAXIMUM_BYTES = 4 << 30


def check_gate_shape(name: str, sources: int, readers: int, ahead: int, most_readers: int) -> None:
    """Check the common arguments of the gates made of queues.

    Raises
    ------
    UsageError
        When there is no source or reader, or a number is over its limit.
    """
    if not 1 <= sources <= MAXIMUM_SOURCES:
        raise UsageError(
            f"{name}: sources must be between 1 and {MAXIMUM_SOURCES}, received {sources}"
        )
    if not 1 <= readers <= most_readers:
        limit = "1" if most_readers == 1 else f"between 1 and {most_readers}"
        raise UsageError(
            f"{name}: readers must be {limit}, received {readers};"
            " t-gate serves any number of readers"
        )
    if not 1 <= ahead <= MAXIMUM_AHEAD:
        raise UsageError(f"{name}: ahead must be between 1 and {MAXIMUM_AHEAD}, received {ahead}")


def check_gate_bytes(name: str, sources: int, ahead: int, words: int) -> None:
    """Check that a gate of that many words may be allocated.

    Raises
    ------
    UsageError
        When it needs more than ``MAXIMUM_BYTES``.
    """
    needed = words * WORD_BYTES
    if needed > MAXIMUM_BYTES:
        raise UsageError(
            f"{name}: {sources} sources with ahead {ahead} need {needed} bytes, and at most"
            f" {MAXIMUM_BYTES} are allowed; lower sources or ahead"
        )
