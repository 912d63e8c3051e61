"""The statements of a paper: published.yaml, read and checked.

In addition to claims the file has *findings*: the questions that a reader has, each with the ids of
the claims that answer it. A claim that no finding names becomes a finding whose question is the
claim's quote. ``docs/claims.md`` describes the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from experiments import papers, series
from experiments.declare import Figure
from experiments.judging import fields
from experiments.judging.claim_types import ALL, LOST, MANY, SHARE, TIMES, Claim, Value
from experiments.judging.comparators import comparators_of
from experiments.records.quantities import quantity
from operators import registry
from operators.contract import Parameter, UsageError


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The machine that a paper measured on; null where the paper's text is silent."""

    cpu_model: str
    physical_cores: int | None = None
    logical_cores: int | None = None
    quote: str | None = None
    section: str | None = None
    sockets: int | None = None
    memory_gb: float | None = None
    runtime: str | None = None

    def __post_init__(self) -> None:
        """Refuse a machine without a number of cores."""
        if not (self.physical_cores or self.logical_cores):
            raise UsageError("hardware needs physical_cores or logical_cores")

    @property
    def cores(self) -> int:
        """Number of cores, of the kind ``core_kind``."""
        return self.logical_cores or self.physical_cores

    @property
    def core_kind(self) -> str:
        """Whether ``cores`` are logical or physical: not every paper gives threads per core."""
        return "logical" if self.logical_cores else "physical"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The demands of a question on one of the statements, beyond the direction."""

    statement: str
    least: float | None = None
    most: float | None = None
    every: bool = False

    def __post_init__(self) -> None:
        """Refuse an entry without a demand, and factors below 1."""
        if self.least is None and self.most is None and not self.every:
            raise UsageError("asks needs least, most or every")
        if (self.least or 1.0) < 1.0 or (self.most or 1.0) < 1.0:
            raise UsageError(
                "least and most are factors of 1 or more: what is lower is so many less"
            )


@dataclass(frozen=True, kw_only=True)
class Because:
    """An explanation of a finding that fails here, and the size of a statement that supports it."""

    text: str
    statement: str
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        """Refuse an explanation that would be given whatever is measured."""
        if self.least is None and self.most is None:
            raise UsageError("because needs least or most")


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """A series whose gain from the fewest workers to the most is told beside a finding's answer."""

    text: str
    figure: str
    series: str
    quantity: str
    over: str
    tolerance: float

    def __post_init__(self) -> None:
        """Refuse a tolerance below 1."""
        if self.tolerance < 1.0:
            raise UsageError("tolerance of scaling is a factor of 1 or more")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A question that a reader has, and the ids of the statements that answer it."""

    id: str
    question: str
    statements: tuple[str, ...]
    asks: tuple[Asked, ...] = ()
    because: tuple[Because, ...] = ()
    scaling: tuple[Scaling, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a question without statements, and demands on statements of other questions."""
        if not self.statements:
            raise UsageError("statements is empty")
        for asked in self.asks:
            if asked.statement not in self.statements:
                raise UsageError(f"asks of {asked.statement!r}, which is not under {self.id!r}")


@dataclass(frozen=True, kw_only=True)
class FirstScreen:
    """The figure and the statements with which the page on a paper opens."""

    figure: str
    statements: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NotJudged:
    """A statement that is no claim, and the reason."""

    quote: str
    section: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Published:
    """The statements of a paper, with the machine and the method behind them."""

    paper: str
    title: str | None = None
    how_read: str | None = None
    hardware: Hardware
    second_hardware: Hardware | None = None
    method: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, str]
    needs: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    first_screen: FirstScreen | None = None
    findings: tuple[Finding, ...] = ()
    claims: tuple[Claim, ...]
    not_judged: tuple[NotJudged, ...] = ()


class EachKeyOnce(yaml.SafeLoader):
    """Refuse a mapping with a duplicate key, of which YAML's loaders keep the last."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        """Return a mapping as written, after checking that the keys differ."""
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if key.value in lines:
                told = f"in line {lines[key.value]} and in line {line}"
                raise yaml.YAMLError(f"the key {key.value!r} is there twice, {told}")
            lines[key.value] = line
        return node


def read_published(paper: str) -> Published:
    """Return the published.yaml of a paper, with ``findings`` that name every claim once.

    Raises
    ------
    UsageError
        When it cannot be read, a field is missing, unknown or duplicate, it is another paper's,
        it names a figure, variant, setting, comparator, quantity or claim that does not exist, a
        setting does not take a value, or a claim stands under two findings.
    """
    path = papers.published_file(paper)
    try:
        written = yaml.load(path.read_text(encoding="utf-8"), EachKeyOnce)
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read published statements {path}: {error}") from error
    try:
        return _published(paper, written)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _published(paper: str, written: object) -> Published:
    """Return the checked content of a paper's file."""
    if isinstance(written, Mapping) and written.get("paper", paper) != paper:
        raise UsageError(f"it is of {written['paper']!r}, not of {paper!r}")

    def claim(entry: object, number: int) -> Claim:
        name = entry.get("id", number) if isinstance(entry, Mapping) else number
        try:
            return claim_of(paper, entry)
        except UsageError as error:
            raise UsageError(f"claim {name!r}: {error}") from error

    published = fields.read(Published, written, readers={Claim: claim})
    for each in published.claims:
        try:
            _check(each, published)
        except UsageError as error:
            raise UsageError(f"claim {each.id!r}: {error}") from error
    _check_first_screen(published)
    _check_scaling(published)
    return replace(published, findings=_findings(published))


