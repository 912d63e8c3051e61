"""The declarations of papers and families: figures, sweeps, series, quantities and phases.

A paper declares its figures once, in ``experiments/<paper>/figures.py``; planning, running,
judging, drawing, report and notebook use that declaration. A family or a paper declares a quantity
once; columns of the raw results, axes, verdicts and the report use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from operators.contract import UsageError

# The sizes in which values of a sweep, and rows of a dataset, are declared; a profile names one.
SIZES = ("quick", "laptop", "paper")
# The x axis of a figure that sweeps no setting.
OFFERED_RATE = "offered rate"
LINES = "lines"
# The quantities of memory that every family has: of its state, and added by a run. One figure of
# each paper shows them in its extended form.
MEMORY = ("state_mib", "added_mib")

_ID = re.compile(r"([0-9]+)([a-z]*)")


@dataclass(frozen=True)
class Quantity:
    """A measured quantity, and its presentation everywhere.

    Attributes
    ----------
    name : str
        Column of a raw result, unit last.
    unit : str
    meaning : str
        One clause, for the column and the glossary.
    words : str
        In a verdict: "throughput".
    label : str
        On an axis, without the unit; empty for quantities that no figure draws.
    better : str
        "higher" or "lower".
    phase : str
        The kind of run that yields it, see ``experiments.records.columns``.
    absent : str
        When the column may be null.
    timed : bool
        Whether it is a measurement of time, which the state of the machine affects; a count is not.
    arithmetic : bool
        Whether the mean is arithmetic, as that of every count: it may be 0.
    total_label : str
        The label of an axis on which parts of a whole are stacked, of which this is one.
    short_label : str
        A short label where several quantities share a panel.
    of_wrong : bool
        Whether a run with a wrong output has it too.
    bracket : str
        Of a rate: the quantity, itself or another, whose rate search gives the bracket to draw.
    compute : callable, optional
        ``compute(row)`` computes it from other columns; then it has no column.
    """

    name: str
    unit: str
    meaning: str
    words: str
    label: str
    better: str
    phase: str
    absent: str = "when the run failed"
    timed: bool = True
    arithmetic: bool = False
    total_label: str = ""
    short_label: str = ""
    bracket: str = ""
    of_wrong: bool = False
    compute: Callable[[Mapping[str, Any]], float | None] | None = None

    def value(self, row: Mapping[str, Any]) -> float | None:
        """Return the value in a raw result; for a multiplied quantity, 0 is no value."""
        found = self.compute(row) if self.compute else row.get(self.name)
        return found if found or self.is_added else None

    @property
    def is_added(self) -> bool:
        """Whether the mean is arithmetic."""
        return self.arithmetic or not self.timed


# How often a phase is run: once a round, once a started process, or once or twice in all.
EACH_ROUND, EACH_PROCESS, ONCE = "each round", "each process", "once"
TWICE = "twice"


class Phase(NamedTuple):
    """A kind of run that a family's quantities need and that is not a slice among slices.

    Declared in ``PHASES`` of the family's columns; a phase without a declaration is run as a closed
    slice, once a round.

    Attributes
    ----------
    name : str
    often : str or callable
        ``EACH_ROUND``, ``EACH_PROCESS`` (in the first round of each that is started), ``ONCE`` (by
        the first process) or ``TWICE`` (by each of the first two); or ``often(settings)``, which
        returns one of these.
    seconds : callable
        ``seconds(settings, slice_seconds)``: about how long it takes, given slices of that length.
    alone : bool
        Whether it needs no slices: a setting with only such phases has none. The bench decides how
        long the run is.
    """

    name: str
    often: str | Callable[[Mapping[str, Any]], str]
    seconds: Callable[[Mapping[str, Any], float], float]
    alone: bool = False

    def often_at(self, settings: Mapping[str, Any]) -> str:
        """Return how often it is run at some settings."""
        return self.often(settings) if callable(self.often) else self.often


class Overhead(NamedTuple):
    """The extra time that a family's runs take, and the number of processes that measure a setting.

    Declared as ``OVERHEAD`` in the columns of a family whose runs take more time than those of
    others, or are made in fewer processes.

    Attributes
    ----------
    setting : callable
        ``setting(settings)``: about the seconds to add once a setting and process, such as the
        filling of windows.
    run : callable
        ``run(settings, slice_seconds)``: about the seconds to add to every closed run, such as
        those of the oracle, and those for which it lasts longer than a slice.
    processes : callable
        ``processes(settings)``: the most processes that measure a setting, None for all of them.
    forks : bool
        Whether a process that has measured a first setting can fork others; not with Java in it.
    """

    setting: Callable[[Mapping[str, Any]], float]
    run: Callable[[Mapping[str, Any], float], float]
    processes: Callable[[Mapping[str, Any]], int | None] = lambda settings: None
    forks: bool = True


@dataclass(frozen=True)
class Sweep:
    """A setting that takes several values in a figure.

    Attributes
    ----------
    setting : str
        Name of the setting.
    values : mapping of str to tuple
        By size, in the order of the axis; numbers or words.
    words : str
        The unit that the values count, in the plural: "update threads".
    label : str
        Of an axis that shows them, where `words` alone do not suffice: "window (tuples)".
    extended : mapping of str to tuple
        By size, the only values at which series of the ``_extended`` form are measured; all where a
        size is missing.
    """

    setting: str
    values: Mapping[str, tuple]
    words: str
    extended: Mapping[str, tuple] = field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        """Refuse a sweep that lacks a size."""
        missing = [size for size in SIZES if not self.values.get(size)]
        if missing:
            raise ValueError(f"sweep of {self.setting!r} has no values for: {', '.join(missing)}")

    def sort_key(self, value: Any) -> tuple[Any, str]:
        """Return the sort key of a value: numbers by themselves, words as declared."""
        if not isinstance(value, str):
            return value, ""
        # The widest size first: it has the words of the others.
        words = list(dict.fromkeys(v for size in reversed(SIZES) for v in self.values[size]))
        return words.index(value) if value in words else len(words), value


class Series(str):
    """A line of a figure: a variant, with the settings that differ from the variant's defaults.

    A series is a string, ``t-gate`` or ``t-gate:levels=8,ahead=64``, and is declared, claimed,
    compared, sorted and stored as such. Only this class parses it.

    Raises
    ------
    UsageError
        When the text is not of the form id:name=value,name=value.

    Examples
    --------
    >>> line = Series("t-gate:levels=8")
    >>> line.variant, line.settings
    ('t-gate', {'levels': '8'})
    """

    def __new__(cls, text: str) -> Series:
        """Refuse a text that is no series."""
        variant, colon, entries = text.partition(":")
        named = [entry.partition("=") for entry in entries.split(",")] if colon else []
        if not (variant and all(map(all, named))):
            raise UsageError(f"a series is id:name=value, received {str(text)!r}")
        return super().__new__(cls, text)

    @classmethod
    def of(cls, variant: str, settings: Mapping[str, Any]) -> Series:
        """Return the series of a variant at some settings; at the defaults where there are none."""
        entries = ",".join(f"{name}={value}" for name, value in settings.items())
        return cls(f"{variant}:{entries}" if entries else variant)

    @property
    def variant(self) -> str:
        """The id of the variant."""
        return self.partition(":")[0]

    @property
    def settings(self) -> dict[str, str]:
        """The text of each setting by name."""
        entries = self.partition(":")[2]
        return dict(entry.split("=", 1) for entry in entries.split(",") if entry)


class Heading(NamedTuple):
    """A group of figures in the report: its id in the declarations, a heading and a sentence."""

    id: str
    title: str
    sentence: str


def bounded(bounds: Mapping[str, tuple[str, Sequence[int | None]]]) -> tuple[Series, ...]:
    """Return lines ``mq:ahead=64`` and so on, plain ids at None, for the form ``in_flight``."""
    return tuple(
        Series.of(variant, {} if value is None else {name: value})
        for variant, (name, values) in bounds.items()
        for value in values
    )


@dataclass(frozen=True)
class Figure:
    """One figure of a paper: the settings to run, and the way to draw them.

    Attributes
    ----------
    id : str
        The paper's id: a number, or a number and a letter for a panel, such as "8a".
    title : str
        The content, for lists.
    caption : str
        The same in the few words above the picture.
    subject : str
        The workload of the variants, in a word or two: "k-OS".
    family : str
    lines : tuple of Series
        The series of the paper, which may be declared as text; the others of the ``_extended`` form
        name this figure in their ``VARIANT``.
    x : Sweep or str
        The x axis: a swept setting, ``OFFERED_RATE``, or ``LINES`` where each line has one point.
    form : str
        Module of ``figures/forms`` that draws it, or of ``figures/<paper>``.
    heading : str
        Id of the heading above it.
    quantities, extended_quantities : tuple of str
        The quantities of the panels, in the paper's form and in the extended one.
    settings : mapping
        Settings that every line has.
    sweeps : tuple of Sweep
        Other swept settings: a line for each value. A sweep with a single value in each profile
        makes no lines: profiles differ in the value, and each has a separate panel.
    panels : Sweep, optional
        A setting with a panel for each value, side by side; all panels have the same lines.
    about : str
        Notes for a reader of this figure and no other; sentences.
    measured_with : str
        Name of the group that measures the settings; empty for those of their datasets and queries.
    model : str
        Name of a module of the paper's folder whose ``predict(measured, figure)`` returns
        predictions (``experiments.predictions``); ``measured(id)`` gives the points of a figure of
        the paper. The forms ``curves``, ``side_by_side`` and ``stack`` draw it with the paper's
        lines, not in the extended form. Empty where nothing is predicted.
    excluded : callable, optional
        ``excluded(settings)``: whether a structure lacks a part that the settings ask for, and
        would do the same as another line. Such settings are neither measured nor shown.
    beyond : tuple of float
        Of a figure over the offered rate: shares of a line's throughput that are offered in
        addition to those of the profile, such as 1.5.
    logarithmic : bool
        Whether rates of the paper's form ``curves`` that span more than a decade have a
        logarithmic axis, where low lines would otherwise lie on the x axis. The extended form
        always has one.
    absent_from : tuple of str
        Sizes that neither measure nor show it: those with so few points that it would show nothing.
    noted : tuple of str
        Quantities that no panel shows but that a reader needs to trust the panels: their range by
        line is below the picture, and the values are in the CSV.
    paper : str
        Id of the paper, set by ``Paper``; see ``paper_of``.
    """

    id: str
    title: str
    caption: str
    subject: str
    family: str
    lines: tuple[Series, ...]
    x: Sweep | str
    form: str
    heading: str
    quantities: tuple[str, ...]
    extended_quantities: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    sweeps: tuple[Sweep, ...] = ()
    panels: Sweep | None = None
    about: str = ""
    measured_with: str = ""
    model: str = ""
    # Left out of the figure's repr, which has to be the same in every process.
    excluded: Callable[[Mapping[str, Any]], bool] | None = field(default=None, repr=False)
    beyond: tuple[float, ...] = ()
    logarithmic: bool = False
    absent_from: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    paper: str = ""

    def __post_init__(self) -> None:
        """Refuse an id that does not suit files, anchors and lists; convert lines to series."""
        if not _ID.fullmatch(self.id):
            raise ValueError(f"figure id {self.id!r} is no number with or without a letter: 8, 8a")
        object.__setattr__(self, "lines", tuple(map(Series, self.lines)))

    def includes(self, settings: Mapping[str, Any]) -> bool:
        """Say whether the figure includes these settings, all of a line's."""
        return self.excluded is None or not self.excluded(settings)

    def declares(self, settings: Mapping[str, Any], size: str) -> bool:
        """Say whether the figure declares these settings; a line may lack a swept one."""
        return (
            size not in self.absent_from
            and self.includes(settings)
            and all(
                settings[sweep.setting] in sweep.values[size]
                for sweep in self.free
                if sweep.setting in settings
            )
        )

    @property
    def free(self) -> tuple[Sweep, ...]:
        """The swept settings, x last."""
        return tuple(
            each for each in (self.panels, *self.sweeps, self.x) if isinstance(each, Sweep)
        )

    def words_of(self, setting: str) -> str:
        """Return the unit that the values of a setting count, in the plural."""
        named = {sweep.setting: sweep.words for sweep in self.free}
        return named.get(setting, setting.replace("_", " "))

    @property
    def lined(self) -> tuple[Sweep, ...]:
        """The swept settings other than x that make a line for each value."""
        return tuple(s for s in self.sweeps if any(len(values) > 1 for values in s.values.values()))

    @property
    def columned(self) -> tuple[Sweep, ...]:
        """The swept settings that have a panel for each value."""
        panels = () if self.panels is None else (self.panels,)
        return (*panels, *(sweep for sweep in self.sweeps if sweep not in self.lined))

    @property
    def x_label(self) -> str:
        """The label of an x axis that shows a setting."""
        words = self.x.label or self.x.words
        return f"{words[0].upper()}{words[1:]}"

    def setting_text(self, setting: str, value: object) -> str:
        """Return a setting in words: "1 input", "2,000 inputs", "query K-OS"."""
        words = self.words_of(setting)
        if isinstance(value, float):
            value = int(value) if value.is_integer() else f"{value:g}"
        if isinstance(value, str) or not words.endswith("s"):
            return f"{words} {value:,}" if isinstance(value, int) else f"{words} {value}"
        return f"{value:,} {words[:-1] if value == 1 else words}"


