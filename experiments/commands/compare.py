"""``millrace compare``: two sets of results, and what changed by more than noise."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from experiments.commands.output import print_columns, print_json
from experiments.comparison import FINDING, STATEMENT, Comparison, columns_of, compare
from experiments.judging.badges import shortened
from experiments.judging.changes import CANNOT_TELL, summary
from experiments.records.sets import ResultSet, last_two, opened
from operators.contract import UsageError

TEXT_WIDTH = 100
COMMIT_DIGITS = 8


def run(options: argparse.Namespace) -> int:
    """Compare and print; return 1 if something is worse than --fail-above allows."""
    limit = options.fail_above
    if limit is not None and not 1.0 <= limit < float("inf"):
        raise UsageError(f"--fail-above is a factor of at least 1, such as 1.1, received {limit:g}")
    with _both(options) as (before, after):
        found = compare(before, after, options.across)
    failing = [] if limit is None else found.failing(limit)
    if options.json:
        print_json(found.content(options.all) | {"fails": bool(failing)})
    else:
        _show(found, options.all)
    if failing:
        print(
            f"millrace: {len(failing)} values are worse by more than {limit:g} times, or fail",
            file=sys.stderr,
        )
    return 1 if failing else 0


@contextmanager
def _both(options: argparse.Namespace) -> Iterator[tuple[ResultSet, ResultSet]]:
    """Yield the two sets: those that are named, or the last two runs of a single one."""
    if options.after is None:
        yield last_two(options.before)
        return
    with opened(options.before) as before, opened(options.after) as after:
        yield before, after


def _show(found: Comparison, every: bool) -> None:
    print(found.sentence())
    print()
    print_columns([_about("before", found.before), _about("after", found.after)])
    for doubt in found.doubts:
        print(f"  {'not alike' if doubt.refused else 'note'}: {doubt}")
    if found.reference is not None:
        print(
            f"  the setting that every process measures ran {found.reference:.3f} times as fast"
            " afterwards"
        )
    print()
    print_columns([("", "values", "times"), *map(_counted, summary(found.changes))])
    shown = found.changes if every else found.different
    if shown:
        print()
        print_columns([columns_of(each) for each in shown])
    _show_verdicts(found.verdicts)
    silent = len(found.changes) - len(found.different)
    if silent and not every:
        print(f"\n{silent} values are alike or cannot be told: --all lists them")


def _about(word: str, about: Mapping[str, Any]) -> tuple[str, ...]:
    commits = ", ".join(each[:COMMIT_DIGITS] for each in about["commits"]) or "no commit"
    changed = " and changes" if about["dirty"] else ""
    return (
        f"{word}:",
        about["name"],
        f"{commits}{changed}",
        f"{about['first']} to {about['last']} UTC",
        f"{about['processes']} processes, {about['rows']:,} rows",
    )


def _counted(line: Mapping[str, Any]) -> tuple[str, ...]:
    if line["times"] is None:
        return line["mark"], str(line["values"]), ""
    ends = f"{shortened(line['least'])} to {shortened(line['most'])}"
    return line["mark"], str(line["values"]), f"{shortened(line['times'])}, from {ends}"


def _show_verdicts(verdicts: Sequence[Mapping[str, Any]]) -> None:
    for kind in (FINDING, STATEMENT):
        changed = [each for each in verdicts if each["kind"] == kind]
        clear = [each for each in changed if CANNOT_TELL not in (each["before"], each["after"])]
        print(f"\n{kind}s with another verdict: {len(changed)}, {len(clear)} of them clear in both")
        if changed:
            print_columns(
                [
                    (
                        f"{each['before']} -> {each['after']}",
                        f"{each['paper']} {each['id']}",
                        textwrap.shorten(each["text"], TEXT_WIDTH),
                    )
                    for each in changed
                ]
            )
