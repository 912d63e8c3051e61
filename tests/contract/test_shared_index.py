"""What every index of several threads must do, alone and among threads."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.core.jit import INTERPRETED
from operators.index.shared import SharedIndexOperations
from tests.operators.index.locked_index import LOCKED, MERGING
from tests.operators.index.shared_scripts import Alone, Sliding
from tests.operators.index.shared_threads import Plan, run_plan

INT32, INT64 = np.iinfo(np.int32), np.iinfo(np.int64)
SHARED = {
    "locked": LOCKED,
    "locked, merging": MERGING,
    **{
        variant.id: variant.operations.shared
        for variant in registry.variants("index")
        if variant.operations.shared is not None
    },
}
WRAPS = {"small": 40, "2^31": (1 << 31) - 150, "2^32": (1 << 32) - 150}


@pytest.mark.parametrize("name", SHARED)
def test_a_window_slides(name):
    random = np.random.default_rng(1)
    keys = random.integers(-1000, 1000, 400)
    alone = Alone(SHARED[name], 50, 40, WRAPS["2^32"])
    Sliding(alone, keys, 40, INT32, 8, 9, 1).run()


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("name", SHARED)
def test_threads(name, stamped, threads):
    random = np.random.default_rng(1)
    count = 3 * (200 if INTERPRETED else 4000)
    keys = random.integers(-1000, 1000, count)
    plan = Plan(keys, 40, 3, 64, 24, 3, WRAPS["2^32"], 1, stamped, INT32)
    assert run_plan(SHARED[name], plan, threads=threads) > 100
