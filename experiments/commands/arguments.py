"""The options of every subcommand, and a parser that says what is wrong in one line."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from experiments import finding
from experiments.commands import forms
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
PLAN_EXAMPLES = """\
example:
  millrace plan --profile laptop
"""
CLAIMS_EXAMPLES = """\
example:
  millrace claims --json
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are a line without the usage block, raised and not printed.

    Parameters
    ----------
    later : callable, optional
        ``later(parser, given)`` adds arguments when there is something to parse: some take time to
        find, and some depend on what is given.
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
        """Raise `message`, with where to look further.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(f"{message}; see {self.prog} --help")


def version() -> str:
    """Return the version: of the sources this file lies among, or of the installed package."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if project.is_file():
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
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
    _add_plan(commands)
    _add_check(commands)
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
    families = finding.benched()
    names = sorted(set(map(registry.called, families)))
    parser.add_argument(
        "family",
        # The id of a family that is called otherwise is taken, too.
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


def _add_doctor(commands) -> None:
    about = "Look at Java, cores, clock, disk and memory: what is wrong and how to mend it"
    _add(commands, "doctor", about, DOCTOR_EXAMPLES)
