"""The work of a profile: the settings of all figures, in groups, and about how long they take.

A *setting* belongs to no figure: figures that show the same one share its rows, unless they are of
two papers and in two groups. A *group* is the settings that are compared with each other, by
default those of one family on one dataset and query. A process measures a whole group, a repetition
of it. The content of a group does not depend on the requested papers, so that a run of one paper
and a run of all of them find the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from datasets import catalog, recorded
from datasets.ahead import Wanted
from experiments import papers, series
from experiments.declare import (
    EACH_PROCESS,
    EACH_ROUND,
    OFFERED_RATE,
    ONCE,
    TWICE,
    Figure,
    Sweep,
)
from experiments.profiles import Profile
from experiments.records import keys, quantities
from experiments.records.columns import CLOSED, COMMON, OPEN, SUSTAINED
from experiments.timing import machine
from experiments.timing.bench import COOL, WARM
from experiments.timing.task import Group, Task
from experiments.timing.threads import MOST_STRETCH, SCHEDULER_ROUNDS, TURN_SECONDS
from operators import registry
from operators.contract import UsageError
from operators.running import pinning

# Kinds of run that every family has.
SHARED_PHASES = (CLOSED, OPEN, COMMON, SUSTAINED)
OFTEN = (EACH_ROUND, EACH_PROCESS, ONCE, TWICE)

# The setting that every process measures, whatever the group: it needs no data, and has a core for
# each of two threads nearly everywhere.
REFERENCE = ("gate", "t-gate", {"sources": 1})

# In addition to each slice or open run: threads, allocation, the sentinel, the comparison with the
# oracle. This and the next three were measured on two cores of a Xeon (Sapphire Rapids).
OVERHEAD_SECONDS = 0.04
# Settings that count threads; some have one or two more.
THREADS = ("inputs", "sources", "readers", "workers", "threads", "update_threads", "instances")
# Lengths lie on a grid, so that a run is a little longer than requested, and it is at least as long
# as the least number of windows takes.
STRETCH, LEAST_RUN_SECONDS = 1.1, 0.06
# Once a setting: the trial that fixes the length of slices, and the expected output.
TRIAL_SECONDS = 0.08
# Once a process: starting it, waiting for quiet, reading compiled kernels.
START_SECONDS = 3.0
# Once a fork: its end, and the first writes to shared pages.
FORK_SECONDS = 0.05
# Loading the data, and splitting it into streams, a row.
LOAD_SECONDS, SPLIT_SECONDS = 1.2e-7, 1e-7


def tasks_of(figure: Figure, profile: Profile) -> list[Task]:
    """Return the tasks that a figure needs, none where the profile does not show it.

    At the last value of every sweep, all lines also run at a common rate where the figure shows
    one, and the paper's lines get a rate search where it shows slices and open runs.
    """
    if profile.size in figure.absent_from:
        return []
    phases = quantities.phases_of(figure)
    own = [quantities.phase(figure.family, each) for each in phases if each not in SHARED_PHASES]
    fractions = (profile.open_fraction,) if OPEN in phases else ()
    if figure.x == OFFERED_RATE:
        fractions = tuple(sorted({*profile.rate_fractions, *figure.beyond, *fractions}))
    sliced = len(own) < len(phases) or not all(each.alone for each in own)
    most = {sweep.setting: sweep.values[profile.size][-1] for sweep in figure.free}
    found = []
    for line in series.measured(figure):
        for swept in _swept(figure.free, profile.size, ours=line not in figure.lines):
            settings = series.resolved(figure, line, swept)
            if not figure.includes(settings):
                continue
            often = {
                how: tuple(e.name for e in own if e.often_at(settings) == how) for how in OFTEN
            }
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
                    twice=often[TWICE],
                    processes=quantities.overhead(figure.family).processes(settings),
                    sliced=sliced,
                )
            )
    return found


def _swept(sweeps: Iterable[Sweep], size: str, ours: bool) -> Iterator[dict[str, Any]]:
    """Yield each combination of swept values; fewer of them for series of the extended form."""
    sweeps = list(sweeps)
    for values in product(*(sweep.values[size] for sweep in sweeps)):
        kept = (
            value in sweep.extended.get(size, sweep.values[size])
            for sweep, value in zip(sweeps, values, strict=True)
        )
        if not ours or all(kept):
            yield {sweep.setting: value for sweep, value in zip(sweeps, values, strict=True)}


def group_name(figure: Figure, settings: Mapping[str, Any]) -> str:
    """Return the name of the group that measures one of a figure's settings."""
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
    """Refuse a setting in two groups of a paper: its figures could not choose between two rows.

    Groups of different papers may share one: a paper reads only the rows of its groups.
    """
    where: dict[tuple, str] = {}
    for group in found:
        shown_by = dict.fromkeys(paper for paper, _ in group.figures)
        for task, paper in product(group.tasks, shown_by):
            other = where.setdefault((paper, group.family, task.identity), group.id)
            if other != group.id:
                raise UsageError(
                    f"{task.variant} at the same setting is in the groups {other!r} and"
                    f" {group.id!r} of {paper}: give its figures one group (measured_with)"
                )


