"""The number of instances of each subquery: processors in proportion to the cost of a tuple.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-G: the instantiator
"evaluates the cost of each subquery and assigns proportionally to this cost processors to each
subcluster. The cost of each subquery is measured as the time needed to process one tuple".

Processors cannot be divided, so shares are rounded by *largest remainder*: each subquery gets the
whole part of the share, and those with the largest remainders one more, until all processors are
given. None gets less than one. A plan runs as fast as the slowest subquery, so subqueries that were
rounded up wait for those that were rounded down: that is the *idle* share of the processors.

# ASSUME: the paper's cost is that of one tuple of the subquery, which is right if all subqueries
# get equally many tuples. They do not: a filter before one drops some, a join multiplies them. So a
# cost is multiplied by the tuples that the subquery gets per tuple that enters the query; where the
# caller gives no such number, it is one, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from operators.contract import UsageError, whole
from operators.streamcloud.plan import QUERY_CLUSTER, Plan
from operators.streamcloud.schema import did_you_mean, listed


@dataclass(frozen=True)
class Assignment:
    """The instances of a plan's stages.

    Attributes
    ----------
    instances : dict of str to int
        By stage, as ``compile_query`` takes them.
    idle : float
        Share of the processors that waits while the slowest stage works at full load: 0 if work
        and instances are in exact proportion.
    """

    instances: dict[str, int]
    idle: float


def instantiate(
    plan: Plan,
    costs: Mapping[str, float],
    processors: int,
    tuples: Mapping[str, float] | None = None,
) -> Assignment:
    """Return the number of instances of each stage of a plan.

    Parameters
    ----------
    plan : Plan
        Of any numbers of instances.
    costs : mapping of str to float
        By stage, the time of one of the stage's tuples, in any unit that is the same for all.
    processors : int
    tuples : mapping of str to float, optional
        By stage, the tuples it gets per tuple that enters the query; 1 if left out.

    Raises
    ------
    UsageError
        When a stage is unknown or has no cost, a cost is not a number or below 0, or there are
        fewer processors than stages.
    """
    names = [stage.name for stage in plan.stages]
    where = f"{plan.query.name}: {plan.strategy}"
    processors = whole(f"{where}: processors", processors)
    tuples = tuples or {}
    for kind, given in (("cost", costs), ("number of tuples", tuples)):
        for name, value in given.items():
            if name not in names:
                raise UsageError(
                    f'{where}: {kind} of "{name}", which is no stage ({listed(names)})'
                    f"{did_you_mean(name, names)}"
                )
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(
                    f"{where}: the {kind} of {name} must be 0 or more, received {value}"
                )
    missing = [name for name in names if name not in costs]
    if missing:
        raise UsageError(f"{where}: no cost of the stage {listed(missing)}: measure it, too")
    work = {name: Fraction(costs[name]) * Fraction(tuples.get(name, 1)) for name in names}
    alone = {stage.name for stage in plan.stages if stage.runs_alone}
    if plan.strategy == QUERY_CLUSTER:
        if processors < 1:
            raise UsageError(f"{where}: takes at least 1 processor, received {processors}")
        instances = {name: 1 if name in alone else processors for name in names}
        return Assignment(instances, _idle_when_shared(work, alone, processors))
    if processors < len(names):
        raise UsageError(
            f"{where}: has {len(names)} stages ({listed(names)}), each on processors of its own,"
            f" and received {processors}: give at least {len(names)}, or take {QUERY_CLUSTER}"
        )
    instances = apportion(work, processors, alone)
    return Assignment(instances, idle_share(work, instances))


def apportion(
    work: Mapping[str, Fraction | float], processors: int, alone: Collection[str] = ()
) -> dict[str, int]:
    """Return the number of processors of each piece of work, by largest remainder, at least one.

    Parameters
    ----------
    work : mapping of str to number
        Processors are given in proportion to it; evenly if all is 0.
    processors : int
        At least as many as there are pieces.
    alone : collection of str
        Pieces that get one, whatever their work. If there are no others, the rest is left unused.

    Notes
    -----
    A piece whose share is below one gets one, and the others divide the rest anew. Tie-breaking
    among equal remainders: the piece that comes first.

    Examples
    --------
    >>> apportion({"join": 5, "busy": 2}, 10)
    {'join': 7, 'busy': 3}
    >>> apportion({"join": 99, "busy": 1}, 10)
    {'join': 9, 'busy': 1}
    """
    given = dict.fromkeys(work, 1)
    open_names = [name for name in work if name not in alone]
    if not any(work[name] for name in open_names):
        work = dict.fromkeys(work, 1)
    while open_names:
        left = processors - sum(given[name] for name in work if name not in open_names)
        total = sum(Fraction(work[name]) for name in open_names)
        shares = {name: left * Fraction(work[name]) / total for name in open_names}
        small = [name for name in open_names if shares[name] < 1]
        if not small:
            break
        open_names = [name for name in open_names if name not in small]
    if not open_names:
        return given
    given |= {name: math.floor(share) for name, share in shares.items()}
    by_remainder = sorted(open_names, key=lambda name: given[name] - shares[name])  # stable
    for name in by_remainder[: processors - sum(given.values())]:
        given[name] += 1
    return given


def idle_share(work: Mapping[str, Fraction | float], instances: Mapping[str, int]) -> float:
    """Return the share of the processors that waits for the slowest piece of work.

    Examples
    --------
    >>> idle_share({"join": 3, "busy": 1}, {"join": 3, "busy": 1})
    0.0
    >>> round(idle_share({"join": 3, "busy": 1}, {"join": 2, "busy": 2}), 3)
    0.333
    """
    slowest = max(Fraction(work[name]) / instances[name] for name in work)
    if not slowest:
        return 0.0
    done = sum(Fraction(work[name]) for name in work)
    return float(1 - done / (slowest * sum(instances.values())))


def _idle_when_shared(
    work: Mapping[str, Fraction], alone: Collection[str], processors: int
) -> float:
    """Return the idle share if every processor runs a part of everything but the lone pieces."""
    shared = sum(work[name] for name in work if name not in alone) / processors
    slowest = shared + sum(work[name] for name in alone)
    return float(1 - sum(work.values()) / (slowest * processors)) if slowest else 0.0
