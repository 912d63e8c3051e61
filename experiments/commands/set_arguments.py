"""The options of the commands over whole sets of results: compare and export."""

from __future__ import annotations

import argparse

COMPARE = "Compare two sets of results: what changed by more than noise, the most severe first"
COMPARE_EXAMPLES = """\
examples:
  millrace compare quick
  millrace compare quick results/before
  millrace compare quick@3f1a2b9c quick@b404312d --all
  millrace compare main.tar.xz quick --fail-above 1.1 --json
"""
EXPORT = "Write a set of results as one archive, without paths or names of its owner"
EXPORT_EXAMPLES = """\
examples:
  millrace export laptop --output laptop.tar.xz
  millrace export results/quick --label my-machine --output quick.tar.xz --overwrite
"""
SET = "a label, the folder of a set, or an archive; NAME@COMMIT for the rows of that commit"


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``millrace compare``."""
    parser.add_argument("before", metavar="BEFORE", help=SET)
    parser.add_argument(
        "after",
        nargs="?",
        metavar="AFTER",
        help="the same; left out, the last run of BEFORE is compared with the run before it",
    )
    parser.add_argument("--all", action="store_true", help="list what is alike or unknown, too")
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="FACTOR",
        help="exit with 1 if a value is worse by more than this factor and than noise, or a setting"
        " fails that did not",
    )
    parser.add_argument(
        "--across",
        action="store_true",
        help="compare sets of two machines or profiles all the same",
    )


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``millrace export``."""
    parser.add_argument("set", metavar="SET", help=SET)
    parser.add_argument("--output", required=True, metavar="FILE.tar.xz", help="the archive")
    parser.add_argument(
        "--label",
        metavar="NAME",
        help="the label in the archive (that of the set; a profile's gets the machine's hash)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an archive that is there")
