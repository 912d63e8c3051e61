"""``millrace doctor``: problems of this machine, and their remedies."""

from __future__ import annotations

import argparse

from experiments.commands.output import print_columns, print_json
from experiments.doctor import PROBLEM, examine


def run(options: argparse.Namespace) -> int:
    """Print every finding; return 1 if one of them keeps Millrace from working."""
    findings = examine()
    healthy = all(finding.state != PROBLEM for finding in findings)
    if options.json:
        print_json({"healthy": healthy, "checks": [f._asdict() for f in findings]})
    else:
        print_columns([(f.state, f.name, f.found) for f in findings], indent="")
        for finding in findings:
            if finding.remedy:
                print(f"{finding.name}: {finding.remedy}")
    return 0 if healthy else 1
