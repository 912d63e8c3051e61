"""The oracle of a query: one instance on one thread, in steps as large as memory allows.

The oracle's plan is cut into stages by another strategy than most runs, has no merger with two
senders, and steps differently. It is in turn compared with `operators.streamcloud.reference`, which
shares no code with it, on small streams (`tests/experiments/families/streamcloud`).

*Best effort.* Best-effort mergers take tuples in order of arrival, and the state that a late tuple
needs may be gone. Such a run can still be checked as long as every row depends on certain tuples
and on no others: each row must be one that one instance puts out, too, and as often; missing rows
are counted, and so are late tuples. This does not work for queries with an aggregate, whose rows
count tuples: once a tuple was late, such a run is invalid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.families.streamcloud.parts import Found, TimedParts
from experiments.families.streamcloud.streams import Streams, streams_of
from operators.streamcloud.algebra import Aggregate, Query
from operators.streamcloud.carriers import serial
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.plan import QUERY_CLUSTER

if TYPE_CHECKING:
    from experiments.families.streamcloud.bench import StreamcloudBench

# Tuples of a step: all of a short run; in a long run as many as fit in some hundred MB.
STEP = 1 << 18


@lru_cache(maxsize=32)
def expected(
    query_id: str, density: int, window: int, folder: Any, total: int, hashed: bool = False
) -> Found:
    """Return the output of one instance; parameters as of ``streams_of``.

    Parameters
    ----------
    total : int
        Tuples of all streams.
    hashed : bool
        Whether the digest of each row is kept.
    """
    return found_by_one(streams_of(query_id, density, window, folder), total, hashed)


def found_by_one(streams: Streams, total: int, hashed: bool = False) -> Found:
    """Return the output of one instance for the tuples of the `total` lowest ranks."""
    plan = compile_query(streams.query, QUERY_CLUSTER, 1)
    parts = TimedParts(plan, streams, total, STEP, hashed=hashed)
    serial.run(parts)
    return parts.found()


@dataclass(frozen=True)
class Compared:
    """A run compared with the oracle.

    Attributes
    ----------
    rows : int
        Rows of the run.
    late : int
        Late tuples.
    lost : int
        Rows of the oracle that the run lacks.
    digest, oracle : int
        Digest of the run's rows, and the expected one: of all rows of the oracle in order, or under
        best effort of the rows common to both, with multiplicity.
    problem : str or None
    """

    rows: int
    late: int
    lost: int
    digest: int
    oracle: int
    problem: str | None


def compared_with(bench: StreamcloudBench, parts: TimedParts) -> Compared:
    """Return the output of a bench's run, compared with the oracle."""
    found = parts.found()
    wanted = expected(*bench.place, parts.source.total, bench.is_best_effort)
    late = sum(each.late for each in parts.work().values())
    return (lost_some if bench.is_best_effort else the_same)(bench.asked, found, wanted, late)


def the_same(query: Query, found: Found, wanted: Found, late: int) -> Compared:
    """Compare a run of transparent mergers."""
    problem = None
    if found.rows != wanted.rows:
        problem = f"wrong output: {found.rows} rows, and one instance has {wanted.rows}"
    elif found.chain != wanted.chain:
        problem = "wrong output: other rows than those of one instance"
    return Compared(found.rows, late, 0, found.chain, wanted.chain, problem)


def lost_some(query: Query, found: Found, wanted: Found, late: int) -> Compared:
    """Compare a run of best-effort mergers; both sides have the digests of their rows.

    Parameters
    ----------
    query : Query
    found, wanted : Found
        Of the run, and of the oracle.
    late : int
        Late tuples.
    """
    own, own_counts = np.unique(found.hashes, return_counts=True)
    known, known_counts = np.unique(wanted.hashes, return_counts=True)
    _, mine, theirs = np.intersect1d(own, known, assume_unique=True, return_indices=True)
    shared = np.minimum(own_counts[mine], known_counts[theirs])
    # Sums of words wrap, like those of an output.
    digest = int((own[mine] * shared).sum())
    missing, wrong = wanted.rows - int(shared.sum()), found.rows - int(shared.sum())
    problem = None
    if late and any(isinstance(node, Aggregate) for node in query.operators):
        problem = f"{late} tuples came late, and what aggregates make of the others tells nothing"
    elif wrong:
        problem = f"wrong output: {wrong} rows that one instance does not put out"
    elif missing and not late:
        problem = f"wrong output: {missing} rows are missing, and no tuple came late"
    return Compared(found.rows, late, missing, found.unordered, digest, problem)
