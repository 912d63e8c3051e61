"""What a profile will measure, and about how long that takes: printed before anything runs.

A figure is declared in ``experiments/<paper>/figures.py``; a *task* of it is one series at one
setting, and a task's runs share a process, a bench and a throughput::

    closed run -> [rate search] -> open runs at shares of the throughput      (-> control run)
    closed run -> run that times the operations                 (figures whose axis is "durations")

A series of the ``_extended`` form alone is measured in the same way, at fewer numbers of inputs:
the profile says at which.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from experiments.harness.profiles import Profile
from operators.aggregation.queries import QUERIES
from operators.contract import UsageError

# The dataset that is generated for each role.
GENERATED = {"comments": "soundcloud", "meters": "smart_meter"}
# Beside each run: a closed one's short trial, allocation, the sentinel, the comparison with the
# oracle, and now and then the whole run again because it was disturbed. Measured on two cores of an
# EPYC (Zen 5) as what a quick figure took, less its runs' own seconds, over its runs.
OVERHEAD_SECONDS = 0.15
# Once a figure: starting the process, waiting for quiet, reading compiled kernels.
START_SECONDS = 2.0
# And loading the data, and splitting it for each number of inputs, a row.
LOAD_SECONDS, SPLIT_SECONDS = 1.2e-7, 1e-7
EXPERIMENTS = Path(__file__).resolve().parents[1]


AXES = ("inputs", "rate", "update_threads", "durations")


@dataclass(frozen=True)
class Figure:
    """One figure of a paper: what is run for it.

    Attributes
    ----------
    id : str
        Name of its files, for example "fig_13".
    paper : str
        Folder below ``experiments``.
    number : int
        The paper's, or that of our notes where the paper's text lost it.
    title : str
    family : str
        "gate" or "aggregation".
    query : str
        Id of its query; empty for a gate.
    variants : tuple of str
        The paper's series, see ``experiments.harness.series``.
    extended_variants : tuple of str
        All that the ``_extended`` form shows: the paper's, and ours beside them.
    axis : str
        One of ``AXES``: what lies on the x axis. "durations" has the series there.
    inputs : tuple of int
        Numbers of inputs where they are not the axis; empty where the profile has them.
    """

    id: str
    paper: str
    number: int
    title: str
    family: str
    query: str
    variants: tuple[str, ...]
    extended_variants: tuple[str, ...]
    axis: str
    inputs: tuple[int, ...] = ()

    @property
    def role(self) -> str | None:
        """Role of the dataset that it runs on; None where the driver makes the tuples."""
        return QUERIES[self.query].role if self.query else None

    @property
    def measured(self) -> tuple[str, ...]:
        """Every series that is run for it, each once."""
        return tuple(dict.fromkeys((*self.variants, *self.extended_variants)))


@dataclass(frozen=True)
class Task:
    """One series at one setting.

    Attributes
    ----------
    series : str
    inputs : int
    update_threads : int or None
        None where they are not the axis.
    fractions : tuple of float
        Offered rates of its open runs, over its throughput.
    probes : int
        Most open runs of its rate search.
    durations : bool
        Whether there is a run that times the operations.
    control : bool
        Whether the closed run is made twice (A/A).
    """

    series: str
    inputs: int
    update_threads: int | None
    fractions: tuple[float, ...]
    probes: int
    durations: bool
    control: bool

    @property
    def runs(self) -> int:
        """Rows it gives, the probes and the outcome of a search apart."""
        return 1 + len(self.fractions) + self.durations + self.control


def papers() -> list[str]:
    """Return the papers there are: folders of ``experiments`` with a ``figures.py``."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/figures.py"))


def figures(paper: str | None = None) -> list[Figure]:
    """Return the figures of a paper, or of all papers.

    Raises
    ------
    UsageError
        When there is no such paper.
    """
    if paper is not None and paper not in papers():
        raise UsageError(f"unknown paper {paper!r}; papers are: {', '.join(papers())}")
    chosen = papers() if paper is None else [paper]
    modules = [importlib.import_module(f"experiments.{name}.figures") for name in chosen]
    return [figure for module in modules for figure in module.FIGURES]


