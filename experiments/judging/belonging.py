"""Whether two sets of results may be compared: by machine, profile, software and noise floor.

Data are compared setting by setting (``changes``): a set may have one data set in common with
another, and the next one not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from experiments.judging.badges import shortened
from experiments.judging.floors import BETWEEN, ENOUGH, LATENCY, THROUGHPUT, Floors
from experiments.judging.pool import ALIKE
from experiments.records.results import Raw

UNKNOWN = "unknown"


class Doubt(NamedTuple):
    """A difference of conditions.

    Attributes
    ----------
    subject : str
        The condition that differs.
    before, after : str
        Both values.
    remedy : str
        How to get two sets without it, or how to read these two.
    refused : bool
        Whether the sets are only compared on demand.
    """

    subject: str
    before: str
    after: str
    remedy: str
    refused: bool = False

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.subject}: {self.before} before, {self.after} after; {self.remedy}"


def doubts(before: Raw, after: Raw, floors: tuple[Floors, Floors]) -> list[Doubt]:
    """Return the doubts about a comparison, those that refuse it first.

    Parameters
    ----------
    before, after : Raw
    floors : (Floors, Floors)
        Of each set.
    """
    found = []
    machines = [_machine(raw) for raw in (before, after)]
    if before.machines != after.machines:
        remedy = "measure both on one machine"
        found.append(Doubt("machine", *machines, remedy, refused=True))
    for subject, column, remedy in (
        ("profile", "profile", "measure both with one profile"),
        ("size", "size", "measure both with one profile"),
    ):
        values = [_values(row[column] for row in raw.rows) for raw in (before, after)]
        if values[0] != values[1]:
            found.append(Doubt(subject, *values, remedy, refused=True))
    for subject, name, remedy, refused in (
        ("interpreted", "interpreted", "measure both compiled", True),
        ("packages (lock)", "lock", "a change may be one of a package", False),
    ):
        values = [_values(p.get(name) for p in raw.provenances.values()) for raw in (before, after)]
        if values[0] != values[1]:
            found.append(Doubt(subject, *values, remedy, refused))
    found += _of_floors(*floors)
    return sorted(found, key=lambda each: not each.refused)


def _machine(raw: Raw) -> str:
    models = {p.get("cpu_model") for p in raw.provenances.values()} - {None}
    cores = min((row["cores"] for row in raw.rows), default=0)
    return f"{', '.join(raw.machines)} ({', '.join(sorted(models)) or UNKNOWN}, {cores} cores)"


def _values(values: Iterable[Any]) -> str:
    return ", ".join(sorted({UNKNOWN if each is None else str(each) for each in values}))


def _of_floors(before: Floors, after: Floors) -> Iterable[Doubt]:
    """Yield a doubt for each floor that is unknown in a set, or much larger than in the other."""
    kinds = {*before.floors, *after.floors}
    for kind, oversubscribed in sorted(kinds):
        if kind not in (THROUGHPUT, LATENCY, BETWEEN):
            continue
        both = before.known(kind, oversubscribed), after.known(kind, oversubscribed)
        told = [shortened(each.factor) if each else UNKNOWN for each in both]
        subject = f"noise floor of {kind}{', oversubscribed' if oversubscribed else ''}"
        if None in both:
            remedy = (
                f"fewer than {ENOUGH} equal runs: nothing that it belongs to is called changed; add"
                " processes with REPETITIONS=6"
            )
            yield Doubt(subject, *told, remedy)
        elif max(each.factor for each in both) > ALIKE * min(each.factor for each in both):
            yield Doubt(subject, *told, "the larger one counts; measure the noisy set again")
