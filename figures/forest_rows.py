"""The rows of a forest plot: each measured statement of a paper as a ratio, under a finding.

The ratio, the interval, the noise floor and the paper's number come from the verdicts. A repetition
of another statement has no row, and a value of another machine has no ratio. Picture, CSV file and
page are made from the same rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from experiments.judging.badges import shortened, with_ends
from experiments.judging.floors import ENOUGH
from experiments.judging.pool import NOT_MEASURED
from experiments.judging.reasons import ABSOLUTE, counts
from figures.statements import label_of, paper_ratio

# The axis ends at two of these, and never extends beyond the first or the last.
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# The labels of an axis with more ticks than have room.
FEW_LABELS, ROOM = (0.02, 0.1, 0.5, 1.0, 2.0, 10.0, 50.0), 7
# The axis shows at least the ratios between these.
LEAST_LOW, LEAST_HIGH = 0.5, 2.0


class Row(NamedTuple):
    """A statement on the axis of ratios; the fields are the columns of the CSV, in order.

    Attributes
    ----------
    finding, statement : str
        Ids.
    direction : str
        The answer to the statement.
    label : str
        The comparison in words.
    ratio : float
        Here: the first side of the comparison over the second.
    low, high : float or None
        The ends of the interval or range.
    interval : str
        The kind of that interval: "95 % interval", "range of 3".
    floor : float or None
        The factor between equal runs; None where too few were made to know it.
    paper : float or None
        The ratio that the paper gives.
    counts : bool
        Whether the statement is a part of the finding's answer.
    quote : str
    """

    finding: str
    statement: str
    direction: str
    label: str
    ratio: float
    low: float | None
    high: float | None
    interval: str
    floor: float | None
    paper: float | None
    counts: bool
    quote: str


class Absent(NamedTuple):
    """A statement without a ratio: the id, the label, the answer, and the reason."""

    statement: str
    label: str
    direction: str
    reason: str


class Group(NamedTuple):
    """A finding with the rows below it, and the statements that have no ratio."""

    id: str
    question: str
    direction: str
    rows: tuple[Row, ...]
    absent: tuple[Absent, ...]


def groups_of(verdicts: Mapping[str, Any]) -> list[Group]:
    """Return the rows of a paper's forest plot, by finding and in the order of the verdicts.

    Parameters
    ----------
    verdicts : mapping
        As ``experiments.judging.claims.judge`` returns them.
    """
    claims = {claim["id"]: claim for claim in verdicts["claims"]}
    found = []
    for finding in verdicts["findings"]:
        own = [claims[name] for name in finding["statements"] if not claims[name]["repeats"]]
        rows = [_row(finding["id"], claim) for claim in own if claim["ratio"] is not None]
        absent = [_absent(claim) for claim in own if claim["ratio"] is None and not _shown(claim)]
        names = (finding["id"], finding["finding"], finding["direction"])
        if rows or absent:
            found.append(Group(*names, tuple(rows), tuple(absent)))
    return found


def _shown(claim: Mapping[str, Any]) -> bool:
    """Return whether a statement is a measured value of another machine, which has no ratio."""
    return claim["comparator"] == ABSOLUTE and bool(claim["parts"])


def _row(finding: str, claim: Mapping[str, Any]) -> Row:
    low, high = claim["interval"] or (None, None)
    return Row(
        finding, claim["id"], claim["direction"], label_of(claim), claim["ratio"], low, high,
        claim["interval_kind"] or "", claim["floor"], paper_ratio(claim), counts(claim),
        claim["quote"],
    )  # fmt: skip


def _absent(claim: Mapping[str, Any]) -> Absent:
    return Absent(claim["id"], label_of(claim), claim["direction"], claim["reason"])


def is_missing(absent: Absent) -> bool:
    """Return whether a statement without a ratio was not measured at all."""
    return absent.direction == NOT_MEASURED


def csv_of(groups: Sequence[Group]) -> str:
    """Return the rows as CSV text; a statement without a ratio has the reason as `interval`."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(Row._fields)
    for group in groups:
        for row in group.rows:
            writer.writerow([_rounded(value) for value in row])
        for each in group.absent:
            nothing = dict.fromkeys(Row._fields, "")
            named = {"finding": group.id, **each._asdict(), "interval": each.reason}
            writer.writerow([(nothing | named)[name] for name in Row._fields])
    return target.getvalue()


def _rounded(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


class Axis(NamedTuple):
    """A logarithmic axis of ratios from `low` to `high`, which are ticks."""

    low: float
    high: float

    @classmethod
    def of(cls, groups: Sequence[Group]) -> Axis:
        """Return the axis that shows all rows, as far as ``TICKS`` extend."""
        values = [LEAST_LOW, LEAST_HIGH, *_values_of(groups)]
        below = [tick for tick in TICKS if tick <= min(values)]
        above = [tick for tick in TICKS if tick >= max(values)]
        return cls(max(below, default=TICKS[0]), min(above, default=TICKS[-1]))

    @property
    def ticks(self) -> list[float]:
        """The ratios with a line, in order."""
        return [tick for tick in TICKS if self.low <= tick <= self.high]

    @property
    def labels(self) -> dict[float, str]:
        """The text of each tick that has one: of all ticks, or of some where they are many."""
        every = self.ticks
        shown = every if len(every) <= ROOM else [tick for tick in every if tick in FEW_LABELS]
        return {tick: f"{tick:g}×" for tick in shown}

    def share(self, ratio: float) -> float:
        """Return the position of a ratio as a share of the axis, 0 to 1; at an end beyond it."""
        inside = min(max(ratio, self.low), self.high)
        return log(inside / self.low) / log(self.high / self.low)

    def beyond(self, ratio: float) -> int:
        """Return -1 for a ratio left of the axis, 1 for one right of it, else 0."""
        return (ratio > self.high) - (ratio < self.low)


def _values_of(groups: Sequence[Group]) -> Iterator[float]:
    """Yield every ratio that the axis is to show. A floor that is wider than it is cut off."""
    for group in groups:
        for row in group.rows:
            values = (row.ratio, row.low, row.high, row.paper)
            yield from (value for value in values if value is not None and value > 0)


def numbers_of(row: Row) -> str:
    """Return the ratio of a row in figures, with the ends of the interval."""
    return "".join(with_ends(row.ratio, row.low, row.high))


def floor_words(row: Row) -> str:
    """Return how far equal runs differ where a row was measured, in words."""
    if row.floor is None:
        return f"noise floor unknown: fewer than {ENOUGH} pairs of equal runs"
    return f"19 of 20 pairs of equal runs differ by less than {shortened(row.floor)} times"
