"""``millrace replay``: an operator over the user's files, in the form of a family."""

from __future__ import annotations

import argparse

from experiments import discovery


def run(options: argparse.Namespace) -> int:
    """Run the family's replay with the options and return its exit status."""
    return discovery.replay_of(options.family).run(options)
