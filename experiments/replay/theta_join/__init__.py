"""A theta join over the user's files: pairs of rows within bands, the same bytes every time.

``request`` checks the options before a file is opened; ``streams`` brings files into columns of
integers; ``running`` joins the columns and writes the pairs.
"""

from __future__ import annotations

import argparse

from experiments.replay import command

COLUMNS = ("ts", "r_stream", "r_position", "s_stream", "s_position")
PURGES = ("own", "opposite")
ABOUT = "A theta join of files of R with files of S by bands, over sliding windows, in parallel"
EXAMPLES = """\
examples:
  millrace replay join scale-join --r north.csv south.csv.gz --s prices.parquet --window 300 \\
      --band kwh:kw:0.5 --threads 4 --output pairs.parquet
  millrace replay join scale-join --r trades.csv --s quotes.csv --time at --time-unit ms \\
      --window 30s --purge opposite --band price:bid:0.05 --band lot:lot:0 --output pairs.parquet
  millrace replay join handshake-low-latency --r left.csv --s right.csv --window-count 1000 \\
      --band x:a:10 --band y:b:10 --output pairs.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a replay to the parser of its family."""
    given = parser.add_argument_group("input")
    for name in "rs":
        given.add_argument(
            f"--{name}",
            nargs="+",
            action="extend",
            required=True,
            metavar="FILE",
            help=f"of {name.upper()}: CSV (also .gz) or Parquet, sorted by time; a physical stream"
            " each, in the order of their numbers",
        )
    command.add_time(given, "ts")
    given.add_argument(
        "--decimals", type=int, metavar="N", help="round numbers to N decimals (all are kept)"
    )
    command.add_rejected(given)
    asked = parser.add_argument_group("join")
    asked.add_argument(
        "--band",
        nargs="+",
        action="extend",
        required=True,
        metavar="X:A:W",
        help="column X of R and column A of S differ by W at most, taken exactly; W may be 0.5, and"
        " 0 is equality; all bands have to hold",
    )
    window = asked.add_mutually_exclusive_group(required=True)
    window.add_argument("--window", metavar="T", help="as long as T; in ticks, or 30s, 5m")
    window.add_argument("--window-count", type=int, metavar="N", help="the last N of R and of S")
    asked.add_argument(
        "--purge",
        choices=PURGES,
        help="which window a tuple purges: its own behind the comparisons, as the paper's ScaleJoin"
        " does, so that a pair may be further apart than T; or the opposite one before them, as"
        " handshake joins do (own, where the join takes it)",
    )
    how = parser.add_argument_group("how it is run (no bit of the output depends on it)")
    how.add_argument(
        "--threads", type=int, default=2, metavar="N", help="that compare (2; sequential: one)"
    )
    command.add_output(parser, f"{', '.join(COLUMNS)}: ts is the later of the two, streams and rows"
                               " are numbered from 0")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Replay files and report on stderr; with --json on stdout."""
    # Loads pyarrow, and then the compiler; mistakes in the options are reported before that.
    from experiments.replay.theta_join.request import make_request

    request = make_request(options.variant, options)
    from experiments.replay.theta_join.running import replay

    return command.run(replay, request, options.json, rows="pairs", began=options.began)
