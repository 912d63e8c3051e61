"""``millrace list``: variants, queries, figures, datasets and claims."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datasets import read
from datasets.description import main_table
from experiments import papers, series
from experiments.commands.output import print_columns, print_json
from experiments.judging import claims
from experiments.records import results
from operators import registry
from operators.contract import UsageError, Variant

CLAIM_WIDTH = 100


def run(options: argparse.Namespace) -> int:
    """List one topic, or all."""
    topics = [options.topic] if options.topic else list(LISTS)
    found = {topic: LISTS[topic]() for topic in topics}
    if options.json:
        print_json(found[options.topic] if options.topic else found)
        return 0
    for topic in topics:
        print(f"{topic}:")
        rows = [SHOWN[topic](entry) for entry in found[topic]]
        print_columns(rows) if rows else print(f"  none{NONE.get(topic, '')}")
    return 0


def variants() -> list[dict[str, Any]]:
    """Return every variant with the queries it takes; families have their command-line names."""
    listed = [
        {
            "id": variant.id,
            "family": registry.called(variant.family),
            "title": variant.title,
            "paper": variant.paper,
            "section": variant.section,
            "extended": variant.extended,
            "order": variant.order,
            "progress": variant.progress,
            "queries": _queries_of(variant),
            "bench": variant.bench,
            "parameters": [asdict(parameter) for parameter in variant.parameters],
            "settings": [asdict(each) for each in registry.family(variant.family).settings],
        }
        for variant in registry.variants()
    ]
    return sorted(listed, key=lambda each: (each["family"], each["id"]))


def _queries_of(variant: Variant) -> list[str]:
    family = registry.family(variant.family)
    return [query for query in family.queries if family.accepts(variant, query) is None]


def queries() -> list[dict[str, Any]]:
    """Return every query of every family, with the family's description."""
    return [
        {"family": registry.called(family.id), **query._asdict()}
        for family in registry.families()
        for query in family.queries.values()
    ]


def figures() -> list[dict[str, Any]]:
    """Return every figure that is measured, by paper."""
    return [
        {
            "id": figure.id,
            "paper": paper.id,
            "title": figure.title,
            "family": registry.called(figure.family),
            "subject": figure.subject,
            "x": figure.x if isinstance(figure.x, str) else figure.x.setting,
            "form": figure.form,
            "settings": dict(figure.settings),
            "lines": list(figure.lines),
            "extended_lines": list(series.measured(figure)),
        }
        for paper in papers.papers()
        for figure in paper.figures
    ]


def datasets() -> list[dict[str, Any]]:
    """Return every existing dataset, smallest first."""
    told = ("name", "role", "source", "rows", "query_time_unit", "digest")
    found = []
    for path in read.datasets_made(results.root() / "data"):
        info = read.read_info(path)
        main = main_table(info)
        shown = {name: info.get(name) for name in told}
        shown |= {name: main.get(name) for name in ("keys", "time_unit")}
        found.append({**shown, "tables": list(info["tables"]), "path": str(path)})
    return found


def list_claims(label: str | None = None) -> list[dict[str, Any]]:
    """Return every published statement, with its answer if there is one.

    Parameters and errors are those of ``list_findings``.
    """
    return claims.list_claims(_judged(label))


def list_findings(label: str | None = None) -> list[dict[str, Any]]:
    """Return every finding with its statements, and their answers if there are any.

    Parameters
    ----------
    label : str, optional
        A set of results; by default the one judged last.

    Raises
    ------
    UsageError
        When the named set does not exist.
    """
    return claims.list_findings(_judged(label))


def _judged(label: str | None) -> Path | None:
    """Return the folder of a set's verdicts; None if nothing is judged yet."""
    folder = results.judged_last(results.root(), label)
    if folder is None and label is not None:
        there = sorted({file.parents[1].name for file in results.root().glob("*/claims/*.json")})
        raise UsageError(
            f"no judged results called {label!r}; there are: {', '.join(there) or 'none'}"
        )
    return None if folder is None else folder / "claims"


LISTS = {
    "variants": variants,
    "queries": queries,
    "figures": figures,
    "datasets": datasets,
    "claims": list_claims,
}
SHOWN = {
    "variants": lambda v: (v["family"], v["id"], v["progress"], " ".join(v["queries"])),
    "queries": lambda q: (
        q["family"],
        q["id"],
        q["role"],
        q["description"],
    ),
    "figures": lambda f: (f["paper"], f["id"], f["subject"], f["title"]),
    "datasets": lambda d: (d["name"], d["role"], d["source"], f"{d['rows']} rows", d["path"]),
    "claims": lambda c: (c["id"], c["direction"], textwrap.shorten(c["quote"], CLAIM_WIDTH)),
}
NONE = {"datasets": "; make figures generates them"}
