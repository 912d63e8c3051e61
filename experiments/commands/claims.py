"""``millrace claims``: what a reader asks of each paper, and what was found here."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from experiments.commands.listing import list_findings
from experiments.commands.output import print_json
from experiments.judging.findings import headline, tally
from experiments.judging.lookup import figure_names

WIDTH = 100
BESIDE = ("size", "regime", "evidence")


def run(options: argparse.Namespace) -> int:
    """Print each finding with its answer and the statements under it, and how many have which."""
    found = list_findings(options.results)
    if options.json:
        print_json(found)
        return 0
    for paper, findings in groupby(found, key=lambda finding: finding["paper"]):
        findings = list(findings)
        print(f"{paper}\n{'-' * len(paper)}")
        for finding in findings:
            _print_finding(finding)
        print(f"{_headline(findings)}\n")
    return 0


def _headline(findings: list[Mapping[str, Any]]) -> str:
    if any(finding["direction"] is None for finding in findings):
        return f"{len(findings)} findings, not judged yet: run `make figures`"
    return headline(tally(findings))


def _print_finding(finding: Mapping[str, Any]) -> None:
    print(f"{_answer(finding)}: {finding['finding']}")
    for claim in finding["statements"]:
        uncounted = "" if claim["kind"] == "result" else f", {claim['kind']}"
        uncounted += f", repeats {claim['repeats']}" if claim["repeats"] else ""
        figures = figure_names(claim["figures"])
        print(f"  {_answer(claim)}: {claim['id']} ({figures}{uncounted})")
        _print_indented(f"“{claim['quote']}”")
        _print_indented(claim["reason"])
        beside = [claim[name]["text"] for name in BESIDE if claim[name]]
        if beside:
            _print_indented("; ".join(beside))
    print()


def _answer(told: Mapping[str, Any]) -> str:
    return told["direction"] or "no answer"


def _print_indented(text: str) -> None:
    print(textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="    "))
