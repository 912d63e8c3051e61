"""The options of every subcommand, and a parser that reports errors in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from experiments import discovery
from experiments.commands import forms, set_arguments
from operators import registry
from operators.check.arguments import add_arguments
from operators.contract import UsageError

TOPICS = ("variants", "queries", "figures", "datasets", "claims")

LIST_EXAMPLES = """\
examples:
  millrace list
  millrace list variants --json
"""
BENCH_EXAMPLES = """\
examples:
  millrace bench gate t-gate --set sources=20 readers=1 levels=4
  millrace bench aggregation tumlsc --set query=K-OS inputs=20 --seconds 2 --json
  millrace bench aggregation tumlsc --set query=k-OS inputs=4 --rate 500000
  millrace bench aggregation tumlsc mq --set inputs=20 --repeat 5
  millrace bench join scale-join handshake --set purge=opposite threads=2
"""
DOCTOR_EXAMPLES = """\
example:
  millrace doctor
"""
CHECK_EXAMPLES = """\
examples:
  millrace check
  millrace check t-gate --deep
  millrace check --mutants --json
  millrace check gate/t-gate --schedule ties:sc:a4b9a6
"""
GENERATE_EXAMPLES = """\
examples:
  millrace generate smart_meter --rows 100000 --output meters
  millrace generate call_records --rows 100000000 --output /shared/calls --master spark://host:7077
"""
IMPORT_EXAMPLES = """\
examples:
  millrace import datasets/mappings/umass443.yaml --output meters
  millrace import sixteen-cores.tar.xz
  millrace import mapping.yaml --output /shared/meters --master spark://host:7077 \\
      --archive millrace.tar.gz
"""
CLUSTER_EXAMPLES = """\
examples:
  millrace cluster up --workers 2 --memory 1g
  millrace cluster status --json
  millrace cluster down
"""
PACK_EXAMPLES = """\
examples:
  millrace pack --output millrace.tar.gz --query busy.yaml
  millrace pack --output millrace.tar.gz --query calls-by-duration join --environment
"""
PLAN_EXAMPLES = """\
example:
  millrace plan --profile laptop
"""
CLAIMS_EXAMPLES = """\
example:
  millrace claims --json
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line without the usage block, raised and not printed.

    Parameters
    ----------
    later : callable, optional
        ``later(parser, given)`` adds arguments only when there is something to parse: some take
        time to find, and some depend on the given words.
    """

    def __init__(
        self,
        *args,
        later: Callable[[argparse.ArgumentParser, Sequence[str]], None] | None = None,
        **options,
    ) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, allow_abbrev=False, **options)
        self._later = later

    def parse_known_args(self, args=None, namespace=None):
        """Parse arguments, see ``argparse``."""
        later, self._later = self._later, None
        if later is not None:
            later(self, sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise `message`, with a pointer to the help.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(f"{message}; see {self.prog} --help")


def version() -> str:
    """Return the version: of the source tree that contains this file, or of the package."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if project.is_file():
        import tomllib

        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    from importlib import metadata

    return metadata.version("millrace")


def make_parser() -> Parser:
    """Return the parser of the whole command."""
    parser = Parser(
        prog="millrace",
        description="Operators of five papers on parallel stream processing: list, measure, use.",
        epilog="Each command has examples: millrace COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"millrace {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_list(commands)
    _add_bench(commands)
    _add_replay(commands)
    _add_claims(commands)
    _add_sets(commands)
    _add_plan(commands)
    _add_check(commands)
    _add_generate(commands)
    _add_import(commands)
    _add_cluster(commands)
    _add_pack(commands)
    _add_doctor(commands)
    return parser


def _add(commands, name: str, about: str, examples: str, **options) -> Parser:
    parser = commands.add_parser(
        name, help=about, description=f"{about}.", epilog=examples, **options
    )
    parser.add_argument("--json", action="store_true", help=forms.JSON)
    return parser


def _add_list(commands) -> None:
    about = "List variants, queries, figures, datasets and claims"
    parser = _add(commands, "list", about, LIST_EXAMPLES)
    parser.add_argument("topic", nargs="?", choices=TOPICS, help="one of them; all if left out")


def _add_bench(commands) -> None:
    about = "Measure one point of one variant, or of several in turn with their ratios"
    _add(commands, "bench", about, BENCH_EXAMPLES, later=_add_bench_arguments)


def _add_bench_arguments(parser: argparse.ArgumentParser, given: Sequence[str]) -> None:
    families = discovery.benched()
    names = sorted(set(map(registry.called, families)))
    parser.add_argument(
        "family",
        # The id of a family with another name on the command line is accepted, too.
        choices=[*names, *(each for each in families if each not in names)],
        metavar="FAMILY",
        help=f"one of {', '.join(names)}",
    )
    parser.add_argument("variants", nargs="+", metavar="VARIANT", help="see millrace list variants")
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="settings; a name that is unknown is answered with those there are",
    )
    parser.add_argument(
        "--rate",
        default="max",
        help="offered tuples/s of all inputs together, or max (closed loop, without latency)",
    )
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="length of a run (1); sets how many tuples"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="repetitions, each a fresh process; means are printed (1; 6 for several variants)",
    )


def _add_replay(commands) -> None:
    about = "Run an operator over your own files: real threads, no timing, the same bytes each time"
    commands.add_parser("replay", help=about, description=f"{about}.", later=forms.add_families)