@dataclass(frozen=True)
class Paper:
    """A paper: figures in order, under headings.

    It ends ``experiments/<paper>/figures.py``, where ``experiments.papers`` finds it. The figures
    are copies of the declared ones, each with the id of the paper.
    """

    id: str
    title: str
    headings: tuple[Heading, ...]
    figures: tuple[Figure, ...]

    def __post_init__(self) -> None:
        """Refuse two figures with one id, a missing heading and a figure of another paper.

        Each figure gets the paper's id.
        """
        ids = [figure.id for figure in self.figures]
        repeated = sorted({each for each in ids if ids.count(each) > 1})
        if repeated:
            raise ValueError(f"paper {self.id} has two figures with the id {repeated[0]!r}")
        known = {heading.id for heading in self.headings}
        for figure in self.figures:
            if figure.paper not in ("", self.id):
                raise ValueError(
                    f"paper {self.id} takes figure {figure.id}, which is one of {figure.paper}"
                )
            if figure.heading not in known:
                raise ValueError(
                    f"figure {figure.id} of {self.id} stands under the heading"
                    f" {figure.heading!r}; there are: {', '.join(sorted(known))}"
                )
        own = tuple(replace(figure, paper=self.id) for figure in self.figures)
        object.__setattr__(self, "figures", own)


def paper_of(figure: Figure) -> str:
    """Return the id of a figure's paper.

    Raises
    ------
    UsageError
        When no paper has taken it: measurements and presentation differ by paper.
    """
    if not figure.paper:
        raise UsageError(
            f"figure {figure.id} is of no paper: take it from the figures of a Paper, which gives"
            " them its id"
        )
    return figure.paper


def order_of(figure_id: str) -> tuple[int, str]:
    """Return the sort key of a figure id: 8, 8a, 8b, 10.

    Examples
    --------
    >>> sorted(["10", "8b", "8", "8a"], key=order_of)
    ['8', '8a', '8b', '10']
    """
    number, letters = _ID.fullmatch(figure_id).groups()
    return int(number), letters


def stem_of(figure_id: str) -> str:
    """Return the name of a figure's files, which sorts as the figures do.

    Examples
    --------
    >>> stem_of("8a")
    'fig_08a'
    """
    number, letters = order_of(figure_id)
    return f"fig_{number:02}{letters}"
