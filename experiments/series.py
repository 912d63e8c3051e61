"""A series: a variant, with the settings that tell it from the variant's defaults.

Written ``t-gate`` or ``t-gate:levels=8`` (several settings apart by commas), in declarations, in
the rows and in the figures' tables alike. How it is drawn and which ``_extended`` figures show it
stand in the ``VARIANT`` of its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments import papers
from experiments.declare import Figure
from operators import registry
from operators.contract import Look, UsageError


class Series(NamedTuple):
    """A variant's id, and name=value of what is set beside the figure's own settings."""

    variant: str
    settings: dict[str, str]


def parse(series: str) -> Series:
    """Return the parts of a series.

    Raises
    ------
    UsageError
        When it is not of the form id:name=value,name=value.

    Examples
    --------
    >>> parse("t-gate:levels=8")
    Series(variant='t-gate', settings={'levels': '8'})
    >>> parse("mq").settings
    {}
    """
    variant, colon, rest = series.partition(":")
    settings = {}
    for entry in rest.split(",") if colon else ():
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            raise UsageError(f"a series is id:name=value, received {series!r}")
        settings[name] = value
    return Series(variant, settings)


class Drawn(NamedTuple):
    """How a series is shown.

    Its title, its look (None: chosen by its id), whether it is ours: in no figure of a paper, and
    whether it does the work of the others.
    """

    title: str
    look: Look | None
    ours: bool
    rival: bool = True


def drawn(family: str, series: str) -> Drawn:
    """Return how a series of a family is shown, the same in every figure.

    Examples
    --------
    >>> drawn("gate", "t-gate:levels=2").title
    'T-Gate, 2 levels'
    >>> drawn("aggregation", "tumlsc:ahead=64").title
    'TuMLSC, ahead 64'
    """
    own, _, settings = series.partition(":")
    try:
        variant = registry.variant(family, own)
    except UsageError:
        # Recorded by another version of Millrace: its id is all there is to show.
        return Drawn(series, None, True)
    figures = [figure for paper in papers.papers() for figure in paper.figures]
    ours = (family, series) not in {(each.family, line) for each in figures for line in each.lines}
    if not settings:
        return Drawn(variant.title, variant.look, ours)
    for shown in variant.shown:
        if shown.settings == settings:
            return Drawn(shown.title, shown.look, ours, shown.rival)
    told = [entry.replace("=", " ") for entry in settings.split(",")]
    return Drawn(", ".join([variant.title, *told]), None, ours)


def measured(paper: str, figure: Figure) -> tuple[str, ...]:
    """Return every series of a figure: the paper's lines, then those of its ``_extended`` form.

    The latter are all that name the figure in their ``VARIANT``; a figure whose query a variant
    does not take cannot show it.
    """
    family = registry.family(figure.family)
    query = figure.settings.get("query")
    found = list(figure.lines)
    for variant in registry.variants(figure.family):
        if query is not None and family.accepts(variant, str(query)):
            continue
        if figure.id in variant.extends.get(paper, ()):
            found.append(variant.id)
        found += [
            f"{variant.id}:{shown.settings}"
            for shown in variant.shown
            if figure.id in shown.extends.get(paper, ())
        ]
    return tuple(dict.fromkeys(found))


def resolved(figure: Figure, series: str, swept: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting of a series in a figure: what is given, and the defaults of the rest.

    Of what is swept, a series has what its variant takes: one that no chain length means anything
    to is the same at each of them.

    Raises
    ------
    UsageError
        When the variant is unknown, or a setting is unknown or out of its limits.
    """
    variant_id, own = parse(series)
    variant = registry.variant(figure.family, variant_id)
    without = meaningless(figure, series)
    swept = {name: value for name, value in swept.items() if name not in without}
    given = {**figure.settings, **swept, **own}
    return registry.family(figure.family).resolve(variant, given)


def meaningless(figure: Figure, series: str) -> set[str]:
    """Return the swept settings that mean nothing to a series, and something to another line."""

    def lacking(line: str) -> set[str]:
        variant = registry.variant(figure.family, parse(line).variant)
        taken = (*registry.family(figure.family).settings, *variant.parameters)
        return {sweep.setting for sweep in figure.free} - {each.name for each in taken}

    return lacking(series) - set.intersection(*map(lacking, figure.lines))
