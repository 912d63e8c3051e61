"""The parts of the command that change the source: mutants, weaker orders, random faults."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from operators.check import automatic, orders
from operators.check.families import chosen, mutants, name_of
from operators.check.mutants import run_catalogue, table, with_table, written_results
from operators.contract import UsageError

NOTHING, FOUND = 0, 1


def check_mutants(options: argparse.Namespace) -> int:
    """Check the catalogue, or the mutants of a variant, and return the exit status."""
    # By the id of the family: theta joins are called joins in commands.
    names = {f"{variant.family}/{variant.id}" for variant in chosen(options.variant)}
    asked = [each for each in mutants() if options.variant is None or each.variant in names]
    if not asked:
        raise UsageError(f"{options.variant} has no mutants")
    results = run_catalogue(asked, progress=_to_stderr)
    alive = [result["mutant"] for result in results if result["killed_by"] is None]
    if options.write is not None:
        page = Path(options.write)
        text = page.read_text("utf-8")
        # The rows of mutants that were not asked for are kept.
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


def weaken_orders(options: argparse.Namespace) -> int:
    """Weaken the memory orders of all structures, or of one, and return the exit status."""
    page = None if options.write is None else Path(options.write)
    results, together = orders.run(_one_name(options), page, os.cpu_count() or 1, _to_stderr)
    left = [each for each in results if each.needed_by is None]
    unexplained = [each for each in left if each.site.name not in orders.reasons()]
    if options.json:
        rows = [each._asdict() | {"site": each.site.name} for each in results]
        print(json.dumps({"alone": rows, "together": together}))
    else:
        for each in results:
            end = each.needed_by or "NOT NEEDED"
            print(f"{each.site.name:<90} {each.order:<8} {end}")
        print(
            f"{len(results) - len(left)} of {len(results)} orders are needed by a check,"
            f" {len(unexplained)} have neither a check nor a reason"
        )
    return FOUND if unexplained else NOTHING


def draw_faults(options: argparse.Namespace) -> int:
    """Check faults drawn at random, in all structures or in one, and return the exit status."""
    drawn = automatic.sample(options.automatic, options.seed, _one_name(options))
    outcomes = automatic.run(drawn, os.cpu_count() or 1, _to_stderr)
    if options.json:
        print(json.dumps([each._asdict() | {"mutant": each.mutant.name} for each in outcomes]))
    else:
        for mutant, ended, by in outcomes:
            print(f"{ended:<10} {mutant.line:>4} {mutant.name}  {by}")
        print(automatic.summary(outcomes))
    found = automatic.MISSED, automatic.BROKE
    return FOUND if any(each.ended in found for each in outcomes) else NOTHING


def _one_name(options: argparse.Namespace) -> str | None:
    """Return the name of the one variant that is asked for, or None for all."""
    if options.variant is None:
        return None
    names = [name_of(variant) for variant in chosen(options.variant)]
    if len(names) > 1:
        raise UsageError(f"{options.variant} is the id of {', '.join(names)}: name one of them")
    return names[0]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
