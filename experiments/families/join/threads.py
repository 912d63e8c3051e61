"""The threads of a join, and how its windows are filled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.families.join import loops
from operators.join.family import FAMILY, JoinOperations, State
from operators.join.feed import Feed
from operators.running import crew, pinning
from operators.running.crew import Counts, Role
from operators.running.handover import compile_roles

# One thread fills its windows with 10 million tuples/s, a chain of two to eight with 1 to 8 million
# on two cores of an EPYC, one of 16 with 50,000. One that is slower still is not waited for.
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
    """Return the threads that join a feed from where the session is, and note when parts end.

    Parameters
    ----------
    part : int
        Tuples of a part; 0 where nobody wants to know.
    """
    operations.reopen(state)
    session[loops.TUPLES + 1 :] = 0
    session[loops.PART] = part
    session[loops.NEXT] = session[loops.TUPLES] + part
    loop = loops.make_join_loop(step, operations.seen)
    return [
        Role(
            f"thread {number}",
            loop,
            (state.shared, thread, state.output, session, feed, int(session[loops.TUPLES])),
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
    """Let tuples into the windows; a feed that is not probing looks for no partners.

    Raises
    ------
    crew.RunFailed
        When an index had no room, or filling takes too long.
    """
    tuples = feed.end_r + feed.end_s - int(session[loops.TUPLES])
    roles = roles_of(operations, step, state, session, feed)
    compile_roles(roles)
    crew.run(
        roles,
        pin=len(state.threads) <= pinning.cores(),
        expected_seconds=1.0,
        limit_seconds=FILLING_SECONDS + tuples / LEAST_FILLED_TPS,
        failures=FAMILY.failures,
    )
