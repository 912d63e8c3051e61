"""``millrace plan``: the measurements of a profile, and about how long they take."""

from __future__ import annotations

import argparse

from experiments import plan, profiles
from experiments.commands.output import print_json
from operators import registry


def run(options: argparse.Namespace) -> int:
    """Print the groups of a profile with their settings and minutes."""
    profile = profiles.load(options.profile)
    lines = plan.plan(profile, None if options.paper is None else options.paper.split(","))
    if not options.json:
        print(plan.text(profile, lines))
        return 0
    groups = [
        {
            "id": line.group.id,
            "family": registry.called(line.group.family),
            "figures": [{"paper": paper, "id": figure} for paper, figure in line.group.figures],
            "settings": len(line.group.tasks),
            "runs": line.runs,
            "minutes": round(line.minutes, 2),
        }
        for line in lines
    ]
    print_json(
        {
            "profile": profile.name,
            "repetitions": profile.repetitions,
            "forks": profile.forks,
            "runs": sum(line.runs for line in lines),
            "minutes": round(sum(line.minutes for line in lines), 2),
            "groups": groups,
        }
    )
    return 0
