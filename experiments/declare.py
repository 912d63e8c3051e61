"""The words in which papers and families say what is run and what it gives.

A paper declares its figures once, in ``experiments/<paper>/figures.py``; planning, running,
judging, drawing, report and notebook read that declaration. A family or a paper declares a quantity
once; columns of the raw results, axes, verdicts and the report read it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from operators.contract import UsageError

# The sizes in which values of a sweep, and rows of a dataset, are declared; a profile names one.
SIZES = ("quick", "laptop", "paper")
# What lies on the x axis of a figure that sweeps no setting.
OFFERED_RATE = "offered rate"
LINES = "lines"

_ID = re.compile(r"([0-9]+)([a-z]*)")


@dataclass(frozen=True)
class Quantity:
    """Something that is measured, and all that anybody says about it.

    Attributes
    ----------
    name : str
        Its column in a raw result, unit last.
    unit : str
    meaning : str
        One clause, for the column and the glossary.
    words : str
        In a verdict: "throughput".
    label : str
        On an axis, without the unit; empty for what no figure draws.
    better : str
        "higher" or "lower".
    phase : str
        The kind of run that gives it, see ``experiments.records.columns``.
    absent : str
        When its column may be null.
    timed : bool
        Whether it is a measurement of time, which the state of the machine touches; a count is not.
    added : bool
        Whether its mean is arithmetic, as that of every count: it may be 0.
    whole : str
        The label of an axis on which parts of a whole are stacked, of which this is one.
    short : str
        A word for where several quantities share a panel.
    bracket : str
        Of a rate: the quantity, itself or another, whose rate search's bracket is drawn beside it.
    of : callable, optional
        ``of(row)`` computes it from other columns; then it has no column of its own.
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
    added: bool = False
    whole: str = ""
    short: str = ""
    bracket: str = ""
    of: Callable[[Mapping[str, Any]], float | None] | None = None

    def value(self, row: Mapping[str, Any]) -> float | None:
        """Return its value in a raw result; of what is multiplied, 0 is no value."""
        found = self.of(row) if self.of else row.get(self.name)
        return found if found or self.is_added else None

    @property
    def is_added(self) -> bool:
        """Whether its mean is arithmetic."""
        return self.added or not self.timed


# How often a phase is run: once a round, once a process, or once at all.
EACH_ROUND, EACH_PROCESS, ONCE = "each round", "each process", "once"


class Phase(NamedTuple):
    """A kind of run that a family's quantities bring, where it is not a slice among slices.

    It stands in ``PHASES`` of the family's columns; a phase that does not is run as a closed slice,
    once a round.

    Attributes
    ----------
    name : str
    often : str
        ``EACH_ROUND``, ``EACH_PROCESS`` (in its first round) or ``ONCE`` (by the first process).
    seconds : callable
        ``seconds(settings, slice_seconds)``: about how long it takes beside slices of that length.
    alone : bool
        Whether it needs no slices: a setting that is asked for nothing else has none. Its bench
        says itself how long the run is.
    """

    name: str
    often: str
    seconds: Callable[[Mapping[str, Any], float], float]
    alone: bool = False


class Beside(NamedTuple):
    """What a family's runs take beside their own length, and in how many processes they are made.

    Where the one is more than other families', or the other fewer. It stands as ``BESIDE`` in the
    family's columns.

    Attributes
    ----------
    setting : callable
        ``setting(settings)``: about the seconds that come once a setting and process, such as the
        filling of windows.
    run : callable
        ``run(settings, slice_seconds)``: about the seconds that come with every closed run, such as
        those of the oracle, and those for which it lasts longer than a slice.
    processes : callable
        ``processes(settings)``: in how many processes a setting is measured at most, None where it
        is in all of them.
    """

    setting: Callable[[Mapping[str, Any]], float]
    run: Callable[[Mapping[str, Any], float], float]
    processes: Callable[[Mapping[str, Any]], int | None] = lambda settings: None


@dataclass(frozen=True)
class Sweep:
    """A setting that a figure goes through.

    Attributes
    ----------
    setting : str
        Its name.
    values : mapping of str to tuple
        By size, in the order of the axis; numbers or words.
    words : str
        What its values count, in the plural: "update threads".
    label : str
        Of an axis that shows them, where `words` alone do not say it: "window (tuples)".
    extended : mapping of str to tuple
        By size, those of the values at which series of the ``_extended`` form alone are measured;
        all where a size is missing.
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

    def place_of(self, value: Any) -> tuple[Any, str]:
        """Return what its values are sorted by: numbers by themselves, words as declared."""
        if not isinstance(value, str):
            return value, ""
        # The widest size first: it has the words of the others.
        words = list(dict.fromkeys(v for size in reversed(SIZES) for v in self.values[size]))
        return words.index(value) if value in words else len(words), value


class Series(str):
    """A line of a figure: a variant, with the settings that tell it from the variant's defaults.

    It is its text, ``t-gate`` or ``t-gate:levels=8,ahead=64``: by that it is declared, claimed,
    compared, sorted and stored. Nothing else takes the text apart.

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
        """Return the series of a variant at some settings; at its defaults where there are none."""
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
    """Return as lines ``mq:ahead=64`` and so on, plain ids at None: what a form in_flight takes."""
    return tuple(
        Series.of(variant, {} if value is None else {name: value})
        for variant, (name, values) in bounds.items()
        for value in values
    )


