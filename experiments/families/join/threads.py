"""The threads of a join, and the filling of its windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.families.join import loops
from operators.join.family import FAMILY, JoinOperations, State
from operators.join.feed import Feed
from operators.running import pinning, run_threads
from operators.running.handover import compile_roles
from operators.running.run_threads import Counts, Role

# One thread fills windows at 10 million tuples/s, a chain of two to eight at 1 to 8 million on two
# cores of an EPYC, a chain of 16 at 50,000. A slower one is given up.
FILLING_SECONDS = 60.0
LEAST_FILLED_TPS = 20_000.0


def roles_of(
    operations: JoinOperations,
    step: Callable[..., int],
    state: State,
    session: np.ndarray,
    feed: Feed,
    part: int = 0,
) -> list[Role]:
    """Return the threads that join a feed from the session's position, and note when parts end.

    Parameters
    ----------
    part : int
        Tuples of a part; 0 for no parts.
    """
    operations.reopen(state)
    session[loops.TUPLES + 1 :] = 0
    session[loops.PART] = part
    session[loops.NEXT] = session[loops.TUPLES] + part
    make_loop = loops.make_join_loop if operations.ordered else loops.make_collecting_loop
    loop, last = make_loop(step, operations.seen), len(state.threads) - 1
    before = int(session[loops.TUPLES])
    return [
        Role(
            f"thread {number}",
            loop,
            (state.shared, thread, state.output, session, feed, before)
            + (() if operations.ordered else (number == last,)),
            output=True,
            counts=Counts.NOTHING if number else Counts.EVERY_TUPLE,
        )
        for number, thread in enumerate(state.threads)
    ]


def fill(
    operations: JoinOperations,
    step: Callable[..., int],
    state: State,
    session: np.ndarray,
    feed: Feed,
) -> None:
    """Insert tuples into the windows; a feed with ``probing=False`` looks for no partners.

    Raises
    ------
    run_threads.RunFailed
        When an index has no room, or filling takes too long.
    """
    tuples = feed.end_r + feed.end_s - int(session[loops.TUPLES])
    roles = roles_of(operations, step, state, session, feed)
    compile_roles(roles)
    run_threads.run(
        roles,
        pin=len(state.threads) <= pinning.cores(),
        expected_seconds=1.0,
        limit_seconds=FILLING_SECONDS + tuples / LEAST_FILLED_TPS,
        failures=FAMILY.failures,
    )
