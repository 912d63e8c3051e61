"""The threads of a join by several cores in a chain, and how their windows are filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.families.join import loops
from experiments.families.join.streams import Keys
from experiments.timing import crew, machine
from experiments.timing.crew import Role
from operators.contract import UsageError
from operators.join.family import FAMILY, TWO_WAY, JoinOperations
from operators.join.round_robin import Core, Feed

# Filling the largest window takes minutes.
FILLING_SECONDS = 3_600.0


def check(settings: Mapping[str, Any]) -> None:
    """Refuse what a chain does not join.

    Raises
    ------
    UsageError
        For a self join: R and S come from the two ends of the chain.
    """
    if settings["kind"] != TWO_WAY:
        raise UsageError("a chain of cores joins two streams; give kind=two-way")


def make(operations: JoinOperations, settings: Mapping[str, Any], half: int) -> tuple[Core, ...]:
    """Return the cores of a chain with empty windows."""
    return operations.make_state(settings["index"], settings["window"], half, settings["threads"])


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
    feed = Feed(*keys, int(session[loops.ROW]) + total // 2, int(probing))
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
        When an index had no room.
    """
    crew.run(
        roles_of(operations, index, cores, session, keys, 2 * rows, probing=False),
        pin=len(cores) <= machine.cores(),
        expected_seconds=1.0,
        limit_seconds=FILLING_SECONDS,
        failures=FAMILY.failures,
    )