def _add_claims(commands) -> None:
    about = "Show each published statement with the verdict on what was measured here"
    parser = _add(commands, "claims", about, CLAIMS_EXAMPLES)
    parser.add_argument(
        "--results",
        metavar="LABEL",
        help="the set of results to show, a folder below results (the one judged last)",
    )


def _add_sets(commands) -> None:
    """Add the commands over whole sets of results."""
    of = set_arguments
    of.add_compare(_add(commands, "compare", of.COMPARE, of.COMPARE_EXAMPLES))
    of.add_export(_add(commands, "export", of.EXPORT, of.EXPORT_EXAMPLES))


def _add_plan(commands) -> None:
    about = "Show what a profile measures and how many minutes that takes"
    parser = _add(commands, "plan", about, PLAN_EXAMPLES)
    parser.add_argument(
        "--profile",
        default="quick",
        help="a profile of workflow/config, or the path of one (quick)",
    )
    parser.add_argument("--paper", metavar="NAMES", help="papers, apart by commas (all)")


def _add_check(commands) -> None:
    about = "Run lock-free structures under every schedule of small programs, and show what fails"
    add_arguments(_add(commands, "check", about, CHECK_EXAMPLES))


def _add_generate(commands) -> None:
    about = "Generate a data set with Spark, on this machine or on a cluster"
    parser = _add(commands, "generate", about, GENERATE_EXAMPLES)
    parser.add_argument("dataset", metavar="DATASET", help="see millrace list datasets")
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="how many to ask for")
    parser.add_argument("--seed", type=int, default=1, help="equal seeds give equal rows (1)")
    _add_making(parser, "a number that fits the rows")


def _add_import(commands) -> None:
    about = "Bring recorded files into the form of a data set, or take in results of others"
    parser = _add(commands, "import", about, IMPORT_EXAMPLES)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a mapping (see Your own data in README.md), or an archive of millrace export",
    )
    _add_making(parser, "a part a file", required=False)
    _add_archive(parser)
    parser.add_argument(
        "--label", metavar="NAME", help="of results: another label than that of the archive"
    )


def _add_making(parser: argparse.ArgumentParser, parts: str, required: bool = True) -> None:
    """Add the shared options of generating and importing."""
    parser.add_argument(
        "--output", required=required, metavar="FOLDER", help="the folder to make of data"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    parser.add_argument(
        "--master",
        default="local[*]",
        help="local[N], spark://host:port, yarn or k8s://https://host:port (local[*]); rows never"
        " depend on it",
    )
    parser.add_argument(
        "--partitions", type=int, metavar="N", help=f"parts that Spark works in ({parts})"
    )


def _add_archive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--archive",
        type=Path,
        metavar="FILE",
        help="code for executors that have none, as millrace pack makes it",
    )


def _add_cluster(commands) -> None:
    about = "Start a cluster of Spark on this machine, show it, end it"
    parser = commands.add_parser(
        "cluster", help=about, description=f"{about}.", epilog=CLUSTER_EXAMPLES
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    about_up = "Start a master and workers, which stay"
    up = _add(actions, "up", about_up, CLUSTER_EXAMPLES, later=_add_up_arguments)
    down = _add(actions, "down", "End them, and remove their logs", CLUSTER_EXAMPLES)
    status = _add(actions, "status", "Show what runs and is registered", CLUSTER_EXAMPLES)
    for each in (up, down, status):
        each.add_argument(
            "--folder", metavar="FOLDER", help="where its logs are (one in the user's cache)"
        )


def _add_up_arguments(parser: argparse.ArgumentParser, given: Sequence[str]) -> None:
    # Imported here, so that other commands need not wait for it.
    from operators.running.cluster import Size
    from operators.running.standing_cluster import PORT

    usual = Size()
    for name, default, about in (
        ("--workers", usual.workers, "how many"),
        ("--cores", usual.cores, "of each worker"),
        ("--port", PORT, "of the master, 0 for one that is free"),
    ):
        parser.add_argument(
            name, type=int, default=default, metavar="N", help=f"{about} ({default})"
        )
    parser.add_argument(
        "--memory", default=usual.memory, help=f"of each worker, for executors ({usual.memory})"
    )


def _add_pack(commands) -> None:
    about = "Pack code and compiled kernels for executors that have neither"
    _add(commands, "pack", about, PACK_EXAMPLES, later=_add_pack_arguments)


def _add_pack_arguments(parser: argparse.ArgumentParser, given: Sequence[str]) -> None:
    # Imported here, so that other commands need not wait for it.
    from operators.streamcloud.plan import STRATEGIES, SUBQUERY_CLUSTER

    parser.add_argument("--output", required=True, metavar="FILE.tar.gz", help="the archive")
    parser.add_argument(
        "--query",
        nargs="+",
        metavar="QUERY.yaml",
        help="queries, or some of millrace list queries, whose kernels go along",
    )
    parser.add_argument(
        "--strategy", default=SUBQUERY_CLUSTER, choices=STRATEGIES, help=f"({SUBQUERY_CLUSTER})"
    )
    parser.add_argument(
        "--instances", type=int, default=2, metavar="N", help="of each stage of the queries (2)"
    )
    parser.add_argument(
        "--environment",
        action="store_true",
        help="pack the packages, too, for nodes that have a Python of this version and no more",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an archive that is there")


def _add_doctor(commands) -> None:
    about = "Look at Java, cores, clock, disk and memory: what is wrong and how to mend it"
    _add(commands, "doctor", about, DOCTOR_EXAMPLES)