def _merged(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return each setting once, with all runs that any of the tasks has."""
    found: dict[tuple, Task] = {}
    for task in tasks:
        other = found.setdefault(task.identity, task)
        found[task.identity] = replace(
            other,
            fractions=tuple(sorted({*other.fractions, *task.fractions})),
            common=other.common or task.common,
            probes=max(other.probes, task.probes),
            phases=tuple(dict.fromkeys((*other.phases, *task.phases))),
            seldom=tuple(dict.fromkeys((*other.seldom, *task.seldom))),
            once=tuple(dict.fromkeys((*other.once, *task.once))),
            twice=tuple(dict.fromkeys((*other.twice, *task.twice))),
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


# --- the inputs that decide a group's results ----------------------------------------------------


def group_key(group: Group, profile: Profile, data: object) -> str:
    """Return a hash of all that a group's results depend on, except the number of processes.

    Parameters
    ----------
    group : Group
    profile : Profile
    data : object
        The inputs that decide the dataset's rows; None where the driver makes the tuples.
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
    """Return a hash of all inputs that decide the rows of a generated dataset."""
    rows = catalog.dataset(dataset).rows_of(size)
    source = keys.module_digest(f"datasets.{dataset}.generate", "datasets.generate")
    return keys.digest_of([dataset, rows, seed, source])


def datasets_wanted(names: Iterable[str], size: str, seed: int) -> dict[str, Wanted]:
    """Return the number of rows and the identity of each generated dataset at a size."""
    return {
        name: Wanted(catalog.dataset(name).rows_of(size), generated_identity(name, size, seed))
        for name in sorted(names)
    }


def recorded_identity(role: str, mapping: Path, files: Iterable[Path]) -> str:
    """Return a hash of all inputs that decide the rows of an imported dataset; files go by date."""
    seen = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    content = Path(mapping).read_text(encoding="utf-8")
    return keys.digest_of([content, seen, keys.module_digest(*recorded.modules_of(role))])


# --- how long it takes ---------------------------------------------------------------------------


def repetitions(group: Group, profile: Profile, started: int) -> list[int]:
    """Return the numbers of the repetitions that a started process makes, itself or by forks."""
    if profile.forks == 1 or not quantities.overhead(group.family).forks:
        return [started]
    return list(range((started - 1) * profile.forks + 1, started * profile.forks + 1))


def task_seconds(family: str, task: Task, profile: Profile) -> float:
    """Return about how long the runs of a task take that every repetition makes.

    Compilation is left out, and so are runs once a started process, or once in all.
    """
    closed = profile.closed_rounds * task.closed_runs * _closed_seconds(family, task, profile)
    return closed + profile.open_rounds * task.open_runs * _run_seconds(profile.open_seconds)


def started_seconds(family: str, task: Task, profile: Profile) -> float:
    """Return about how long a task takes once a started process: trial, oracle, rehearsal."""
    once = TRIAL_SECONDS * task.sliced + quantities.overhead(family).setting(task.settings)
    if profile.forks > 1 and quantities.overhead(family).forks and task.sliced:
        once += _closed_seconds(family, task, profile)
    return once + _own_seconds(family, task, task.seldom, profile)


def _closed_seconds(family: str, task: Task, profile: Profile) -> float:
    """Return about how long a slice takes: longer where many threads share few cores."""
    threads = 1 + sum(task.settings.get(name, 0) for name in THREADS)
    longer = SCHEDULER_ROUNDS * TURN_SECONDS * threads / pinning.cores() / (COOL - WARM)
    asked = min(max(profile.closed_seconds, longer), MOST_STRETCH * profile.closed_seconds)
    return _run_seconds(asked) + quantities.overhead(family).run(task.settings, asked)


def _own_seconds(family: str, task: Task, phases: Iterable[str], profile: Profile) -> float:
    """Return about how long it takes to run each of these phases once."""
    each = (quantities.phase(family, name).seconds for name in phases)
    return sum(of(task.settings, profile.closed_seconds) + OVERHEAD_SECONDS for of in each)


def _seldom_seconds(group: Group, profile: Profile, repetition: int) -> float:
    """Return about how long the runs take that only the first two repetitions make."""
    first = repetition == 1
    seconds = 0.0
    for task in group.tasks if repetition <= 2 else ():
        phases = (*task.twice, *task.once) if first else task.twice
        seconds += _own_seconds(group.family, task, phases, profile)
        if first:
            seconds += task.probes * _run_seconds(profile.probe_seconds)
    return seconds


def _run_seconds(seconds: float) -> float:
    return max(STRETCH * seconds, LEAST_RUN_SECONDS) + OVERHEAD_SECONDS


def seconds(group: Group, profile: Profile, started: int = 1) -> float:
    """Return about how long a started process takes for a group, without compilation."""
    rows = 0
    if group.role is not None:
        rows = catalog.dataset(catalog.generated_for(group.role)).rows_of(profile.size)
    # Data is split once for each combination of the family's settings, whatever the variant.
    own = [each.name for each in registry.family(group.family).settings]
    splits = len({tuple(task.settings[name] for name in own) for task in group.tasks})
    numbers = repetitions(group, profile, started)
    taken = START_SECONDS + rows * (LOAD_SECONDS + splits * SPLIT_SECONDS)
    taken += FORK_SECONDS * len(numbers) * (len(numbers) > 1)
    first = group.in_process(numbers[0])
    taken += sum(started_seconds(group.family, task, profile) for task in first.tasks)
    for number in numbers:
        made = group.in_process(number)
        taken += sum(task_seconds(group.family, task, profile) for task in made.tasks)
        taken += _seldom_seconds(made, profile, number)
    return taken


@dataclass(frozen=True)
class Line:
    """One group of a plan: runs and minutes of all processes together."""

    group: Group
    runs: int
    minutes: float


def plan(profile: Profile, chosen: Iterable[str] | None = None) -> list[Line]:
    """Return the plan of a profile for some papers, a line a group.

    Raises
    ------
    UsageError
        When a paper is unknown.
    """
    return [_line(each, profile) for each in groups(profile, chosen)]


def _line(group: Group, profile: Profile) -> Line:
    """Return the line of a group: runs and minutes of all processes together."""
    runs, taken = 0, 0.0
    for started in range(1, profile.repetitions + 1):
        numbers = repetitions(group, profile, started)
        each = (group.in_process(number) for number in numbers)
        runs += sum(one.runs(profile.closed_rounds, profile.open_rounds) for one in each)
        runs += sum(len(task.seldom) for task in group.in_process(numbers[0]).tasks)
        taken += seconds(group, profile, started)
    return Line(group, runs, taken / 60)


def text(profile: Profile, lines: Iterable[Line]) -> str:
    """Return a plan as text, with the sum in the last line."""
    lines = list(lines)
    told = [f"profile {profile.name}: {profile.title}"]
    width = max((len(line.group.id) for line in lines), default=0)
    for line in lines:
        told.append(
            f"  {line.group.id:{width}} {len(line.group.tasks):4} settings {line.runs:5} runs"
            f" {line.minutes:6.1f} min  {figures_text(line.group.figures)}"
        )
    runs = sum(line.runs for line in lines)
    minutes = sum(line.minutes for line in lines)
    forks = f" and {profile.forks} forks of each" * (profile.forks > 1)
    told.append(
        f"  together {runs} runs, about {minutes:.0f} min of measuring in {profile.repetitions}"
        f" process{'es' * (profile.repetitions > 1)} a group{forks}, compilation and data apart"
    )
    return "\n".join(told)


def figures_text(figures: Iterable[tuple[str, str]]) -> str:
    """Return the figures of a group by paper: "multiway_aggregation 8, 9 and 14"."""
    by_paper: Mapping[str, list[str]] = {}
    for paper, figure in figures:
        by_paper.setdefault(paper, []).append(figure)
    return "; ".join(f"{paper} {', '.join(ids)}" for paper, ids in by_paper.items())
