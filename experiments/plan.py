"""What a profile measures: the settings of all figures, in groups, and about how long that takes.

A *setting* belongs to no figure: figures that show the same one share its rows, unless they are of
two papers and in two groups. A *group* is the settings that are compared with each other, by
default those of one family on one dataset and query.
A process measures a whole group, a repetition of it. What a group holds does not depend on which
paper was asked for, so that a run of one paper and a run of all of them find the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from datasets import catalog, recorded
from experiments import papers, series
from experiments.declare import (
    EACH_PROCESS,
    EACH_ROUND,
    OFFERED_RATE,
    ONCE,
    Figure,
    Sweep,
)
from experiments.profiles import Profile
from experiments.records import keys, quantities
from experiments.records.columns import CLOSED, COMMON, OPEN, SUSTAINED
from experiments.timing import machine
from experiments.timing.task import Group, Task
from operators import registry
from operators.contract import UsageError

# Kinds of run that every family has.
SHARED_PHASES = (CLOSED, OPEN, COMMON, SUSTAINED)
OFTEN = (EACH_ROUND, EACH_PROCESS, ONCE)

# The setting that every process measures, whatever its group: it needs no data, and has a core for
# each of its two threads nearly everywhere.
REFERENCE = ("gate", "t-gate", {"sources": 1})

# Beside each slice or open run: its threads, allocation, the sentinel, the comparison with the
# oracle. This and the next three were measured on two cores of a Xeon (Sapphire Rapids).
OVERHEAD_SECONDS = 0.035
# Lengths lie on a grid, so that a run is a little longer than was asked for, and it is as long as
# its least number of windows takes.
STRETCH, LEAST_RUN_SECONDS = 1.1, 0.06
# Once a setting: the trial that fixes the length of its slices, and what it must put out.
TRIAL_SECONDS = 0.08
# Once a process: starting it, waiting for quiet, reading compiled kernels.
START_SECONDS = 3.0
# And loading the data, and splitting it into streams, a row.
LOAD_SECONDS, SPLIT_SECONDS = 1.2e-7, 1e-7


def tasks_of(figure: Figure, profile: Profile) -> list[Task]:
    """Return the tasks that a figure needs.

    At the last value of every sweep all lines run at a common rate too, and the paper's sustained
    rates are searched: of figures that show open runs at all.
    """
    phases = quantities.phases_of(figure)
    own = [quantities.phase(figure.family, each) for each in phases if each not in SHARED_PHASES]
    often = {how: tuple(e.name for e in own if e.often == how) for how in OFTEN}
    fractions = (profile.open_fraction,) if OPEN in phases else ()
    if figure.x == OFFERED_RATE:
        fractions = tuple(sorted({*profile.rate_fractions, *figure.beyond, *fractions}))
    sliced = len(own) < len(phases) or not all(each.alone for each in own)
    most = {sweep.setting: sweep.values[profile.size][-1] for sweep in figure.free}
    found = []
    for line in series.measured(figure):
        for swept in _swept(figure.free, profile.size, ours=line not in figure.lines):
            settings = series.resolved(figure, line, swept)
            if not figure.has(settings):
                continue
            at_most = bool(most) and swept == most
            searched = {CLOSED, OPEN} <= set(phases) and line in figure.lines and at_most
            found.append(
                Task(
                    variant=line.variant,
                    settings=settings,
                    fractions=tuple(sorted(fractions)),
                    common=COMMON in phases and at_most,
                    probes=profile.probes if searched else 0,
                    phases=often[EACH_ROUND],
                    seldom=often[EACH_PROCESS],
                    once=often[ONCE],
                    processes=quantities.beside(figure.family).processes(settings),
                    sliced=sliced,
                )
            )
    return found


def _swept(sweeps: Iterable[Sweep], size: str, ours: bool) -> Iterator[dict[str, Any]]:
    """Yield each combination of swept values; fewer of them for a series of ours."""
    sweeps = list(sweeps)
    for values in product(*(sweep.values[size] for sweep in sweeps)):
        kept = (
            value in sweep.extended.get(size, sweep.values[size])
            for sweep, value in zip(sweeps, values, strict=True)
        )
        if not ours or all(kept):
            yield {sweep.setting: value for sweep, value in zip(sweeps, values, strict=True)}


def group_name(figure: Figure, settings: Mapping[str, Any]) -> str:
    """Return the name of the group that one of a figure's settings is measured in."""
    if figure.measured_with:
        return figure.measured_with
    family = registry.family(figure.family)
    query = settings.get("query")
    if query is not None:
        return f"{figure.family}-{family.queries[str(query)].file_name}"
    role = family.role_of(settings)
    return figure.family if role is None else f"{figure.family}-{role}"


