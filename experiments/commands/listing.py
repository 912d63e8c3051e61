"""``millrace list``: what there is."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from datasets import read
from experiments import plan
from experiments.commands.output import print_columns, print_json
from experiments.judging import claims
from experiments.records import results
from operators import registry
from operators.aggregation.queries import QUERIES
from operators.contract import Variant

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
    """Return every variant with the queries it takes."""
    return [
        {
            "id": variant.id,
            "family": variant.family,
            "title": variant.title,
            "paper": variant.paper,
            "section": variant.section,
            "extended": variant.extended,
            "order": variant.order,
            "progress": variant.progress,
            "queries": _queries_of(variant),
            "bench": variant.bench,
            "parameters": [
                {
                    "name": parameter.name,
                    "default": parameter.default,
                    "minimum": parameter.minimum,
                    "maximum": parameter.maximum,
                    "unit": parameter.unit,
                    "meaning": parameter.meaning,
                }
                for parameter in variant.parameters
            ],
        }
        for variant in registry.variants()
    ]


def _queries_of(variant: Variant) -> list[str]:
    return [query.id for query in QUERIES.values() if query.function in variant.functions]


def queries() -> list[dict[str, Any]]:
    """Return every query, its windows in query time units."""
    return [{**q._asdict(), "order_sensitive": q.order_sensitive} for q in QUERIES.values()]


def figures() -> list[dict[str, Any]]:
    """Return every figure that is measured, by paper."""
    return [
        {
            "id": figure.id,
            "paper": figure.paper,
            "number": figure.number,
            "title": figure.title,
            "query": figure.query,
            "axis": figure.axis,
            "inputs": list(figure.inputs),
            "variants": list(figure.variants),
            "extended_variants": list(figure.extended_variants),
        }
        for figure in plan.figures()
    ]


def datasets() -> list[dict[str, Any]]:
    """Return every dataset that was made, smallest first."""
    told = ("name", "role", "source", "rows", "keys", "time_unit", "query_time_unit", "digest")
    found = []
    for path in read.datasets_made(results.root() / "data"):
        info = read.read_info(path)
        found.append({**{name: info.get(name) for name in told}, "path": str(path)})
    return found


def list_claims() -> list[dict[str, Any]]:
    """Return every published statement, with its verdict where there is one."""
    return claims.list_claims(results.root() / "claims.json")


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
        q["id"],
        q["role"],
        f"{q['window_size']}/{q['window_advance']}",
        q["function"],
        q["description"],
    ),
    "figures": lambda f: (f["paper"], f["id"], f["query"], f["title"]),
    "datasets": lambda d: (d["name"], d["role"], d["source"], f"{d['rows']} rows", d["path"]),
    "claims": lambda c: (c["id"], c["verdict"], textwrap.shorten(c["quote"], CLAIM_WIDTH)),
}
NONE = {"datasets": "; make figures generates them"}
