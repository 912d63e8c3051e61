"""An aggregate over the user's files: real threads, no timing, the same bytes every time.

``request`` checks the options before a file is opened; ``experiments.replay`` turns CSV and Parquet
into columns of integers; ``running`` feeds them to `operators.aggregation.run`, a thread per file;
``results`` turns the rows into values, exactly or with an error; ``writing`` writes them into a
file.
"""

from __future__ import annotations

import argparse

from experiments.replay import command
from operators.aggregation.functions import CODES

ABOUT = "An aggregate over files, one physical stream each"
EXAMPLES = """\
examples:
  millrace replay aggregation tumlsc --input north.csv south.csv.gz --time ts --key meter \\
      --value kwh --function avg --window-size 1800 --window-advance 180 --output out.parquet
  millrace replay aggregation mq --input comments.parquet --time at --time-unit s --key song \\
      --text body --function first-mail --window-size 5m --window-advance 30s \\
      --output mails.parquet --rejected rejected.csv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a replay to the parser of its family."""
    given = parser.add_argument_group("input")
    given.add_argument(
        "--input",
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="CSV (also .gz) or Parquet, a physical stream each, in the order of their numbers",
    )
    command.add_time(given)
    given.add_argument("--key", metavar="COLUMN", help="group by it; left out, there is one group")
    read = given.add_mutually_exclusive_group()
    read.add_argument("--value", metavar="COLUMN", help="numbers, taken exactly")
    read.add_argument("--text", metavar="COLUMN", help="texts, for first and the mail functions")
    given.add_argument(
        "--decimals", type=int, metavar="N", help="round values to N decimals (all are kept)"
    )
    command.add_rejected(given)
    asked = parser.add_argument_group("query")
    asked.add_argument("--function", required=True, choices=tuple(CODES), metavar="FUNCTION",
                       help=", ".join(CODES))  # fmt: skip
    asked.add_argument("--window-size", required=True, metavar="T", help="in ticks, or 30s, 5m")
    asked.add_argument("--window-advance", required=True, metavar="T", help="at most the size")
    asked.add_argument("--max-keys", type=int, metavar="N", help="refuse input with more keys")
    asked.add_argument(
        "--update-threads",
        type=int,
        default=2,
        metavar="N",
        help="for variants that have update threads (2)",
    )
    written = command.add_output(parser, "window_start, key, value")
    written.add_argument(
        "--exact",
        action="store_true",
        help="values as decimals of 128 bits: sums and digits that int64 and float64 cannot hold",
    )


def run(options: argparse.Namespace) -> int:
    """Replay files and report on stderr; with --json on stdout."""
    # Loads pyarrow, and then the compiler; mistakes in the options are reported before that.
    from experiments.replay.aggregation.request import make_request

    request = make_request(
        options.variant,
        options.input,
        options.output,
        time=options.time,
        function=options.function,
        window_size=options.window_size,
        window_advance=options.window_advance,
        key=options.key,
        value=options.value,
        text=options.text,
        time_unit=options.time_unit,
        decimals=options.decimals,
        max_keys=options.max_keys,
        update_threads=options.update_threads,
        rejected=options.rejected,
        overwrite=options.overwrite,
        exact=options.exact,
    )
    from experiments.replay.aggregation.running import replay

    return command.run(replay, request, options.json, began=options.began)
