"""A query's pipeline over the user's files: workers, no timing, the same bytes every time.

``request`` checks the options before a file is opened; ``tables`` brings files into columns of
integers, ``usable`` does so for files whose rows may be set aside; ``inputs`` makes records and the
pipeline of them; ``running`` runs it; ``writing`` names the columns of the output.
"""

from __future__ import annotations

import argparse

from experiments.replay import command
from operators.pipeline.queries.table_1 import QUERIES

ABOUT = "A query of TPCx-BB over files of sales or clicks"
NAMED = ("QUERY", ", ".join(QUERIES))
EXAMPLES = """\
examples:
  millrace replay pipeline q1 --input sales.parquet --items items.parquet --output pairs.parquet
  millrace replay pipeline q4 --input clicks.csv.gz --pages pages.csv --workers 4 \\
      --scheduler lp --output carts.parquet
  millrace replay pipeline q15 --input sales.parquet --items items.parquet --store 10 \\
      --year 2003 --output declining.parquet
  millrace replay pipeline q1 --mapping baskets.yaml --input baskets.csv.gz --output pairs.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a replay to the parser of its family."""
    given = parser.add_argument_group("input")
    given.add_argument(
        "--input", required=True, metavar="FILE", help="CSV (also .gz) or Parquet, sorted by time"
    )
    given.add_argument("--items", metavar="FILE", help="item_sk, category_id (q1, q3, q15)")
    given.add_argument("--pages", metavar="FILE", help="web_page_sk, type (q4)")
    given.add_argument("--mapping", metavar="FILE.yaml", help="columns and rows of baskets (q1)")
    command.add_time_unit(given)
    command.add_rejected(given)
    asked = parser.add_argument_group("query")
    asked.add_argument("--store", type=int, metavar="N", help="of q15")
    asked.add_argument("--year", type=int, metavar="Y", help="of q15, a calendar year in UTC")
    how = parser.add_argument_group("how it is run (no bit of the output depends on it)")
    how.add_argument("--workers", type=int, default=2, metavar="N", help="threads (2)")
    how.add_argument("--form", default="blocks", help="blocks or tuples, as in the paper (blocks)")
    how.add_argument("--block", type=int, default=256, metavar="N", help="tuples of a block (256)")
    how.add_argument(
        "--parts", type=int, default=1, metavar="N", help="of a block where keys part it (1)"
    )
    how.add_argument("--partitions", type=int, default=100, metavar="N", help="buckets (100)")
    how.add_argument("--slots", type=int, default=256, metavar="N", help="tuples in flight (256)")
    how.add_argument("--slice-us", default="100", metavar="N", help="a worker's turn (100)")
    how.add_argument("--reorder", default="non-blocking", help="non-blocking or lock-based")
    how.add_argument("--partition", default="hybrid", help="hybrid, partitioned or shared")
    how.add_argument("--scheduler", default="ct", help="qst, lp, et, ct or ct-as-printed (ct)")
    how.add_argument(
        "--seed", type=int, default=1, metavar="N", help="as of a bench; nothing is drawn (1)"
    )
    command.add_output(parser, "its columns depend on the query")


def run(options: argparse.Namespace) -> int:
    """Replay a file and report on stderr; with --json on stdout."""
    # Loads pyarrow, and then the compiler; mistakes in the options are reported before that.
    from experiments.replay.pipeline.request import make_request

    request = make_request(options.variant, options)
    from experiments.replay.pipeline.running import replay

    return command.run(replay, request, options.json, began=options.began)
