"""The command ``python -m tests.same``: see the package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.same import digests, outputs, replay, syntax, throughput
from tests.same.checkouts import ROOT, CannotCompare, Checkout, opened
from tests.same.renames import read_renames
from tests.same.report import Finding, show

SAME, DIFFERENT, NOT_COMPARED = 0, 1, 2


def make_parser() -> argparse.ArgumentParser:
    """Return the parser: a subcommand for each way to compare."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.same",
        description="Compare two checkouts: what was to be moved or renamed must change nothing.",
    )
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    about = "syntax trees, apart from docstrings, imports and declared renames"
    part = _add(parts, "syntax", about)
    part.add_argument("--renames", type=Path, metavar="FILE", help="lines `old -> new`")
    part.add_argument("--below", nargs="+", default=[], metavar="PATH", help="only these folders")
    part = _add(parts, "outputs", "verdicts, tables and pictures of the same raw rows")
    part.add_argument(
        "--rows",
        nargs=2,
        action="append",
        metavar=("PATH", "PROFILE"),
        help="a folder of results, or an archive (of BASE: results/quick, and the sixteen cores)",
    )
    part.add_argument("--paper", default="", metavar="NAMES", help="papers, apart by commas (all)")
    part = _add(parts, "replay", "`millrace replay` over small files, bytes and words")
    part.add_argument("--only", default="", metavar="TEXT", help="commands with this text (all)")
    part = _add(parts, "digests", "what each variant of the benched families gives out")
    part.add_argument("--family", nargs="+", default=[], choices=digests.SETTINGS, metavar="FAMILY")
    _add_data(part)
    part = _add(parts, "throughput", "six benches in turns; needs a quiet machine")
    part.add_argument("--bench", nargs="+", default=[], choices=throughput.BENCHES, metavar="NAME")
    part.add_argument("--turns", type=int, default=throughput.TURNS, help="(%(default)s)")
    part.add_argument("--seconds", type=float, default=1.0, help="of a run (%(default)s)")
    part.add_argument("--busy", action="store_true", help="measure on a machine others use, too")
    _add_data(part)
    return parser


def _add(parts, name: str, about: str) -> argparse.ArgumentParser:
    parser = parts.add_parser(name, help=about, description=about)
    parser.add_argument("base", metavar="BASE", help="a checkout's folder, or a git revision")
    parser.add_argument(
        "--new", default=ROOT, metavar="NEW", help="the other one (the one that holds this tool)"
    )
    parser.add_argument(
        "--expected", type=Path, metavar="FILE", help="differences that are meant, one a line"
    )
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="datasets of both (results/data of BASE)"
    )


def findings_of(options: argparse.Namespace, base: Checkout, new: Checkout) -> Iterable[Finding]:
    """Run the requested part."""
    if options.part == "syntax":
        lines = _lines(options.renames)
        return [syntax.compare(base, new, read_renames(lines), options.below)]
    if options.part == "outputs":
        kept = [(base.folder / path, profile) for path, profile in outputs.ROWS]
        rows = [(Path(path).resolve(), profile) for path, profile in options.rows or []] or kept
        return outputs.compare(base, new, rows, options.paper)
    if options.part == "replay":
        return replay.compare(base, new, options.only)
    data = options.data or base.folder / "results" / "data"
    if options.part == "digests":
        return digests.compare(base, new, data, options.family)
    how = (options.turns, options.seconds, options.bench, options.busy)
    return throughput.compare(base, new, data, *how)


def _lines(path: Path | None) -> list[str]:
    """Return the lines of a file that are neither empty nor comments; none without a file."""
    if path is None:
        return []
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print what was found, and return the exit status."""
    options = make_parser().parse_args(argv)
    try:
        with ExitStack() as stack:
            base = stack.enter_context(opened("BASE", options.base))
            new = stack.enter_context(opened("NEW", options.new))
            unexpected = show(findings_of(options, base, new), _lines(options.expected))
    except (CannotCompare, OSError) as error:
        print(f"tests.same: {error}", file=sys.stderr)
        return NOT_COMPARED
    return DIFFERENT if unexpected else SAME


if __name__ == "__main__":
    sys.exit(main())
