"""One process's share of a group, from declaration to raw results: a job of the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets import read
from experiments import families, plan, profiles
from experiments.profiles import Profile
from experiments.records import keys
from experiments.timing import machine, runner
from experiments.timing.bench import Bench
from experiments.timing.rounds import Reference
from experiments.timing.task import Group, Task
from operators.contract import UsageError


def measure_group(
    name: str,
    profile_path: str | Path,
    started: int,
    dataset: str | Path | None,
    output: str | Path,
) -> Path:
    """Measure a group, once or by several forks.

    Parameters
    ----------
    name : str
        Name of the group.
    profile_path : str or Path
        A profile's file, or its name.
    started : int
        The number of this process among those of the group, from 1.
    dataset : str, Path or None
        The folder of the group's dataset; None for a group that needs none.
    output : str or Path
        The raw results.

    Raises
    ------
    UsageError
        When an argument is unknown, or the dataset does not suit the group.
    run_threads.Stuck
        When a thread could not be stopped.
    """
    if started < 1:
        raise UsageError(f"started must be 1 or more, received {started}")
    profile = profiles.load(profile_path)
    group = plan.group(name, profile)
    _, digest = _data_of(group, dataset)
    return runner.run_group(
        group,
        lambda task: bench_of(group, task, dataset),
        profile.lengths,
        keys.conditions(group.family, digest, profile.keyed, machine.identity()),
        {"profile": profile.name, "size": profile.size, "started": started},
        plan.repetitions(group, profile, started),
        _reference(profile),
        plan.seconds(group, profile, started),
        output,
    )


def _reference(profile: Profile) -> Reference:
    """Return the setting that every process measures."""
    common = keys.conditions(plan.REFERENCE[0], None, profile.keyed, machine.identity())
    return Reference(reference_bench(), common)


def reference_bench() -> Bench:
    """Return the bench of the setting that every process measures, checked and loaded."""
    family, variant, settings = plan.REFERENCE
    return families.ready(family, variant, dict(settings))


def _data_of(group: Group, dataset: str | Path | None) -> tuple[Path | None, str | None]:
    """Return folder and digest of the dataset that a group runs on."""
    if group.role is None:
        return None, None
    if dataset is None:
        raise UsageError(f"group {group.id} runs on {group.role}, and no dataset was given")
    info = read.read_info(dataset)
    if info["role"] != group.role:
        raise UsageError(
            f"group {group.id} runs on {group.role}, and {dataset} holds {info['role']}"
        )
    return Path(dataset).resolve(), info["digest"]


def bench_of(group: Group, task: Task, dataset: str | Path | None) -> Bench:
    """Return the bench of one task of a group, checked and loaded; raises as ``families.ready``."""
    folder, _ = _data_of(group, dataset)
    given: dict[str, Any] = dict(task.settings)
    if folder is not None:
        given["dataset"] = folder
    return families.ready(group.family, task.variant, given)