def claim_of(paper: str, written: object) -> Claim:
    """Return an entry of ``claims`` as the type that the comparator declares.

    Raises
    ------
    UsageError
        When it names no comparator of the paper, or a field is missing, unknown to that comparator,
        or not of the declared type.
    """
    if not isinstance(written, Mapping):
        raise UsageError(f"a claim is a mapping of fields, not {written!r}")
    if "comparator" not in written:
        raise UsageError("lacks comparator")
    comparators = comparators_of(paper)
    name = written["comparator"]
    _one_of("comparator", name, sorted(comparators))
    return fields.read(comparators[name].claim, written, of=f"of comparator {name!r}")


def _check(claim: Claim, published: Published) -> None:
    """Raise when a claim names something that does not exist.

    The figures and lines of a claim whose variant is not built yet (``needs``) are not checked.
    """
    for name in claim.quantities:
        quantity(name)
    unit = quantity(claim.quantity).unit
    if claim.value != LOST:
        _one_of("unit", claim.unit, (TIMES, unit) if unit else (TIMES, unit, SHARE))
    _check_repeats(claim, published.claims)
    for line in claim.reads.lines:
        _one_of("variant", line, published.variants)
    if claim.needs is not None:
        _one_of("need", claim.needs, published.needs)
        return
    figures = [papers.figure(published.paper, figure) for figure in claim.figures]
    shown = list(dict.fromkeys(line for figure in figures for line in figure.lines))
    for line in claim.reads.lines:
        _one_of("line of its figures", line, shown)
    known = sorted({name for figure in figures for name in _settings_of(figure)})
    for name in claim.reads.settings:
        _one_of("setting", name, known)
    for figure in figures:
        for field_name, setting, value in claim.values(figure):
            # A claim may have several figures, and a setting may belong to only one of them.
            if taken := [each for each in _parameters_of(figure) if each.name == setting]:
                _check_value(field_name, value, taken)


def _check_first_screen(published: Published) -> None:
    """Raise when the page is to open with a figure or a statement that does not exist."""
    first = published.first_screen
    if first is None:
        return
    papers.figure(published.paper, first.figure)
    for name in first.statements:
        _one_of("statement of first_screen", name, [claim.id for claim in published.claims])


def _check_scaling(published: Published) -> None:
    """Raise when a series whose gain is to be told is in no form of its figure."""
    for each in (told for finding in published.findings for told in finding.scaling):
        figure = papers.figure(published.paper, each.figure)
        _one_of(f"series of scaling in figure {figure.id}", each.series, series.measured(figure))
        _one_of("setting of scaling", each.over, [sweep.setting for sweep in figure.free])
        shown = (*figure.quantities, *figure.extended_quantities)
        _one_of("quantity of scaling", each.quantity, shown)


def _check_value(field_name: str, value: Value, taken: Iterable[Parameter]) -> None:
    """Raise unless one of the variants that take a setting accepts this value."""
    if value == ALL:
        return
    numbers = [each for each in taken if not each.choices]
    if value == MANY and numbers:
        return
    problem: UsageError | None = None
    for parameter in taken:
        try:
            # A number written as text equals no measured value.
            if parameter.check(value) == value:
                return
            problem = UsageError(f"{parameter.name} must be a number, received {value!r}")
        except UsageError as error:
            problem = error
    raise UsageError(f"{field_name}: {problem}")


def _check_repeats(claim: Claim, claims: Iterable[Claim]) -> None:
    """Raise when two claims share an id, or a claim repeats one that is itself a repetition."""
    if sum(each.id == claim.id for each in claims) > 1:
        raise UsageError("there are two claims of this id")
    alone = {each.id for each in claims if each.repeats is None}
    if claim.repeats is not None and claim.repeats not in alone:
        raise UsageError(f"repeats {claim.repeats!r}, which is no claim that stands by itself")


def _settings_of(figure: Figure) -> set[str]:
    """Return the names of all settings that the points of a figure have."""
    named = {parameter.name for parameter in _parameters_of(figure)}
    return named | set(figure.settings) | {sweep.setting for sweep in figure.free}


def _parameters_of(figure: Figure) -> list[Parameter]:
    """Return the settings that the family of a figure and the figure's variants take."""
    variants = [registry.variant(figure.family, line.variant) for line in figure.lines]
    taken = [registry.family(figure.family).settings, *(each.parameters for each in variants)]
    return [parameter for parameters in taken for parameter in parameters]


def _one_of(noun: str, name: object, known: Iterable[str]) -> None:
    """Raise unless a name is known."""
    known = list(known)
    if name not in known:
        raise UsageError(f"unknown {noun} {name!r}; there are: {', '.join(known)}")


def _findings(published: Published) -> tuple[Finding, ...]:
    """Return the findings of a paper, and one more for each claim that no finding names."""
    known = {claim.id for claim in published.claims}
    named = Counter(name for finding in published.findings for name in finding.statements)
    for name, times in named.items():
        if name not in known:
            raise UsageError(f"a finding names {name!r}, which is no claim")
        if times > 1:
            raise UsageError(f"claim {name!r} stands under {times} findings")
    for each in (reason for finding in published.findings for reason in finding.because):
        if each.statement not in known:
            raise UsageError(f"because names {each.statement!r}, which is no claim")
    alone = (claim for claim in published.claims if claim.id not in named)
    asked = (Finding(id=each.id, question=each.quote, statements=(each.id,)) for each in alone)
    return (*published.findings, *asked)
