"""The threads of a join by several cores in a chain, and how their windows are filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.families.join import loops
from experiments.families.join.streams import Keys
from operators.join.family import FAMILY, TWO_WAY, JoinOperations
from operators.join.round_robin import Core, by_turns
from operators.running import crew, pinning
from operators.running.crew import Role

# A chain of two to eight threads fills its windows with 1 to 8 million tuples/s on two cores of an
# EPYC, one of 16 with 50,000. One that is slower still is not waited for.
FILLING_SECONDS = 60.0
LEAST_FILLED_TPS = 20_000.0


def make(operations: JoinOperations, settings: Mapping[str, Any], half: int) -> tuple[Core, ...]:
    """Return the cores of a chain with empty windows."""
    two_way = settings["kind"] == TWO_WAY
    return operations.make_state(
        settings["index"], settings["window"], half, settings["threads"], two_way=two_way
    )


def roles_of(
    operations: JoinOperations,
    index: str,
    cores: tuple[Core, ...],
    session: np.ndarray,
    keys: Keys,
    total: int,
    probing: bool = True,
) -> list[Role]:
    """Return the threads that join `total` tuples from where the session is."""
    operations.reopen(cores)
    two_way = bool(cores[0].two_way)
    end = int(session[loops.ROW]) + total // (1 + two_way)
    feed = by_turns(*keys, end, int(probing), two_way=two_way)
    loop = loops.make_chain_loop(operations.make_step(index))
    return [
        Role(
            f"core {core.number}",
            loop,
            (core, session, feed, total),
            output=core.number == 0,
            counts="" if core.number else "all",
        )
        for core in cores
    ]


def fill(
    operations: JoinOperations,
    index: str,
    cores: tuple[Core, ...],
    session: np.ndarray,
    keys: Keys,
    rows: int,
) -> None:
    """Let the first rows into the windows, without looking for partners.

    Raises
    ------
    crew.RunFailed
        When an index had no room, or filling takes too long.
    """
    tuples = (1 + cores[0].two_way) * rows
    crew.run(
        roles_of(operations, index, cores, session, keys, tuples, probing=False),
        pin=len(cores) <= pinning.cores(),
        expected_seconds=1.0,
        limit_seconds=FILLING_SECONDS + tuples / LEAST_FILLED_TPS,
        failures=FAMILY.failures,
    )
