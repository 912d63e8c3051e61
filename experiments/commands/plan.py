"""``millrace plan``: what a profile measures, and about how long that takes."""

from __future__ import annotations

import argparse

from experiments import plan, profiles
from experiments.commands.output import print_json


def run(options: argparse.Namespace) -> int:
    """Print the figures of a profile with their points and minutes."""
    profile = profiles.load(options.profile)
    lines = plan.plan(profile)
    if not options.json:
        print(plan.text(profile, lines))
        return 0
    figures = [
        {
            "id": line.figure.id,
            "paper": line.figure.paper,
            "title": line.figure.title,
            "points": line.points,
            "minutes": round(line.minutes, 2),
        }
        for line in lines
    ]
    print_json(
        {
            "profile": profile.name,
            "repetitions": profile.repetitions,
            "points": sum(line.points for line in lines),
            "minutes": round(sum(line.minutes for line in lines), 2),
            "figures": figures,
        }
    )
    return 0
