"""A window band join over the user's files: pairs of positions, the same bytes every time.

``request`` checks the options before a file is opened; ``streams`` brings files into columns of
integers, and derives the size of windows and the width of keys; ``running`` writes the pairs that
the threads of `operators.join.run` find.
"""

from __future__ import annotations

import argparse

from experiments.replay import command

ABOUT = "A band join of two files, or of one with itself, over sliding windows"
EXAMPLES = """\
examples:
  millrace replay join pim-tree --r bids.csv --s asks.csv.gz --key price --window-count 65536 \\
      --half-width 0.05 --output pairs.parquet
  millrace replay join b-plus-tree --r north.parquet --s south.parquet --time at --time-unit s \\
      --key kwh --s-key kw --window-time 5m --half-width 0.5 --output pairs.parquet
  millrace replay join ib-chain --r readings.csv --self --key kwh --window-count 1000 \\
      --half-width 0 --chain-length 8 --output pairs.parquet
  millrace replay join pim-tree --r bids.csv --s asks.csv.gz --key price --window-count 65536 \\
      --half-width 0.05 --threads 4 --task-size 16 --output pairs.parquet
  millrace replay join round-robin --r bids.csv --s asks.csv.gz --key price --window-count 65536 \\
      --half-width 0.05 --threads 4 --index pim-tree --output pairs.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a replay to the parser of its family."""
    given = parser.add_argument_group("input")
    given.add_argument(
        "--r", required=True, metavar="FILE", help="CSV (also .gz) or Parquet, sorted by time"
    )
    given.add_argument("--s", metavar="FILE", help="the other stream; left out with --self")
    given.add_argument(
        "--self", dest="self_join", action="store_true", help="join R with the tuples before it"
    )
    command.add_time(given, "ts")
    given.add_argument("--key", required=True, metavar="COLUMN", help="numbers, taken exactly")
    given.add_argument("--s-key", metavar="COLUMN", help="of S, where it has another name there")
    given.add_argument(
        "--decimals", type=int, metavar="N", help="round numbers to N decimals (all are kept)"
    )
    command.add_rejected(given)
    asked = parser.add_argument_group("join")
    asked.add_argument(
        "--half-width", required=True, metavar="W", help="keys differ by W at most; W may be 0.5"
    )
    window = asked.add_mutually_exclusive_group(required=True)
    window.add_argument("--window-count", type=int, metavar="N", help="the last N of a stream")
    window.add_argument("--window-time", metavar="T", help="as old as T; in ticks, or 30s, 5m")
    how = parser.add_argument_group("how it is run (no bit of the output depends on it)")
    how.add_argument(
        "--threads",
        metavar="N",
        help="1 to 16, of joins that share one index: bw-tree and olc-tree (2), pim-tree (1); or"
        " 2,4,1@100000, two for 100000 tuples, four for as many, then one; and of round-robin and"
        " round-robin-as-printed (2), the latter with one more to collect; any other join has one",
    )
    how.add_argument("--task-size", metavar="N", help="1 to 64 tuples that a thread takes (8)")
    how.add_argument(
        "--merge",
        metavar="HOW",
        help="of pim-tree with threads: blocking, or non-blocking (that)",
    )
    how.add_argument(
        "--descents",
        metavar="HOW",
        help="of a task's tuples in a shared index: lock-step, or one-by-one (that)",
    )
    how.add_argument(
        "--index",
        metavar="I",
        help="of each core of round-robin, which has it at its defaults (b-plus-tree)",
    )
    how.add_argument(
        "--merge-ratio",
        metavar="M",
        help="of im-tree and pim-tree (0.125; 1 where threads share it)",
    )
    how.add_argument("--insertion-depth", metavar="D", help="of pim-tree (2)")
    how.add_argument("--chain-length", metavar="L", help="of b-chain and ib-chain (2)")
    command.add_output(parser, "r_position, s_position: rows of the files, from 0")


def run(options: argparse.Namespace) -> int:
    """Replay files and report on stderr; with --json on stdout."""
    # Loads pyarrow, and then the compiler; mistakes in the options are reported before that.
    from experiments.replay.join.request import make_request

    request = make_request(options.variant, options)
    from experiments.replay.join.running import replay

    return command.run(replay, request, options.json, rows="pairs", began=options.began)
