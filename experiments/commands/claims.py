"""``millrace claims``: a reader's questions to each paper, and the answers found here."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from experiments.commands.listing import list_findings
from experiments.commands.output import print_json
from experiments.judging.findings import headline, parts_text, tally
from experiments.judging.lookup import figure_names

WIDTH = 100
WITH_REASON = ("size", "regime", "evidence")


def run(options: argparse.Namespace) -> int:
    """Print each finding with its answer and statements, and a tally of the answers."""
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
    if finding["direction"] and len(finding["parts"]) > 1:
        _print_indented(f"Parts: {parts_text(finding['parts'])}.")
    asked = {part["id"]: part for part in finding["parts"] if part["asked"]}
    for text in finding["because"]:
        _print_indented(f"Why here: {text}.")
    for text in finding.get("scaling", ()):
        _print_indented(f"{text}.")
    for claim in finding["statements"]:
        uncounted = "" if claim["kind"] == "result" else f", {claim['kind']}"
        uncounted += f", repeats {claim['repeats']}" if claim["repeats"] else ""
        figures = figure_names(claim["figures"])
        print(f"  {_answer(claim)}: {claim['id']} ({figures}{uncounted})")
        _print_indented(f"“{claim['quote']}”")
        _print_indented(claim["reason"])
        if claim["id"] in asked:
            part = asked[claim["id"]]
            _print_indented(f"As a part of the answer: {part['direction']}; {part['asked']}.")
        more = [claim[name]["text"] for name in WITH_REASON if claim[name]]
        if more:
            _print_indented("; ".join(more))
    print()


def _answer(told: Mapping[str, Any]) -> str:
    return told["direction"] or "no answer"


def _print_indented(text: str) -> None:
    print(textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="    "))
