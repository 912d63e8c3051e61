"""The scheduling of threads in a stressed run, and the process that compiled noise needs.

*Noise* yields the core at random atomics. Interpreted, a hook does it; compiled, it is part of the
code (`operators.core.noise`), so those runs need a process whose kernels include it.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from operators.contract import Variant
from operators.core import atomics
from operators.core.jit import INTERPRETED
from operators.core.noise import NOISE

SCHEDULES = ("interleaved", "threads", "noise")
# One atomic in this many yields the core.
NOISE_EVERY = 16


def tight_settings(variant: Variant, chance: random.Random) -> dict[str, int]:
    """Return settings, each the smallest, for much backpressure, or the default.

    The caller chooses `ahead` and the number of update threads.
    """
    return {
        p.name: chance.choice([p.minimum, p.default])
        for p in variant.parameters
        if p.name not in ("ahead", "update_threads")
    }


@contextmanager
def scheduled(schedule: str, seed: int) -> Iterator[None]:
    """Let threads run inside as `schedule` says.

    Raises
    ------
    RuntimeError
        When compiled noise is asked for in a process whose kernels have none.
    """
    if schedule != "noise":
        yield
        return
    if not INTERPRETED:
        if not NOISE:
            raise RuntimeError("these kernels have no noise: use a noisy process")
        yield
        return
    chance = random.Random(seed)

    def disturb(operation: str, array: np.ndarray | None, index: int) -> None:
        drawn = chance.random() * NOISE_EVERY
        if drawn < 1:
            time.sleep(5e-5 if drawn < 1 / 8 else 0)

    before, atomics.scheduling_hook = atomics.scheduling_hook, disturb
    try:
        yield
    finally:
        atomics.scheduling_hook = before


def noise_of_this_process() -> int:
    """Return the noise interval of the compiled kernels of this process."""
    return NOISE


@contextmanager
def noisy_process() -> Iterator[ProcessPoolExecutor]:
    """Start a process whose kernels are compiled with noise."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MILLRACE_NOISE", str(NOISE_EVERY))
            assert pool.submit(noise_of_this_process).result() == NOISE_EVERY
        yield pool