def groups(profile: Profile, chosen: Iterable[str] | None = None) -> list[Group]:
    """Return the groups that the figures of some papers need, of all papers when None.

    Raises
    ------
    UsageError
        When a paper is unknown, two figures of one group differ in family or data, or a setting is
        in two groups of a paper.
    """
    wanted = set(papers.paper_names() if chosen is None else chosen)
    for name in wanted:
        papers.folder_of(name)
    found: dict[str, Group] = {}
    for paper in papers.papers():
        for figure in paper.figures:
            for task in tasks_of(figure, profile):
                name = group_name(figure, task.settings)
                found[name] = _with(found.get(name), name, figure, task)
    found = {name: replace(each, tasks=_merged(each.tasks)) for name, each in found.items()}
    _check_apart(found.values())
    return [each for each in found.values() if wanted & {paper for paper, _ in each.figures}]


def _with(group: Group | None, name: str, figure: Figure, task: Task) -> Group:
    """Return a group, or a new one, with one more task; a group runs on one role's data."""
    role = registry.family(figure.family).role_of(task.settings)
    group = group or Group(name, figure.family, role, (), ())
    if (group.family, group.role) != (figure.family, role):
        raise UsageError(
            f"figure {figure.id} of {figure.paper} is measured in group {name!r} of"
            f" {group.family} on {group.role}, and it is of {figure.family} on {role}: give it"
            " another group (measured_with)"
        )
    shown = dict.fromkeys((*group.figures, (figure.paper, figure.id)))
    return replace(group, tasks=(*group.tasks, task), figures=tuple(shown))


def _check_apart(found: Iterable[Group]) -> None:
    """Refuse a setting in two groups of a paper: its figures could not tell whose row to show.

    Groups of different papers may share one: a paper reads the rows of its own groups only.
    """
    where: dict[tuple, str] = {}
    for group in found:
        shown_by = dict.fromkeys(paper for paper, _ in group.figures)
        for task, paper in product(group.tasks, shown_by):
            other = where.setdefault((paper, group.family, task.place), group.id)
            if other != group.id:
                raise UsageError(
                    f"{task.variant} at the same setting is in the groups {other!r} and"
                    f" {group.id!r} of {paper}: give its figures one group (measured_with)"
                )


