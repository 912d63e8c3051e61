"""What the command does once the structures may be imported."""

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
from pathlib import Path
from typing import Any

from operators import registry
from operators.check import suite
from operators.check.explore import Explorer
from operators.check.families import mutants, scenarios
from operators.check.mutants import run_catalogue, table, with_table, written_results
from operators.check.plans import Schedule, parse_schedule
from operators.check.scenario import Failure
from operators.check.trace import trace_of
from operators.contract import UsageError, Variant

NOTHING, FOUND = 0, 1


def run(options: argparse.Namespace) -> int:
    """Do what the arguments ask for and return the exit status.

    Raises
    ------
    UsageError
        When they do not go together, or name what there is not.
    """
    if options.write is not None and not options.mutants:
        raise UsageError("--write goes with --mutants")
    if options.mutants:
        _refuse(options, "--mutants", "schedule", "mutant", "deep")
        return _mutants(options)
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


def chosen(text: str | None) -> list[Variant]:
    """Return the variants that an argument names: an id, ``family/id`` as it is called, or all.

    Raises
    ------
    UsageError
        When there is none of that name.
    """
    if text is None:
        return registry.variants()
    family, _, name = text.rpartition("/")
    if family:
        return [registry.named(family, name)]
    found = [variant for variant in registry.variants() if variant.id == text]
    if not found:
        known = ", ".join(map(_name_of, registry.variants()))
        raise UsageError(f"unknown variant {text!r}; there are: {known}")
    return found


def _name_of(variant: Variant) -> str:
    """Return what names a variant to the command."""
    return f"{registry.called(variant.family)}/{variant.id}"


# --- checking ------------------------------------------------------------------------------------


def _check(variants: Sequence[Variant], options: argparse.Namespace) -> int:
    size = suite.DEEP if options.deep else suite.SHARE if options.share else suite.PLAIN
    reports = []
    for report in _reports(variants, size, first_only=bool(options.mutant)):
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
    """Yield the reports in the order of the variants, a process a core."""
    workers = min(os.cpu_count() or 1, len(variants))
    places = [f"{place + 1}/{len(variants)}" for place in range(len(variants))]
    names = [_name_of(variant) for variant in variants]
    if workers == 1:
        for place, name in zip(places, names, strict=True):
            yield _one_report(place, name, size, first_only)
        return
    context = multiprocessing.get_context("spawn")
    # Ctrl-C ends the workers at once: else each goes on with what it was given next.
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


def _failed(report: suite.Report, options: argparse.Namespace) -> bool:
    return bool(report.findings or (report.missing_marks and not options.mutant))


def _progress(prefix: str):
    """Return a function that keeps one live line on a terminal, and is silent elsewhere."""
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
        f" {report.steps:>10} steps {report.states:>6} states {report.seconds:7.1f} s",
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
    for mark in report.missing_marks:
        print(f"  no schedule passes the mark {mark!r}")
    if with_marks:
        for mark, schedule in sorted(report.marks.items()):
            print(f"  {mark:<60} {schedule}")
    if report.blocking:
        print(f"  blocking, as declared: after {report.blocking} the others wait for ever")


def _show_sum(reports: Sequence[suite.Report]) -> None:
    steps, seconds = sum(r.steps for r in reports), sum(r.seconds for r in reports)
    found = sum(bool(r.findings or r.missing_marks) for r in reports)
    print(
        f"{len(reports)} variants, {sum(r.schedules for r in reports)} schedules, {steps} steps in"
        f" {seconds:.0f} s ({steps / seconds:,.0f} steps/s); {found or 'no'} variants failed"
    )


# --- one schedule --------------------------------------------------------------------------------


def _replay(options: argparse.Namespace) -> int:
    if options.variant is None:
        raise UsageError("--schedule needs the VARIANT that it is a schedule of")
    schedule = parse_schedule(options.schedule)
    try:
        lines, failure = trace_of(_explorer_of(options.variant, schedule), options.schedule)
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


def _explorer_of(text: str, schedule: Schedule) -> Explorer:
    """Return an explorer of the scenario that a schedule is of.

    Raises
    ------
    UsageError
        When the variant has none of that name.
    Failure
        When it cannot begin.
    """
    known = []
    for variant in chosen(text):
        for scenario in scenarios(variant):
            known.append(scenario.name)
            if scenario.name == schedule.scenario:
                return Explorer(scenario, schedule.memory)
    raise UsageError(f"{text} has no scenario {schedule.scenario!r}; there are: {', '.join(known)}")


# --- mutants -------------------------------------------------------------------------------------


def _mutants(options: argparse.Namespace) -> int:
    names = {_name_of(variant) for variant in chosen(options.variant)}
    asked = [each for each in mutants() if options.variant is None or each.variant in names]
    if not asked:
        raise UsageError(f"{options.variant} has no mutants")
    results = run_catalogue(asked, progress=lambda line: print(line, file=sys.stderr, flush=True))
    alive = [result["mutant"] for result in results if result["killed_by"] is None]
    if options.write is not None:
        page = Path(options.write)
        text = page.read_text("utf-8")
        # Of mutants that were not asked for, what stands there is kept.
        found = [*written_results(text), *results]
        page.write_text(with_table(text, table(mutants(), found)), "utf-8")
    if options.json:
        print(json.dumps(results))
    else:
        for result in results:
            end = result["killed_by"] or "LIVES"
            print(f"{result['mutant']:<40} {result['variant']:<28} {end}")
        print(f"{len(results) - len(alive)} of {len(results)} mutants are killed")
    return FOUND if alive else NOTHING
