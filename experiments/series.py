"""The series of a figure: how each is drawn, and at which settings it is measured.

The drawing of a series, and the ``_extended`` figures that show it, are declared in the ``VARIANT``
of its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments import papers
from experiments.declare import Figure, Series, paper_of
from operators import registry
from operators.contract import Look, Shown, UsageError, Variant


class Drawn(NamedTuple):
    """The presentation of a series.

    Title; look (None: chosen by the id); whether it is ours, and so in no figure of a paper; and
    whether it does the same work as the others.
    """

    title: str
    look: Look | None
    ours: bool
    rival: bool = True


def drawn(family: str, line: Series) -> Drawn:
    """Return the presentation of a series of a family, the same in every figure.

    Examples
    --------
    >>> drawn("gate", Series("t-gate:levels=2")).title
    'T-Gate, 2 levels'
    >>> drawn("aggregation", Series("tumlsc:ahead=64")).title
    'TuMLSC, ahead 64'
    """
    try:
        variant = registry.variant(family, line.variant)
    except UsageError:
        # Recorded by another version of Millrace: only the id is known.
        return Drawn(line, None, True)
    figures = [figure for paper in papers.papers() for figure in paper.figures]
    ours = (family, line) not in {(each.family, own) for each in figures for own in each.lines}
    if not line.settings:
        return Drawn(variant.title, variant.look, ours)
    for series, shown in _shown(variant):
        if series.settings == line.settings:
            return Drawn(shown.title, shown.look, ours, shown.rival)
    told = [f"{name} {value}" for name, value in line.settings.items()]
    return Drawn(", ".join([variant.title, *told]), None, ours)


def _shown(variant: Variant) -> list[tuple[Series, Shown]]:
    """Return the series of a variant at other settings than the defaults."""
    return [(Series(f"{variant.id}:{shown.settings}"), shown) for shown in variant.shown]


def measured(figure: Figure) -> tuple[Series, ...]:
    """Return every series of a figure: the paper's lines, then those of the ``_extended`` form.

    The latter are all that name the figure in their ``VARIANT``, except variants that do not take
    the figure's query.
    """
    family, paper = registry.family(figure.family), paper_of(figure)
    query = figure.settings.get("query")
    found = list(figure.lines)
    for variant in registry.variants(figure.family):
        if query is not None and family.accepts(variant, str(query)):
            continue
        ours = [(Series(variant.id), variant), *_shown(variant)]
        found += [line for line, own in ours if figure.id in own.extends.get(paper, ())]
    return tuple(dict.fromkeys(found))


def resolved(figure: Figure, line: Series, swept: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting of a series in a figure: the given ones, and the defaults of the rest.

    Swept settings that the variant does not take are left out: a variant without chains is the same
    at every chain length.

    Raises
    ------
    UsageError
        When the variant is unknown, or a setting is unknown or out of its limits.
    """
    variant = registry.variant(figure.family, line.variant)
    without = meaningless(figure, line)
    swept = {name: value for name, value in swept.items() if name not in without}
    given = {**figure.settings, **swept, **line.settings}
    return registry.family(figure.family).resolve(variant, given)


def meaningless(figure: Figure, line: Series) -> set[str]:
    """Return the swept settings that apply to another line but not to this series."""

    def lacking(line: Series) -> set[str]:
        variant = registry.variant(figure.family, line.variant)
        taken = (*registry.family(figure.family).settings, *variant.parameters)
        return {sweep.setting for sweep in figure.free} - {each.name for each in taken}

    return lacking(line) - set.intersection(*map(lacking, figure.lines))