def _merged(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return each setting once, with all runs that any of its tasks has."""
    found: dict[tuple, Task] = {}
    for task in tasks:
        other = found.setdefault(task.place, task)
        found[task.place] = replace(
            other,
            fractions=tuple(sorted({*other.fractions, *task.fractions})),
            common=other.common or task.common,
            probes=max(other.probes, task.probes),
            phases=tuple(dict.fromkeys((*other.phases, *task.phases))),
            seldom=tuple(dict.fromkeys((*other.seldom, *task.seldom))),
            once=tuple(dict.fromkeys((*other.once, *task.once))),
            sliced=other.sliced or task.sliced,
        )
    return tuple(found.values())


def group(name: str, profile: Profile) -> Group:
    """Return one group.

    Raises
    ------
    UsageError
        When there is none of that name.
    """
    there = {each.id: each for each in groups(profile)}
    if name not in there:
        raise UsageError(f"unknown group {name!r}; groups are: {', '.join(there)}")
    return there[name]


# --- what decides a group's results --------------------------------------------------------------


def group_key(group: Group, profile: Profile, data: object) -> str:
    """Return a hash of all that the results of a group depend on, the number of processes apart.

    Parameters
    ----------
    group : Group
    profile : Profile
    data : object
        What decides the rows of its dataset; None where the driver makes the tuples.
    """
    common = keys.conditions(group.family, data, profile.keyed, machine.identity())
    variants = sorted({task.variant for task in group.tasks})
    tasks = [
        [t.variant, t.settings, t.fractions, t.common, t.probes, t.every_phase] for t in group.tasks
    ]
    return keys.digest_of(
        {
            "common": common,
            "variants": [keys.variant_digest(group.family, each) for each in variants],
            "tasks": tasks,
        }
    )


def generated_identity(dataset: str, size: str, seed: int) -> str:
    """Return a hash of all that decides the rows of a generated dataset."""
    rows = catalog.dataset(dataset).rows_of(size)
    source = keys.module_digest(f"datasets.{dataset}.generate", "datasets.generate")
    return keys.digest_of([dataset, rows, seed, source])


def recorded_identity(role: str, mapping: Path, files: Iterable[Path]) -> str:
    """Return a hash of all that decides the rows of an imported dataset; files go by date."""
    seen = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    content = Path(mapping).read_text(encoding="utf-8")
    return keys.digest_of([content, seen, keys.module_digest(*recorded.modules_of(role))])


# --- how long it takes ---------------------------------------------------------------------------


def task_seconds(family: str, task: Task, profile: Profile) -> float:
    """Return about how long all runs of a task take that every process makes.

    Compilation is left out, and so are searches and what is run once.
    """
    beside = quantities.beside(family)
    closed_run = _run_seconds(profile.closed_seconds)
    closed_run += beside.run(task.settings, profile.closed_seconds)
    closed = profile.closed_rounds * task.closed_runs * closed_run
    opened = profile.open_rounds * task.open_runs * _run_seconds(profile.open_seconds)
    once = TRIAL_SECONDS * task.sliced + beside.setting(task.settings)
    return once + closed + opened + _own_seconds(family, task, task.seldom, profile)


def _own_seconds(family: str, task: Task, phases: Iterable[str], profile: Profile) -> float:
    """Return about how long it takes to run each of these phases once."""
    each = (quantities.phase(family, name).seconds for name in phases)
    return sum(of(task.settings, profile.closed_seconds) + OVERHEAD_SECONDS for of in each)


def search_seconds(group: Group, profile: Profile) -> float:
    """Return about how long the rate searches of a group take, and what else one process makes."""
    probes = sum(task.probes for task in group.tasks) * _run_seconds(profile.probe_seconds)
    return probes + sum(_own_seconds(group.family, t, t.once, profile) for t in group.tasks)


def _run_seconds(seconds: float) -> float:
    return max(STRETCH * seconds, LEAST_RUN_SECONDS) + OVERHEAD_SECONDS


def seconds(group: Group, profile: Profile) -> float:
    """Return about how long all tasks of a group take once, compilation and search apart."""
    rows = 0
    if group.role is not None:
        rows = catalog.dataset(catalog.generated_for(group.role)).rows_of(profile.size)
    # Data is split once for each combination of the family's own settings, whatever the variant.
    own = [each.name for each in registry.family(group.family).settings]
    splits = len({tuple(task.settings[name] for name in own) for task in group.tasks})
    data = rows * (LOAD_SECONDS + splits * SPLIT_SECONDS)
    return (
        START_SECONDS
        + data
        + sum(task_seconds(group.family, task, profile) for task in group.tasks)
    )


@dataclass(frozen=True)
class Line:
    """One group of a plan: runs and minutes of all processes together."""

    group: Group
    runs: int
    minutes: float


def plan(profile: Profile, chosen: Iterable[str] | None = None) -> list[Line]:
    """Return what a profile measures for some papers, a line a group.

    Raises
    ------
    UsageError
        When a paper is unknown.
    """
    return [_line(each, profile) for each in groups(profile, chosen)]


def _line(group: Group, profile: Profile) -> Line:
    """Return what is measured of a group, by all processes together."""
    made = [group.in_process(number) for number in range(1, profile.repetitions + 1)]
    runs = sum(each.runs(profile.closed_rounds, profile.open_rounds) for each in made)
    took = sum(seconds(each, profile) for each in made) + search_seconds(group, profile)
    return Line(group, runs, took / 60)


def text(profile: Profile, lines: Iterable[Line]) -> str:
    """Return a plan as text, its sum in the last line."""
    lines = list(lines)
    told = [f"profile {profile.name}: {profile.title}"]
    width = max((len(line.group.id) for line in lines), default=0)
    for line in lines:
        told.append(
            f"  {line.group.id:{width}} {len(line.group.tasks):4} settings {line.runs:5} runs"
            f" {line.minutes:6.1f} min  {figures_told(line.group.figures)}"
        )
    runs = sum(line.runs for line in lines)
    minutes = sum(line.minutes for line in lines)
    told.append(
        f"  together {runs} runs, about {minutes:.0f} min of measuring in {profile.repetitions}"
        f" process{'es' * (profile.repetitions > 1)} a group, compilation and data apart"
    )
    return "\n".join(told)


def figures_told(figures: Iterable[tuple[str, str]]) -> str:
    """Return the figures of a group by paper: "multiway_aggregation 8, 9 and 14"."""
    by_paper: Mapping[str, list[str]] = {}
    for paper, figure in figures:
        by_paper.setdefault(paper, []).append(figure)
    return "; ".join(f"{paper} {', '.join(ids)}" for paper, ids in by_paper.items())
