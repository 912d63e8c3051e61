"""``millrace claims``: each published statement and the verdict on it."""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter

from experiments.commands.listing import list_claims
from experiments.commands.output import print_json

WIDTH = 100


def run(options: argparse.Namespace) -> int:
    """Print the claims, with quote, verdict and reason."""
    found = list_claims()
    if options.json:
        print_json(found)
        return 0
    for claim in found:
        print(f"{claim['id']} ({claim['paper']}, section {claim['section']})")
        print(textwrap.fill(f"“{claim['quote']}”", WIDTH, initial_indent="  ",
                            subsequent_indent="  "))  # fmt: skip
        verdict = claim["verdict"] or "no verdict"
        print(textwrap.fill(f"{verdict}: {claim['reason']}", WIDTH, initial_indent="  ",
                            subsequent_indent="  "))  # fmt: skip
    counts = Counter(claim["verdict"] or "no verdict" for claim in found)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    return 0
