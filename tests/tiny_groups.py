"""A tiny group that tests measure run by run, and what was run."""

from __future__ import annotations

from experiments.timing import threads
from experiments.timing.rounds import Lengths
from experiments.timing.task import Group, Task
from operators import registry

LENGTHS = Lengths(0.02, 0.02, 0.02, 2, 1, 60.0, open_fraction=0.1)
COMMON = {"data": "digest"}


def task_of(variant, fractions=(0.1,), family="aggregation", **given):
    runs = {name: given.pop(name) for name in ("common", "probes", "phases") if name in given}
    settings = registry.family(family).resolve(registry.variant(family, variant), given)
    return Task(variant, settings, fractions, **runs)


def group_of(*tasks, family="aggregation"):
    return Group(f"{family}-tiny", family, None, tasks, (("paper", "8"),))


TINY = group_of(task_of("mqlf", inputs=1), task_of("mqlf", inputs=2))
# Two rounds of slices, one of open runs.
OWN = [(1, "closed", 1), (1, "closed", 2), (1, "open", 1), (2, "closed", 1), (2, "closed", 2),
       (2, "open", 1)]  # fmt: skip
# In addition, one setting twice a round, one open run twice, and the setting of all processes.
RUNS = len(OWN) + 2 + 1 + 1


def places(rows):
    """Return which of the group's regular runs are present, except equal runs and second tries."""
    kinds = ("equal", "equal open", "reference")
    return sorted(
        (row["settings"]["inputs"], row["phase"], row["round"])
        for row in rows
        if row["phase"] not in kinds and (row["phase"], row["round"]) != ("open", 2)
    )


def counted(monkeypatch, before=lambda bench: None):
    """Count the runs; `before` each of them is called with the bench, and may raise."""
    original, runs = threads.run_tuples, []

    def run(bench, *given):
        before(bench)
        runs.append(bench)
        return original(bench, *given)

    monkeypatch.setattr(threads, "run_tuples", run)
    return runs
