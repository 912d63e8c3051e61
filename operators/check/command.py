"""The work of the command, once the structures may be imported."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import repeat
from operator import itemgetter
from typing import Any

from operators import registry
from operators.check import suite
from operators.check.explore import Explorer
from operators.check.families import chosen, mutant_named, name_of, scenarios, source_digest
from operators.check.faults import (
    FOUND,
    NOTHING,
    check_mutants,
    draw_faults,
    weaken_orders,
)
from operators.check.mutants import mutated_text
from operators.check.scenario import Failure
from operators.check.schedules import Schedule, parse_schedule
from operators.check.trace import trace_of
from operators.contract import UsageError, Variant

# How many of the assertions that could fail on the fewest states are shown.
FEWEST = 5


def run(options: argparse.Namespace) -> int:
    """Run the requested command and return the exit status.

    Raises
    ------
    UsageError
        When arguments exclude each other, or name an unknown variant, scenario or mutant.
    """
    if options.write is not None and not (options.mutants or options.orders):
        raise UsageError("--write goes with --mutants or --orders")
    if options.orders:
        _refuse(options, "--orders", "mutants", "automatic", "schedule", "mutant", "deep")
        return weaken_orders(options)
    if options.automatic:
        _refuse(options, "--automatic", "mutants", "schedule", "mutant", "deep")
        return draw_faults(options)
    if options.mutants:
        _refuse(options, "--mutants", "schedule", "mutant", "deep")
        return check_mutants(options)
    if options.schedule is not None:
        _refuse(options, "--schedule", "deep")
        return _replay(options)
    if options.mutant is not None and options.variant is None:
        raise UsageError("--mutant needs the VARIANT to check with it")
    return _check(chosen(options.variant), options)


def _refuse(options: argparse.Namespace, beside: str, *names: str) -> None:
    for name in names:
        if getattr(options, name):
            raise UsageError(f"{beside} takes no --{name}")


# --- checking ------------------------------------------------------------------------------------


def _check(variants: Sequence[Variant], options: argparse.Namespace) -> int:
    size = suite.DEEP if options.deep else suite.SHARE if options.share else suite.PLAIN
    if options.few_orders or options.more_orders:
        size = suite.MORE_ORDERS if options.more_orders else suite.ORDERS
    first_only = bool(options.mutant or options.replace)
    reports = []
    for variant, report in zip(variants, _reports(variants, size, first_only), strict=True):
        _sign(report, _digest(variant, options))
        reports.append(report)
        if not options.json:
            _show(report, with_marks=len(variants) == 1)
    if options.json:
        objects = [asdict(each) | {"family": registry.called(each.family)} for each in reports]
        print(json.dumps(objects[0] if options.variant and len(objects) == 1 else objects))
    elif len(reports) > 1:
        _show_sum(reports)
    return FOUND if any(_failed(report, options) for report in reports) else NOTHING


def _reports(
    variants: Sequence[Variant], size: suite.Size, first_only: bool
) -> Iterator[suite.Report]:
    """Yield the reports in the order of the variants, with one process a core."""
    workers = min(os.cpu_count() or 1, len(variants))
    places = [f"{place + 1}/{len(variants)}" for place in range(len(variants))]
    names = [name_of(variant) for variant in variants]
    if workers == 1:
        for place, name in zip(places, names, strict=True):
            yield _one_report(place, name, size, first_only)
        return
    context = multiprocessing.get_context("spawn")
    # Ctrl-C ends the workers at once; otherwise each would take up another variant first.
    at_once = signal.signal, (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(workers, context, *at_once) as pool:
        same = repeat(size), repeat(first_only)
        yield from pool.map(_one_report, places, names, *same)


def _one_report(place: str, name: str, size: suite.Size, first_only: bool) -> suite.Report:
    (variant,) = chosen(name)
    say = _progress(f"{place} {name}")
    report = suite.check_variant(variant, size, say, first_only)
    say("")
    return report


def _digest(variant: Variant, options: argparse.Namespace) -> str:
    """Return the digest of the source that runs: that of the files, or with a mutant in them."""
    mutant = options.mutant
    return source_digest(variant, "" if mutant is None else mutated_text(mutant_named(mutant)))


def _sign(report: suite.Report, digest: str) -> None:
    """Let each schedule of a report name the source that it is of."""
    for finding in report.findings:
        if finding.schedule:
            finding.schedule += f"@{digest}"
    report.marks = {mark: f"{text}@{digest}" for mark, text in report.marks.items()}
    if report.blocking:
        report.blocking += f"@{digest}"


def _failed(report: suite.Report, options: argparse.Namespace) -> bool:
    changed = options.mutant or options.replace
    return bool(report.findings or (_incomplete(report) and not changed))


def _incomplete(report: suite.Report) -> bool:
    """Return whether the programs miss a branch, or a state that an assertion is about."""
    return bool(report.missing_marks or report.idle_assertions)


def _progress(prefix: str):
    """Return a function that keeps one live line on a terminal, and prints nothing elsewhere."""
    live = sys.stderr.isatty()

    def say(text: str) -> None:
        if live:
            line = f"{prefix}: {text}"[:110] if text else ""
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    return say


def _show(report: suite.Report, with_marks: bool) -> None:
    name = f"{registry.called(report.family)}/{report.variant}"
    print(
        f"{name:<32} {report.scenarios:>3} scenarios {report.schedules:>8} schedules"
        f" {report.steps:>10} steps {report.states:>6} states {report.rests:>6} at rest"
        f" {report.seconds:7.1f} s",
        flush=True,
    )
    for finding in report.findings:
        first, *rest = finding.message.splitlines()
        print(f"  {finding.check}: {finding.scenario}: {first}")
        if finding.schedule:
            rest = [f"millrace check {name} --schedule {finding.schedule}"]
        for line in rest:
            print(f"    {line}")
    for what in report.cut:
        print(f"  cut off: {what}")
    for each in report.uncovered:
        print(f"  no program has {each}")
    for mark in report.missing_marks:
        print(f"  no schedule passes the mark {mark!r}")
    for each in report.unwaited:
        print(f"  no graph of states goes round {each}")
    for each in report.idle_assertions:
        print(f"  on no state could this have failed: {each}")
    if with_marks:
        for mark, schedule in sorted(report.marks.items()):
            print(f"  {mark:<60} {schedule}")
        for each, states in sorted(report.assertions.items(), key=itemgetter(1))[:FEWEST]:
            print(f"  on {states} states this could have failed: {each}")
    if report.blocking:
        print(f"  blocking, as declared: after {report.blocking} the others wait for ever")


def _show_sum(reports: Sequence[suite.Report]) -> None:
    steps, seconds = sum(r.steps for r in reports), sum(r.seconds for r in reports)
    found = sum(bool(r.findings or _incomplete(r)) for r in reports)
    print(
        f"{len(reports)} variants, {sum(r.schedules for r in reports)} schedules, {steps} steps in"
        f" {seconds:.0f} s ({steps / seconds:,.0f} steps/s); {found or 'no'} variants failed"
    )


# --- one schedule --------------------------------------------------------------------------------


def _replay(options: argparse.Namespace) -> int:
    if options.variant is None:
        raise UsageError("--schedule needs the VARIANT that it is a schedule of")
    text, _, source = options.schedule.partition("@")
    schedule = parse_schedule(text)
    _check_source(source, options)
    try:
        lines, failure = trace_of(_explorer_of(options.variant, schedule), text)
    except Failure as before:
        lines, failure = [], before
    found: dict[str, Any] | None = None
    if failure is not None:
        found = {"check": failure.check, "message": failure.message}
    if options.json:
        print(json.dumps({"schedule": options.schedule, "steps": lines, "found": found}))
    else:
        end = "nothing found" if failure is None else f"{failure.check}: {failure.message}"
        print("\n".join([*lines, end]))
    return NOTHING if failure is None else FOUND


def _check_source(source: str, options: argparse.Namespace) -> None:
    """Refuse a schedule of another source: its steps would be others.

    Raises
    ------
    UsageError
    """
    known = {_digest(variant, options) for variant in chosen(options.variant)}
    if source and source not in known:
        raise UsageError(
            f"the schedule is of the source @{source}, and this is @{min(known)}: its steps would"
            f" be others; leave @{source} out to try it all the same"
        )


def _explorer_of(text: str, schedule: Schedule) -> Explorer:
    """Return an explorer of a schedule's scenario.

    Raises
    ------
    UsageError
        When the variant has no scenario of that name.
    Failure
        When the scenario cannot begin.
    """
    known = []
    for variant in chosen(text):
        for scenario in scenarios(variant):
            known.append(scenario.name)
            if scenario.name == schedule.scenario:
                return Explorer(scenario, schedule.memory)
    raise UsageError(f"{text} has no scenario {schedule.scenario!r}; there are: {', '.join(known)}")
