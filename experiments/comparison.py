"""Two sets of results compared: conditions, values that changed, and verdicts that changed.

``millrace compare`` prints it, and a page may show it: the sentence is the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Any

from experiments import papers, plan, profiles
from experiments.judging import belonging, changes, claims, findings, peer_changes
from experiments.judging.badges import shortened, with_ends
from experiments.judging.belonging import Doubt
from experiments.judging.changes import (
    BETTER,
    BROKEN,
    CANNOT_TELL,
    DIFFERENT,
    ONLY_AFTER,
    ONLY_BEFORE,
    OTHER_DATA,
    RUNS,
    WORSE,
    Change,
)
from experiments.judging.floors import Floors, floors_of
from experiments.judging.published import read_published
from experiments.records.results import Raw, one_machine
from experiments.records.sets import ResultSet
from experiments.text import si
from operators.contract import UsageError

FINDING, STATEMENT = "finding", "statement"


@dataclass(frozen=True)
class Comparison:
    """The difference between two sets.

    Attributes
    ----------
    before, after : mapping
        About each set: ``name``, ``label``, ``profile``, ``machine``, ``cpu_model``, ``cores``,
        ``commits``, ``dirty``, ``first`` and ``last`` (UTC), ``processes``, ``rows``, ``floors``.
    doubts : list of Doubt
        Conditions that differ.
    reference : float or None
        The rate of the setting that all processes measure, after over before.
    changes : list of Change
        Every value, the most severe first.
    verdicts : list of mapping
        Verdicts with another word: ``paper``, ``kind`` (finding or statement), ``id``, ``text``,
        ``before`` and ``after``.
    """

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    doubts: list[Doubt]
    reference: float | None
    changes: list[Change]
    verdicts: list[Mapping[str, Any]]

    @cached_property
    def different(self) -> list[Change]:
        """The changes that are no noise."""
        return [each for each in self.changes if each.mark in DIFFERENT]

    def failing(self, limit: float) -> list[Change]:
        """Return the settings that fail now and did not, and values worse by more than `limit`."""
        return [
            each
            for each in self.changes
            if each.mark == BROKEN or (each.mark == WORSE and each.times > limit)
        ]

    def sentence(self) -> str:
        """Return the whole in a sentence, and the consequence."""
        count = len(self.changes)
        broken, worse, better = (
            [each for each in self.changes if each.mark == mark] for mark in (BROKEN, WORSE, BETTER)
        )
        if broken:
            more = f", and {len(worse)} values are worse" if worse else ""
            return f"{len(broken)} settings fail that did not{more}: read these first."
        if not worse and not better:
            return self._nothing_changed(count)
        told = [f"{len(each)} {word}" for each, word in ((worse, "worse"), (better, "better"))]
        head = f"Of {count} values {' and '.join(told)} by more than noise"
        if not worse:
            return f"{head}: nothing to do."
        most = worse[0]
        return (
            f"{head}; most severe: {most.family} {most.variant}, {most.quantity},"
            f" {shortened(most.times)} times: read the worse ones."
        )

    def _nothing_changed(self, count: int) -> str:
        open_ones = sum(each.mark == CANNOT_TELL for each in self.changes)
        alone = (ONLY_BEFORE, ONLY_AFTER, OTHER_DATA)
        absent = sum(each.mark in alone for each in self.changes)
        if not open_ones and not absent:
            return f"None of {count} values changed by more than noise: nothing to do."
        return (
            f"None of {count} values is known to have changed beyond noise; {open_ones} cannot"
            f" be told and {absent} cannot be compared."
        )

    def content(self, every: bool = False) -> dict[str, Any]:
        """Return a JSON object; of the changes only the different ones unless `every`."""
        shown = self.changes if every else self.different
        return {
            "sentence": self.sentence(),
            "before": dict(self.before),
            "after": dict(self.after),
            "doubts": [each._asdict() for each in self.doubts],
            "reference": self.reference,
            "summary": changes.summary(self.changes),
            "changes": [
                {**asdict(each), "times": each.times, "over_floor": each.over_floor}
                for each in shown
            ],
            "verdicts": [dict(each) for each in self.verdicts],
        }


def compare(before: ResultSet, after: ResultSet, across: bool = False) -> Comparison:
    """Compare two sets.

    Parameters
    ----------
    before, after : ResultSet
    across : bool
        Compare sets of two machines or profiles, too: then every ratio contains that difference.

    Raises
    ------
    UsageError
        When both are the same files, a set is of several machines, machine or profile differ and
        `across` is false, or the sets have no setting in common.
    """
    if before.files == after.files:
        raise UsageError(
            f"{before.name} and {after.name} are the same results; name another set, or two commits"
            f" of it: {before.label}@COMMIT"
        )
    for each in (before, after):
        if not each.every.rows:
            raise UsageError(f"{each.name} has no rows: measure some first, with make figures")
        one_machine(each.every)
    floors = floors_of(before.every.rows), floors_of(after.every.rows)
    doubts = belonging.doubts(before.every, after.every, floors)
    refused = [each for each in doubts if each.refused]
    if refused and not across:
        raise UsageError(
            f"{before.name} and {after.name} do not belong together: {refused[0]}; or give --across"
            " to compare them all the same"
        )
    rows = _by_paper(before), _by_paper(after)
    wider = changes.wider(*floors)
    found = changes.changes(*rows, wider)
    if not any(each.before is not None and each.after is not None for each in found):
        raise UsageError(
            f"{before.name} and {after.name} have no setting in common, of {len(found)}; compare"
            " sets of one paper and profile"
        )
    found += peer_changes.changes(before.beside_peers, after.beside_peers, wider)
    return Comparison(
        _about(before, floors[0]),
        _about(after, floors[1]),
        doubts,
        changes.reference_ratio(before.every.rows, after.every.rows),
        sorted(found, key=lambda each: each.severity),
        list(_verdicts(*rows, *floors)),
    )


def columns_of(change: Change) -> tuple[str, ...]:
    """Return a change in words: mark, times, floors, design, quantity, and both values."""
    at = "" if change.rate_fraction is None else f" at {change.rate_fraction:g}"
    name = " ".join(filter(None, [change.family, change.variant, change.settings]))
    if change.quantity == RUNS:
        return change.mark, "", "", name, RUNS, change.note
    times = ""
    if change.times is not None:
        number, reach = with_ends(change.ratio, *(change.reach or (None, None)))
        times = f"{number} times{reach}"
    over = "floor unknown" if change.floor is None else f"{change.over_floor or 1:.2f} floors"
    values = f"{_value(change.before, change.unit)} to {_value(change.after, change.unit)}"
    note = f" ({change.note})" if change.note else ""
    return change.mark, times, over if times else "", name, f"{change.quantity}{at}", values + note


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "none"
    return f"{si(value)}{unit}".strip()


def _by_paper(found: ResultSet) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the rows that the figures of each paper may show."""
    row = found.every.rows[0]
    shown = _groups(row["profile"], row["size"])
    rows = {paper: found.of_groups(groups).rows for paper, groups in shown.items()}
    return {paper: of_paper for paper, of_paper in rows.items() if of_paper}


