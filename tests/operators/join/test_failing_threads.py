"""A failing thread of a shared join ends the run with the cause and leaves no thread waiting."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from operators.core.jit import INTERPRETED, inlined
from operators.index.shared import SharedIndexOperations
from operators.join import run
from operators.join.family import INDEX_FULL
from operators.join.feed import in_turns
from operators.join.run import Joining
from operators.running.run_threads import RunFailed
from tests.covering import interpreted_is_enough
from tests.operators.index.locked_index import LOCKED_TREE, MERGING_ROW
from tests.operators.join.running import join_over

# Time limit for the end of a failed run, loaded machines included. Compiled, the limit includes
# compilation, which takes 25 to 45 s of a core.
SECONDS = 30 if INTERPRETED else 200
TUPLES = 1_500
WINDOW = 100


def joining(shared: SharedIndexOperations, **parameters: Any) -> Joining:
    """Return a join by three threads that takes a second or two."""
    keys = np.random.default_rng(1).integers(0, 50, (2, TUPLES))
    own = {"threads": 3, "task_size": 2, **parameters}
    feed = in_turns(*keys, TUPLES)
    return Joining(join_over("toy", shared), feed, WINDOW, 1, True, 32, 0, own)


def failed(what: Joining, append=lambda pairs: None, **more: Any) -> RunFailed:
    """Return the failure of a run, which must end soon and leave no thread behind."""
    before, begin = set(threading.enumerate()), time.monotonic()
    with pytest.raises(RunFailed) as failure:
        run.run(what, append, **more)
    assert time.monotonic() - begin < SECONDS
    # The last thread reports the end of the run before it ends itself.
    left = set(threading.enumerate()) - before
    for each in left:
        each.join(SECONDS)
    assert not any(each.is_alive() for each in left), left
    return failure.value


def too_small(window, slack, key_bits=32, threads=1, **parameters):
    """Return a tree that has no room for a window, nor for half of it."""
    return LOCKED_TREE.make_state(max(window // 3, 1), 0, key_bits, threads, fan_out=4)


def small_row(window, slack, key_bits=32, threads=1, **parameters):
    """Return a row with room for a window until the first merge, and less than that later."""
    row = MERGING_ROW.make_state(window, slack, key_bits, threads, **parameters)
    return row._replace(room=window + window // 2)


@interpreted_is_enough
def test_an_index_that_is_full_ends_the_run_of_all_threads():
    failure = failed(joining(LOCKED_TREE._replace(make_state=too_small)))
    assert "an index had no room for a tuple of its window" in str(failure)
    assert "thread" in str(failure) and failure.status == INDEX_FULL


@interpreted_is_enough
@pytest.mark.parametrize("merge", ["blocking", "non-blocking"])
def test_an_index_that_is_full_after_a_merge_ends_the_run(merge):
    shared = MERGING_ROW._replace(make_state=small_row)
    failure = failed(joining(shared, merge=merge, merge_ratio=1))
    assert failure.status == INDEX_FULL


@interpreted_is_enough
@pytest.mark.parametrize("threads", [1, 4])
def test_who_takes_the_pairs_may_fail_in_whichever_thread_has_them(threads):
    taken = []

    def append(pairs):
        taken.append(threading.current_thread().name)
        if len(taken) == 3:
            raise OSError("no space left on device")

    failure = failed(joining(LOCKED_TREE, threads=threads), append, pairs_at_once=100)
    assert "no space left on device" in str(failure)
    assert len(taken) == 3


@pytest.mark.skipif(not INTERPRETED, reason="counts and raises in Python")
@pytest.mark.parametrize("where", ["insert", "scan", "is_due", "count", "swap"])
def test_a_thread_that_raises_ends_the_run_with_its_cause(where):
    calls = [0]

    def breaking(operation, after):
        @inlined
        def broken(*arguments):
            calls[0] += 1
            if calls[0] > after:
                raise ZeroDivisionError(f"broken in {where}")
            return operation(*arguments)

        return broken

    merges = MERGING_ROW.merges
    if where in merges._fields:
        broken = breaking(getattr(merges, where), 40 if where == "is_due" else 1)
        shared = MERGING_ROW._replace(merges=merges._replace(**{where: broken}))
    else:
        shared = MERGING_ROW._replace(**{where: breaking(getattr(MERGING_ROW, where), 400)})
    failure = failed(joining(shared, merge_ratio=0.3))
    assert f"broken in {where}" in str(failure)
