"""Random schedules by priorities (PCT) and as random walks: which finds the mutants sooner.

``NUMBA_DISABLE_JIT=1 python -m tests.benchmarks.random_search`` tries every mutant in a process of
its own, prints a line for each, and then the table of ``docs/proving-ground.md``. A few schedules
of each scenario on each memory take turns. Mutants that schedules without any switch show are left
out.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

BUDGET = 400
AT_ONCE = 2
LIMIT_S = 60
MEMORIES = ("sc", "pso", "rc11")
PRIORITIES, WALK = "priorities", "walk"
AT_FIRST = 0  # instead of a number of schedules: one without a switch failed


def try_mutant(name: str, seed: int) -> dict[str, int | None]:
    """Return by kind of schedule how many were run until a failure, or None if there was none."""
    from operators.check.families import mutant_named
    from operators.check.mutants import apply

    mutant = mutant_named(name)
    apply(mutant)
    from operators.check.explore import Explorer
    from operators.check.families import chosen, scenarios
    from operators.check.pct import random_schedules
    from operators.check.scenario import Failure
    from operators.check.schedules import Turns

    found: dict[str, int | None] = {PRIORITIES: None, WALK: None}
    try:
        each = [s for s in scenarios(chosen(mutant.variant)[0]) if not s.deep]
        explorers = [
            Explorer(s, memory) for s in each if len(s.programs) > 1 for memory in MEMORIES
        ]
        for explorer in explorers:
            explorer.run(Turns({}))
    except Failure:
        return dict.fromkeys(found, AT_FIRST)
    for kind in found:
        run, turn = 0, 0
        try:
            while run < BUDGET and explorers:
                explorer = explorers[turn % len(explorers)]
                for _ in random_schedules(
                    explorer.scenario, count=AT_ONCE, seed=seed + turn, explorer=explorer,
                    walk=kind == WALK,
                ):  # fmt: skip
                    run += 1
                turn += 1
        except Failure:
            found[kind] = run + 1
    return found


def main() -> None:
    """Try every mutant, and print the table."""
    from operators.check.families import mutants

    rows = []
    names = [mutant.name for mutant in mutants()]
    # In an order that has all families from the first mutants on.
    for name in (each for first in range(7) for each in names[first::7]):
        command = [sys.executable, "-m", __spec__.name, name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
            row = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, ValueError):
            row = None
        print(name, row, flush=True)
        if row is not None and AT_FIRST not in row.values():
            rows.append(row)
    print(table(rows))


def table(rows: list[dict[str, int | None]]) -> str:
    """Return how many mutants each kind found, alone, and with how many schedules."""
    lines = [
        "| schedules | found | only by these | median until found by both |",
        "|---|---|---|---|",
    ]
    both = [row for row in rows if None not in row.values()]
    for kind, other in ((PRIORITIES, WALK), (WALK, PRIORITIES)):
        found = sum(row[kind] is not None for row in rows)
        alone = sum(row[kind] is not None and row[other] is None for row in rows)
        median = statistics.median(row[kind] for row in both) if both else "-"
        lines.append(f"| {kind} | {found} of {len(rows)} | {alone} | {median} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(try_mutant(sys.argv[1], seed=1)))
    else:
        main()
