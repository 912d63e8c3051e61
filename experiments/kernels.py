"""Compiling what groups need before anything is timed, on all cores: a job of the workflow.

Groups share most of their kernels. Each is asked for once, by whichever core is free next: a job a
group would start thirteen processes of which ten find nothing left to do, and two side by side
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
from experiments.measure import bench_of, reference_bench
from experiments.records.columns import CLOSED
from experiments.timing.task import Group
from operators import registry


class Wanted(NamedTuple):
    """A setting whose kernels are asked for: a task of a group, by its place, in one phase.

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
        Their names.
    profile_path : str or Path
        A profile's file, or its name.
    datasets : mapping of str to str
        Folder of the dataset of each role that the groups run on.
    cores : int
        Processes side by side.
    say : callable
        Takes a line whenever one setting's are done.

    Raises
    ------
    UsageError
        When something given is unknown, or a dataset is not what a group runs on.
    """
    wanted = _wanted(groups, profile_path)
    # Spawned: a fork would have the locks of threads that it does not have.
    context = multiprocessing.get_context("spawn")
    workers = max(1, min(cores, len(wanted)))
    with ProcessPoolExecutor(workers, context, _collect_seldom) as pool:
        jobs = [pool.submit(_compile, each, profile_path, dict(datasets)) for each in wanted]
        for number, job in enumerate(as_completed(jobs), 1):
            say(f"{number} of {len(jobs)} compiled: {job.result()}")


def _collect_seldom() -> None:
    """Have Python's cycle collector look less often: most of what a compiler makes stays a while.

    Compiling a pipeline took 23.2 and 22.5 s of processor time, and without it 21.7 and 21.5.
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
    """Compile what one setting needs, and say what that was."""
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