@cache
def _groups(profile: str, size: str) -> dict[str, frozenset[str]]:
    """Return the groups that the figures of each paper show."""
    found = profiles.of_rows(profile, size)
    return {
        paper: frozenset(group.id for group in plan.groups(found, [paper]))
        for paper in papers.paper_names()
    }


def _about(found: ResultSet, floors: Floors) -> dict[str, Any]:
    raw: Raw = found.every
    provenances = list(raw.provenances.values())
    times = [row["started_at"] for row in raw.rows]
    return {
        "name": found.name,
        "label": found.label,
        "profile": sorted({row["profile"] for row in raw.rows}),
        "machine": raw.machines[0],
        "cpu_model": next((p.get("cpu_model") for p in provenances), None),
        "cores": min(row["cores"] for row in raw.rows),
        "commits": sorted({p["commit"] for p in provenances if p.get("commit")}),
        "dirty": any(p.get("dirty") for p in provenances),
        "first": _time(min(times)),
        "last": _time(max(times)),
        "processes": len({row["repetition"] for row in raw.rows}),
        "rows": len(raw.rows),
        "floors": floors.records(),
    }


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")


def _verdicts(
    before: Mapping[str, Sequence], after: Mapping[str, Sequence], *floors: Floors
) -> list[dict[str, Any]]:
    """Return the findings, and then the statements, whose word changed."""
    found = []
    for paper in sorted(before.keys() & after.keys()):
        judged = []
        for rows, floor in zip((before[paper], after[paper]), floors, strict=True):
            statements = claims.judge_paper(paper, list(rows), floor)
            asked = read_published(paper).findings
            judged.append((findings.findings_of(paper, asked, statements), statements))
        for kind, name, one, other in (
            (FINDING, "finding", judged[0][0], judged[1][0]),
            (STATEMENT, "quote", judged[0][1], judged[1][1]),
        ):
            words = {each["id"]: each["direction"] for each in one}
            found += [
                {
                    "paper": paper,
                    "kind": kind,
                    "id": each["id"],
                    "text": each[name],
                    "before": words[each["id"]],
                    "after": each["direction"],
                }
                for each in other
                if words.get(each["id"], each["direction"]) != each["direction"]
            ]
    return sorted(found, key=lambda each: each["kind"] == STATEMENT)
