"""Compiling the kernels of all groups before anything is timed, on all cores: a workflow job.

Groups share most of their kernels. Each kernel is compiled once, by the next free core: with a job
for each group, ten of thirteen processes would find nothing left to do, and two concurrent ones
would compile the same kernels.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import NamedTuple

from experiments import families, plan, profiles
from experiments.job import bench_of, reference_bench
from experiments.records.columns import CLOSED
from experiments.timing.task import Group
from operators import registry


class Wanted(NamedTuple):
    """A setting whose kernels are needed: a task of a group, by index, in one phase.

    Without a group it is the setting that every process measures.
    """

    group: str | None
    task: int
    phase: str


def compile_groups(
    groups: Sequence[str],
    profile_path: str | Path,
    datasets: Mapping[str, str],
    cores: int,
    say: Callable[[str], None],
) -> None:
    """Compile every kernel that some groups need into the cache.

    Parameters
    ----------
    groups : sequence of str
        Names of the groups.
    profile_path : str or Path
        A profile's file, or its name.
    datasets : mapping of str to str
        Folder of the dataset of each role that the groups run on.
    cores : int
        Number of concurrent processes.
    say : callable
        Takes a line whenever the kernels of one setting are done.

    Raises
    ------
    UsageError
        When an argument is unknown, or a dataset does not suit a group.
    """
    wanted = _wanted(groups, profile_path)
    # Spawned: a fork would inherit locks whose threads it does not have.
    context = multiprocessing.get_context("spawn")
    workers = max(1, min(cores, len(wanted)))
    with ProcessPoolExecutor(workers, context, _collect_seldom) as pool:
        jobs = [pool.submit(_compile, each, profile_path, dict(datasets)) for each in wanted]
        for number, job in enumerate(as_completed(jobs), 1):
            say(f"{number} of {len(jobs)} compiled: {job.result()}")


def _collect_seldom() -> None:
    """Run Python's cycle collector less often: most objects of a compiler live for a while.

    Compiling a pipeline took 23.2 and 22.5 s of processor time, and with this 21.7 and 21.5.
    """
    gc.set_threshold(50_000, 20, 100)


def _wanted(groups: Sequence[str], profile_path: str | Path) -> list[Wanted]:
    """Return one setting for each set of kernels that the groups enter."""
    found: dict[tuple, Wanted] = {}
    for name in groups:
        group = _group(name, profile_path)
        for place, task in enumerate(group.tasks):
            bench = families.make(registry.variant(group.family, task.variant))
            bench.check(task.settings)
            for phase in task.every_phase:
                found.setdefault(bench.kernels_key(phase), Wanted(name, place, phase))
    found.setdefault(reference_bench().kernels_key(CLOSED), Wanted(None, 0, CLOSED))
    return list(found.values())


def _compile(each: Wanted, profile_path: str | Path, datasets: Mapping[str, str]) -> str:
    """Compile the kernels of one setting, and return a line about them."""
    if each.group is None:
        bench = reference_bench()
    else:
        group = _group(each.group, profile_path)
        bench = bench_of(group, group.tasks[each.task], datasets.get(group.role or ""))
    bench.warm_up(each.phase)
    return f"{bench.variant.family} {bench.variant.id}, {each.phase}"


@cache
def _group(name: str, profile_path: str | Path) -> Group:
    return plan.group(name, profiles.load(profile_path))
