"""What a profile will measure, and about how long that takes: printed before anything runs.

A figure is declared in ``experiments/<paper>/figures.py``; a *task* of it is one variant at one
setting, and a task's runs share a process, a bench and a throughput::

    closed run -> [rate search] -> open runs at shares of the throughput      (-> control run)
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
# Beside each run: allocation, the sentinel, the comparison with the oracle. Measured on two cores
# of an EPYC (Zen 5) as what a quick figure took, less its runs' own seconds, over its runs.
OVERHEAD_SECONDS = 0.6
# Once a figure: starting the process, loading and splitting the data.
START_SECONDS = 6.0
EXPERIMENTS = Path(__file__).resolve().parents[1]


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
    query : str
        Id of its query.
    variants : tuple of str
        The paper's.
    extended_variants : tuple of str
        All that the ``_extended`` form shows: the paper's, and ours beside them.
    axis : str
        "inputs" or "rate": what lies on the x axis.
    inputs : int
        Number of inputs where the axis is the rate; 0 where the profile has them.
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
    inputs: int = 0

    @property
    def role(self) -> str:
        """Role of the dataset that it runs on."""
        return QUERIES[self.query].role

    @property
    def measured(self) -> tuple[str, ...]:
        """Every variant that is run for it, each once."""
        return tuple(dict.fromkeys((*self.variants, *self.extended_variants)))


@dataclass(frozen=True)
class Task:
    """One variant at one setting.

    Attributes
    ----------
    variant : str
    inputs : int
    fractions : tuple of float
        Offered rates of its open runs, over its throughput.
    control : bool
        Whether the closed run is made twice (A/A).
    """

    variant: str
    inputs: int
    fractions: tuple[float, ...]
    control: bool

    @property
    def runs(self) -> int:
        """Rows it gives, the probes and the outcome of a search apart."""
        return 1 + len(self.fractions) + self.control


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

    The control run belongs to the paper's last variant at the most inputs: the setting whose
    differences matter most.
    """
    by_rate = figure.axis == "rate"
    inputs = (figure.inputs,) if by_rate else profile.inputs
    fractions = profile.rate_fractions if by_rate else (profile.open_fraction,)
    marked = (figure.variants[-1], max(inputs))
    return [
        Task(variant, count, fractions, (variant, count) == marked)
        for variant in figure.measured
        for count in inputs
    ]


def runs(figure: Figure, profile: Profile) -> int:
    """Return how many points one repetition of a figure has."""
    return sum(task.runs for task in tasks(figure, profile))


def task_seconds(task: Task, profile: Profile) -> float:
    """Return about how long a task takes, compilation apart."""
    closed = (1 + task.control) * (profile.closed_seconds + OVERHEAD_SECONDS)
    probed = profile.probes * (profile.probe_seconds + OVERHEAD_SECONDS)
    return closed + probed + len(task.fractions) * (profile.open_seconds + OVERHEAD_SECONDS)


def seconds(figure: Figure, profile: Profile) -> float:
    """Return about how long one repetition of a figure takes, compilation apart."""
    return START_SECONDS + sum(task_seconds(task, profile) for task in tasks(figure, profile))


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