@dataclass(frozen=True)
class Figure:
    """One figure of a paper: what is run for it, and how it is drawn.

    Attributes
    ----------
    id : str
        The paper's: a number, or a number and a letter for a panel, such as "8a".
    title : str
        What it shows, for lists.
    caption : str
        The same in the few words that stand above the picture.
    subject : str
        What was asked of the variants, in a word or two: "k-OS".
    family : str
    lines : tuple of Series
        The series of the paper, which may be declared as text; the others of the ``_extended`` form
        name this figure in their ``VARIANT``.
    x : Sweep or str
        What lies on the x axis: a swept setting, ``OFFERED_RATE``, or ``LINES`` where each line has
        one place.
    form : str
        Module of ``figures/forms`` that draws it, or of ``figures/<paper>``.
    heading : str
        Id of the heading that it stands under.
    quantities, extended_quantities : tuple of str
        What its panels show, in the paper's form and in the extended one.
    settings : mapping
        Settings that every line has.
    sweeps : tuple of Sweep
        Settings swept beside x: a line for each value. One that has a single value in each profile
        makes no lines: profiles differ in it, and each has a panel of its own.
    beside : Sweep, optional
        A setting that has a panel of its own for each value, beside each other; its lines are those
        of any other panel.
    about : str
        What a reader has to know of this figure and no other; sentences.
    measured_with : str
        Name of the group that its settings are measured in; empty for those of their datasets and
        queries.
    model : str
        Name of a module of the paper's folder whose ``predict(measured, figure)`` returns what to
        expect (``experiments.predictions``); ``measured(id)`` gives the points of a figure of the
        paper. The forms ``curves``, ``beside`` and ``stack`` draw it with the paper's lines, not in
        the extended form. Empty where nothing is predicted.
    lacks : callable, optional
        ``lacks(settings)``: whether a structure does not have what a line asks of it there, and
        would do what another line does. Such a place is neither measured for the figure nor shown.
    beyond : tuple of float
        Of a figure over the offered rate: shares of a line's own throughput that are offered beside
        those that the profile has for all, such as 1.5.
    paper : str
        Id of its paper, which ``Paper`` sets; see ``paper_of``.
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
    beside: Sweep | None = None
    about: str = ""
    measured_with: str = ""
    model: str = ""
    # What it says is in no text of the figure, which has to be the same in every process.
    lacks: Callable[[Mapping[str, Any]], bool] | None = field(default=None, repr=False)
    beyond: tuple[float, ...] = ()
    paper: str = ""

    def __post_init__(self) -> None:
        """Refuse an id that no file, anchor or list could go by; take lines as series."""
        if not _ID.fullmatch(self.id):
            raise ValueError(f"figure id {self.id!r} is no number with or without a letter: 8, 8a")
        object.__setattr__(self, "lines", tuple(map(Series, self.lines)))

    def has(self, settings: Mapping[str, Any]) -> bool:
        """Say whether there is a place with these settings, all of a line's."""
        return self.lacks is None or not self.lacks(settings)

    def asks(self, settings: Mapping[str, Any], size: str) -> bool:
        """Say whether a place is one that it declares for a size; a line may lack what is swept."""
        return self.has(settings) and all(
            settings[sweep.setting] in sweep.values[size]
            for sweep in self.free
            if sweep.setting in settings
        )

    @property
    def free(self) -> tuple[Sweep, ...]:
        """Its swept settings, x last."""
        return tuple(
            each for each in (self.beside, *self.sweeps, self.x) if isinstance(each, Sweep)
        )

    def words_of(self, setting: str) -> str:
        """Return what the values of a setting count, in the plural."""
        named = {sweep.setting: sweep.words for sweep in self.free}
        return named.get(setting, setting.replace("_", " "))

    @property
    def lined(self) -> tuple[Sweep, ...]:
        """Its settings swept beside x that make a line for each value."""
        return tuple(s for s in self.sweeps if any(len(values) > 1 for values in s.values.values()))

    @property
    def columned(self) -> tuple[Sweep, ...]:
        """Its swept settings that have a panel of their own for each value."""
        beside = () if self.beside is None else (self.beside,)
        return (*beside, *(sweep for sweep in self.sweeps if sweep not in self.lined))

    @property
    def x_label(self) -> str:
        """What stands below an x axis that shows a setting."""
        words = self.x.label or self.x.words
        return f"{words[0].upper()}{words[1:]}"

    def told(self, setting: str, value: object) -> str:
        """Return a setting in words: "1 input", "2,000 inputs", "query K-OS"."""
        words = self.words_of(setting)
        if isinstance(value, float):
            value = int(value) if value.is_integer() else f"{value:g}"
        if isinstance(value, str) or not words.endswith("s"):
            return f"{words} {value:,}" if isinstance(value, int) else f"{words} {value}"
        return f"{value:,} {words[:-1] if value == 1 else words}"


@dataclass(frozen=True)
class Paper:
    """A paper: its figures in their order, under their headings.

    It ends ``experiments/<paper>/figures.py``, where ``experiments.papers`` finds it. Its figures
    are those that were declared, each with the id of the paper.
    """

    id: str
    title: str
    headings: tuple[Heading, ...]
    figures: tuple[Figure, ...]

    def __post_init__(self) -> None:
        """Refuse two figures with one id, a missing heading and a figure of another paper.

        Each figure is given its paper.
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
        When no paper has taken it: what is measured and shown differs by paper.
    """
    if not figure.paper:
        raise UsageError(
            f"figure {figure.id} is of no paper: take it from the figures of a Paper, which gives"
            " them its id"
        )
    return figure.paper


def order_of(figure_id: str) -> tuple[int, str]:
    """Return what figure ids are sorted by: 8, 8a, 8b, 10.

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
