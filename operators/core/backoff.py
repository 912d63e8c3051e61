"""How a thread waits: first on the core, then beside it, then away from it.

Spinning is right while the other thread runs on another core and is about to finish. With more
threads than cores it keeps the very thread from running that everyone waits for, so the wait gives
the core away after a while, and for longer and longer: with twenty waiting sources on two cores,
sleeps that grow from 20 to 320 microseconds were two to three times as fast as a fixed 20.
"""

from __future__ import annotations

from operators.core.atomics import pause, sleep_us, yield_thread
from operators.core.jit import inlined

# How long a thread stays on the core, and then beside it: chosen without a measurement.
SPIN_ROUNDS = 64
YIELD_ROUNDS = 16
# Measured as told above.
FIRST_SLEEP_US = 20
SLEEP_DOUBLINGS = 4


@inlined
def wait_a_little(round):
    """Wait for as long as the `round`-th wait in a row should last, and return the next round."""
    if round < SPIN_ROUNDS:
        pause()
    elif round < SPIN_ROUNDS + YIELD_ROUNDS:
        yield_thread()
    else:
        doublings = min(round - SPIN_ROUNDS - YIELD_ROUNDS, SLEEP_DOUBLINGS)
        sleep_us(FIRST_SLEEP_US << doublings)
    return round + 1
