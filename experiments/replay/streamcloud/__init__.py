"""A user's query over the user's files, on instances, without timing.

With transparent mergers the output has the same bytes every time, however it is run.

``request`` checks the options before a file is opened; ``reading`` brings files into the columns of
the query's schemas, and sets rows aside; ``planning`` decides how many instances each stage gets,
and formats the plan; ``running`` runs the plan and writes a file per output.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from experiments.replay import command
from operators.streamcloud.carriers.spark.forms import BOUNDED, FORMS, MASTER, TRIGGER
from operators.streamcloud.plan import MERGERS, STRATEGIES, SUBQUERY_CLUSTER, TRANSPARENT

ABOUT = "A query, as YAML, over files, on instances of its subqueries"
NAMED = ("QUERY.yaml", "a query as a file, or one of millrace list queries")
THREADS, PROCESSES, SPARK = "threads", "processes", "spark"
BACKENDS = (THREADS, PROCESSES, "serial", SPARK)
INSTANCES = 2
EXAMPLES = """\
examples:
  millrace replay streamcloud busy.yaml --input calls=calls.csv --output busy.parquet
  millrace replay streamcloud calls-by-duration --input calls=north.csv calls=south.csv.gz \\
      suspects=suspects.parquet --strategy subquery-cluster --instances known=4 busy=2 \\
      --output busy=out.parquet
  millrace replay streamcloud busy.yaml --input calls=calls.csv --output busy.parquet \\
      --processors 8
  millrace replay streamcloud busy.yaml --input calls=chunks --output busy.parquet \\
      --backend spark --spark-form stream --follow --work busy-work
  millrace replay streamcloud busy.yaml --instances 2 --explain
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a replay to the parser of its family."""
    given = parser.add_argument_group("input")
    given.add_argument(
        "--input",
        nargs="+",
        action="extend",
        metavar="NAME=FILE",
        help="of each input CSV (also .gz) or Parquet, sorted by time; several are its streams; on"
        " Spark also the folder that has the chunks of all inputs",
    )
    command.add_time_unit(given)
    command.add_rejected(given)
    asked = parser.add_argument_group("plan")
    asked.add_argument(
        "--strategy",
        default=SUBQUERY_CLUSTER,
        choices=STRATEGIES,
        help=f"how the query is cut into stages ({SUBQUERY_CLUSTER})",
    )
    many = asked.add_mutually_exclusive_group()
    many.add_argument(
        "--instances",
        nargs="+",
        metavar="N",
        help=f"of each stage, or STAGE=N for each of them ({INSTANCES})",
    )
    many.add_argument(
        "--processors",
        type=int,
        metavar="N",
        help="share so many out by what a tuple costs in each stage, which a short run over the"
        " first tuples measures",
    )
    asked.add_argument(
        "--descriptor",
        metavar="FILE",
        help='processors, "cpu 0" or "host:port" a line: what they run, and without --instances'
        " how many there are; a thread of a cpu stays there",
    )
    asked.add_argument(
        "--merger",
        default=TRANSPARENT,
        choices=MERGERS,
        help=f"what instances take in which order ({TRANSPARENT}); best-effort loses what is late",
    )
    asked.add_argument(
        "--explain",
        action="store_true",
        help="print the plan behind each pass of the compiler and with standard operators only, its"
        " hops and channels, and write nothing; no file is read but to measure costs",
    )
    _add_how(
        parser.add_argument_group(
            f"how it is run (with --merger {TRANSPARENT} no bit of the output depends on it)"
        )
    )
    _add_spark(parser.add_argument_group(f"how Spark runs it (--backend {SPARK})"))
    _add_stops(parser.add_argument_group("to stop and go on"))
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output",
        nargs="+",
        action="extend",
        metavar="OUT.parquet",
        help="ts and the columns of the query's output; NAME=OUT.parquet where it has several",
    )
    output.add_argument("--overwrite", action="store_true", help="replace files that exist")


def _add_how(how: Any) -> None:
    """Add the options that never change the output, if mergers are transparent."""
    how.add_argument("--backend", default=THREADS, choices=BACKENDS, help=f"({THREADS})")
    how.add_argument(
        "--nodes", type=int, metavar="N", help=f"processes of --backend {PROCESSES} (2)"
    )
    how.add_argument("--blob", type=int, metavar="N", help="tuples that are sent at once (4096)")


def _add_spark(spark: Any) -> None:
    """Add the options of Spark."""
    spark.add_argument(
        "--master",
        metavar="M",
        help=f"local[N], spark://host:port, yarn or k8s://https://host:port ({MASTER})",
    )
    spark.add_argument(
        "--spark-form",
        choices=FORMS,
        help=f"one batch job, a stream with states in files, or in Spark's own store ({BOUNDED})",
    )
    spark.add_argument(
        "--trigger",
        type=int,
        metavar="TUPLES",
        help=f"of a stream: about so many go into a batch ({TRIGGER})",
    )
    spark.add_argument(
        "--follow",
        action="store_true",
        help="of a stream: wait for more chunks, until those are there that close all streams",
    )
    spark.add_argument(
        "--archive",
        type=Path,
        metavar="FILE",
        help="code for executors that have none, as millrace pack makes it",
    )
    spark.add_argument(
        "--work",
        type=Path,
        metavar="FOLDER",
        help="for chunks, states and rows, where all nodes see it; a stream goes on from what is"
        " there",
    )


def _add_stops(stops: Any) -> None:
    """Add the options by which a run continues where another one stopped."""
    stops.add_argument(
        "--state",
        metavar="FOLDER",
        help="go on from the state that is there; what is written is what came out since",
    )
    stops.add_argument(
        "--stop-after",
        type=int,
        metavar="N",
        help="stop behind the blob that has the N-th tuple of all files, and leave the state",
    )


def run(options: argparse.Namespace) -> int:
    """Replay files and report on stderr; with --json on stdout."""
    from experiments.replay.streamcloud.request import make_request

    request = make_request(options.variant, options)
    if options.explain:
        from experiments.replay.streamcloud.planning import explained

        print(explained(request), end="")
        return 0
    # Loads the compiler; mistakes in the options are reported before that.
    from experiments.replay.streamcloud.running import replay

    return command.run(replay, request, options.json, began=options.began)