def figure(paper: str, figure_id: str) -> Figure:
    """Return one figure.

    Raises
    ------
    UsageError
        When paper or figure is unknown.
    """
    there = {each.id: each for each in figures(paper)}
    if figure_id not in there:
        raise UsageError(
            f"unknown figure {figure_id!r} of {paper}; figures are: {', '.join(there)}"
        )
    return there[figure_id]


def tasks(figure: Figure, profile: Profile) -> list[Task]:
    """Return the tasks of one repetition of a figure, the A/A one marked.

    The control run belongs to the paper's last series at the most inputs and threads: the setting
    whose differences matter most.
    """
    inputs = figure.inputs or profile.inputs
    threads = profile.update_threads if figure.axis == "update_threads" else (None,)
    fractions = {"rate": profile.rate_fractions, "durations": ()}
    marked = (figure.variants[-1], max(inputs), threads[-1])
    found = []
    for series in figure.measured:
        ours = series not in figure.variants
        for count in inputs:
            if ours and figure.axis == "inputs" and count not in profile.extended_inputs:
                continue
            found += [
                Task(
                    series=series,
                    inputs=count,
                    update_threads=each,
                    fractions=fractions.get(figure.axis, (profile.open_fraction,)),
                    probes=0 if figure.axis == "durations" else profile.probes,
                    durations=figure.axis == "durations",
                    control=(series, count, each) == marked,
                )
                for each in threads
            ]
    return found


def runs(figure: Figure, profile: Profile) -> int:
    """Return how many points one repetition of a figure has."""
    return sum(task.runs for task in tasks(figure, profile))


def task_seconds(task: Task, profile: Profile) -> float:
    """Return about how long a task takes, compilation apart."""
    closed = (1 + task.control + task.durations) * (profile.closed_seconds + OVERHEAD_SECONDS)
    probed = task.probes * (profile.probe_seconds + OVERHEAD_SECONDS)
    return closed + probed + len(task.fractions) * (profile.open_seconds + OVERHEAD_SECONDS)


def seconds(figure: Figure, profile: Profile) -> float:
    """Return about how long one repetition of a figure takes, compilation apart."""
    planned = tasks(figure, profile)
    rows = profile.rows[GENERATED[figure.role]] if figure.role else 0
    splits = len({task.inputs for task in planned})
    data = rows * (LOAD_SECONDS + splits * SPLIT_SECONDS)
    return START_SECONDS + data + sum(task_seconds(task, profile) for task in planned)


@dataclass(frozen=True)
class Line:
    """One figure of a plan: points and minutes of all repetitions together."""

    figure: Figure
    points: int
    minutes: float


def plan(profile: Profile, paper: str | None = None) -> list[Line]:
    """Return what a profile measures, a line a figure.

    Raises
    ------
    UsageError
        When there is no such paper.
    """
    return [
        Line(
            each,
            profile.repetitions * runs(each, profile),
            profile.repetitions * seconds(each, profile) / 60,
        )
        for each in figures(paper)
    ]


def text(profile: Profile, lines: Iterable[Line]) -> str:
    """Return a plan as text, its sum in the last line."""
    lines = list(lines)
    told = [f"profile {profile.name}: {profile.title}"]
    for line in lines:
        told.append(
            f"  {line.figure.paper} {line.figure.id:8} {line.points:4} points"
            f" {line.minutes:6.1f} min  {line.figure.title}"
        )
    points = sum(line.points for line in lines)
    minutes = sum(line.minutes for line in lines)
    told.append(
        f"  together {points} points, about {minutes:.0f} min of measuring"
        f" ({profile.repetitions} x), compilation and data apart"
    )
    return "\n".join(told)
