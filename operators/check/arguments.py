"""The arguments of ``millrace check``, for the command and for the process that it starts."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``millrace check`` to a parser."""
    parser.add_argument(
        "variant", nargs="?", metavar="VARIANT", help="an id, or family/id; all if left out"
    )
    parser.add_argument(
        "--deep", action="store_true", help="one preemption and many schedules more: an hour or so"
    )
    parser.add_argument(
        "--mutants", action="store_true", help="check that faults put into its sources are found"
    )
    parser.add_argument(
        "--orders", action="store_true", help="weaken each memory order, alone and all together"
    )
    parser.add_argument(
        "--automatic", type=int, metavar="N", help="check N random faults of the syntax trees"
    )
    parser.add_argument("--seed", type=int, default=1, help="of --automatic")
    parser.add_argument(
        "--schedule", metavar="STRING", help="run one schedule of VARIANT and print its steps"
    )
    parser.add_argument("--mutant", metavar="NAME", help="put this fault in first")
    parser.add_argument(
        "--write",
        metavar="FILE",
        help="with --mutants: put the table between FILE's markers; with --orders: the page",
    )
