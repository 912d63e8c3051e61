"""How a thread waits: first it spins, then it yields the core, then it sleeps.

Spinning is right while the other thread runs on another core and is about to finish. On an
oversubscribed machine it keeps the awaited thread itself from running, so the wait gives the core
away after a while, and for longer and longer: with twenty waiting sources on two cores, sleeps that
grow from 20 to 320 microseconds were two to three times as fast as a fixed 20.
"""

from __future__ import annotations

from operators.core.atomics import pause, sleep_us, yield_thread
from operators.core.jit import inlined

# How long a thread spins before it polls again. Each poll takes the cache line from the thread that
# writes it. Polling after one pause, 64 times, against polling once after 32 (six pairs in turns,
# two cores of an EPYC): T-Gate with 1, 2 and 20 sources 1.39 [1.24, 1.52], 1.05 [0.90, 1.22] and
# 1.12 [0.99, 1.94] times as fast, skip list 1.03 with 4, multi-queue 1.80 [1.40, 2.27] with 2, WiML
# 1.03 and 1.08 [0.55, 1.98] with 2 and 20; 64 pauses could not be distinguished from 32.
PAUSES = 32
# How often it polls while it yields the core. 8 and 32 made 0.95 [0.86, 1.01] and 0.76 [0.53,
# 0.99] times as many tuples/s with a T-Gate of 20 sources, 0.79 [0.62, 0.93] and 0.97 [0.89, 1.03]
# with WiML and 20 inputs (three pairs).
YIELD_ROUNDS = 16
# Measured as described above.
FIRST_SLEEP_US = 20
SLEEP_DOUBLINGS = 4


@inlined
def wait_a_little(round):
    """Wait for as long as the `round`-th wait in a row should last, and return the next round."""
    if round == 0:
        for _ in range(PAUSES):
            pause()
    elif round <= YIELD_ROUNDS:
        yield_thread()
    else:
        doublings = min(round - YIELD_ROUNDS - 1, SLEEP_DOUBLINGS)
        sleep_us(FIRST_SLEEP_US << doublings)
    return round + 1
