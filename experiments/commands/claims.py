"""``millrace claims``: each published statement and the verdict on it."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from experiments.commands.listing import list_claims
from experiments.commands.output import print_json
from experiments.judging.evidence import figure_names

WIDTH = 100


def run(options: argparse.Namespace) -> int:
    """Print the claims by section, with quote, verdict and reason, and how many got which."""
    found = list_claims(options.results)
    if options.json:
        print_json(found)
        return 0
    for place, claims in groupby(found, key=_place):
        print(f"{place}\n{'-' * len(place)}")
        for claim in claims:
            print(f"{_verdict(claim)}: {claim['id']} ({figure_names(claim['figures'])})")
            _print_indented(f"“{claim['quote']}”")
            _print_indented(claim["reason"])
        print()
    counts = Counter(map(_verdict, found))
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    return 0


def _place(claim: Mapping[str, Any]) -> str:
    section = str(claim["section"])
    return f"{claim['paper']}, {section if section.isalpha() else f'section {section}'}"


def _verdict(claim: Mapping[str, Any]) -> str:
    return claim["verdict"] or "no verdict"


def _print_indented(text: str) -> None:
    print(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  "))
