"""``millrace replay``: an operator over the user's own files, in the form of its family."""

from __future__ import annotations

import argparse

from experiments import finding


def run(options: argparse.Namespace) -> int:
    """Hand the options to the family's replay and return its exit status."""
    return finding.replay_of(options.family).run(options)
