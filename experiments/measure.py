"""One repetition of one group, from its declaration to its raw results: a job of the workflow."""

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
    repetition: int,
    dataset: str | Path | None,
    output: str | Path,
) -> Path:
    """Measure one repetition of a group.

    Parameters
    ----------
    name : str
        Of the group.
    profile_path : str or Path
        A profile's file, or its name.
    repetition : int
        From 1.
    dataset : str, Path or None
        The folder of its dataset; None for a group that needs none.
    output : str or Path
        The raw results.

    Raises
    ------
    UsageError
        When something given is unknown, or the dataset is not what the group runs on.
    crew.Stuck
        When a thread could not be stopped.
    """
    if repetition < 1:
        raise UsageError(f"repetition must be 1 or more, received {repetition}")
    profile = profiles.load(profile_path)
    group = plan.group(name, profile).in_process(repetition)
    _, digest = _data_of(group, dataset)
    return runner.run_group(
        group,
        lambda task: bench_of(group, task, dataset),
        profile.lengths,
        keys.conditions(group.family, digest, profile.keyed, machine.identity()),
        {"profile": profile.name, "size": profile.size, "repetition": repetition},
        _reference(profile),
        plan.seconds(group, profile) + (repetition == 1) * plan.search_seconds(group, profile),
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
