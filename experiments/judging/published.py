"""The statements of a paper: its published.yaml, read and checked.

In addition to the claims the file has *findings*, the questions that a reader has, each with the
ids of the claims that answer it. A claim that no finding names becomes a finding, asked in the
words of its quote. ``docs/claims.md`` describes the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from experiments import papers
from experiments.declare import Figure
from experiments.judging import fields
from experiments.judging.claim_types import ALL, LOST, MANY, SHARE, TIMES, Claim, Value
from experiments.judging.comparators import comparators_of
from experiments.records.quantities import quantity
from operators import registry
from operators.contract import Parameter, UsageError


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The machine that a paper measured on; null is what its text does not tell."""

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
        """How many cores it has, by ``core_kind``."""
        return self.logical_cores or self.physical_cores

    @property
    def core_kind(self) -> str:
        """Whether ``cores`` are logical or physical: not every paper tells threads a core."""
        return "logical" if self.logical_cores else "physical"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A question that a reader has, and the ids of the statements that answer it."""

    id: str
    question: str
    statements: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a question that nothing answers."""
        if not self.statements:
            raise UsageError("statements is empty")


@dataclass(frozen=True, kw_only=True)
class NotJudged:
    """A statement that is no claim, and why."""

    quote: str
    section: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a paper states."""

    paper: str
    title: str | None = None
    how_read: str | None = None
    hardware: Hardware
    second_hardware: Hardware | None = None
    method: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, str]
    needs: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    claims: tuple[Claim, ...]
    not_judged: tuple[NotJudged, ...] = ()


class _EachKeyOnce(yaml.SafeLoader):
    """Refuses a mapping that has a key twice, of which YAML's own loaders keep the last."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        """Return a mapping as it is written, whose keys differ."""
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
        When it cannot be read, a field is missing, unknown or there twice, it is another paper's,
        it names a figure, variant, setting, comparator, quantity or claim that does not exist, a
        setting does not take a value, or a claim stands under two findings.
    """
    path = papers.published_file(paper)
    try:
        written = yaml.load(path.read_text(encoding="utf-8"), _EachKeyOnce)
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read published statements {path}: {error}") from error
    try:
        return _published(paper, written)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _published(paper: str, written: object) -> Published:
    """Return the content of a paper's file, checked."""
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
    return replace(published, findings=_findings(published))


def claim_of(paper: str, written: object) -> Claim:
    """Return an entry of ``claims`` as the type that its comparator has.

    Raises
    ------
    UsageError
        When it names no comparator of the paper, or a field is missing, unknown to that comparator,
        or not of its type.
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

    A claim that needs what is not built names figures and lines that will exist.
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
            # A setting that a figure lacks is one of another figure of the claim.
            if taken := [each for each in _parameters_of(figure) if each.name == setting]:
                _check_value(field_name, value, taken)


def _check_value(field_name: str, value: Value, taken: Iterable[Parameter]) -> None:
    """Raise unless one of the variants that take a setting takes this value of it."""
    if value == ALL:
        return
    numbers = [each for each in taken if not each.choices]
    if value == MANY and numbers:
        return
    problem: UsageError | None = None
    for parameter in taken:
        try:
            # A number that is written as text is equal to none that was measured.
            if parameter.check(value) == value:
                return
            problem = UsageError(f"{parameter.name} must be a number, received {value!r}")
        except UsageError as error:
            problem = error
    raise UsageError(f"{field_name}: {problem}")


def _check_repeats(claim: Claim, claims: Iterable[Claim]) -> None:
    """Raise when two claims have one id, or a claim repeats one that is itself a repetition."""
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
    """Return the settings that the family of a figure takes, and those that its variants take."""
    variants = [registry.variant(figure.family, line.variant) for line in figure.lines]
    taken = [registry.family(figure.family).settings, *(each.parameters for each in variants)]
    return [parameter for parameters in taken for parameter in parameters]


def _one_of(noun: str, name: object, known: Iterable[str]) -> None:
    """Raise unless a name is known."""
    known = list(known)
    if name not in known:
        raise UsageError(f"unknown {noun} {name!r}; there are: {', '.join(known)}")


def _findings(published: Published) -> tuple[Finding, ...]:
    """Return the findings of a paper, and one more for each claim that stands under none."""
    known = {claim.id for claim in published.claims}
    named = Counter(name for finding in published.findings for name in finding.statements)
    for name, times in named.items():
        if name not in known:
            raise UsageError(f"a finding names {name!r}, which is no claim")
        if times > 1:
            raise UsageError(f"claim {name!r} stands under {times} findings")
    alone = (claim for claim in published.claims if claim.id not in named)
    asked = (Finding(id=each.id, question=each.quote, statements=(each.id,)) for each in alone)
    return (*published.findings, *asked)
