"""How long the measurements of a run still need, estimated from the finished ones.

A plan knows the lengths of runs, but the speed of this machine only roughly. So the times of a
group's finished repetitions are used for the missing ones; for a group without any, the plan is
scaled by its error for the other groups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments import plan
from experiments.profiles import Profile
from experiments.timing.task import Group


def seconds_taken(file: Path) -> float | None:
    """Return how long a repetition took, from its raw results; None where it was interrupted."""
    with file.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    runs = [row for row in found if "started_at" in row]
    # In addition to the runs each process has one line.
    if not runs or len(found) - len(runs) != 1:
        return None
    begin, end = min(row["started_at"] for row in runs), max(row["ended_at"] for row in runs)
    return plan.START_SECONDS + (end - begin) / 1e9


def seconds_left(
    groups: Mapping[str, Group], files: Mapping[str, Sequence[Path]], profile: Profile
) -> float:
    """Return about how many seconds are missing.

    Parameters
    ----------
    groups : mapping of str to Group
        By id.
    files : mapping of str to sequence of Path
        By the same, the raw results of each repetition, from the first on, made or not.
    profile : Profile
    """
    planned_left: dict[str, float] = {}
    planned_done, taken = dict.fromkeys(groups, 0.0), dict.fromkeys(groups, 0.0)
    for name, group in groups.items():
        planned_left[name] = 0.0
        for number, file in enumerate(files[name], start=1):
            planned = plan.seconds(group, profile, number)
            took = seconds_taken(file) if file.exists() else None
            if not file.exists():
                planned_left[name] += planned
            elif took is not None:
                planned_done[name] += planned
                taken[name] += took
    everywhere = _ratio(sum(taken.values()), sum(planned_done.values()), 1.0)
    return sum(
        left * _ratio(taken[name], planned_done[name], everywhere)
        for name, left in planned_left.items()
    )


def _ratio(taken: float, planned: float, unknown: float) -> float:
    return taken / planned if planned else unknown
