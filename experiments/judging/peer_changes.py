"""The difference between two sets in what was measured beside peers: operators and peers, as pairs.

One operator or peer in one comparison of a paper has a rate in either set. Runs are paired by the
numbers of process and round, and a rate has changed when the reach of the ratio lies on one side of
1, and the ratio beyond the noise floor of rates and beyond practical equality. The floor is that of
the operators' equal runs on the machine: peers have no equal runs, so that theirs is assumed.
Another version of an engine is named with the change, and is no reason to leave it out: a new
version is what one wants to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, log
from statistics import median

from experiments.judging.changes import (
    ALIKE,
    BETTER,
    BROKEN,
    CANNOT_TELL,
    IN_NOISE,
    MENDED,
    NO_FLOOR,
    ONLY_AFTER,
    ONLY_BEFORE,
    OTHER_DATA,
    RUNS,
    WORSE,
    Change,
)
from experiments.judging.floors import THROUGHPUT, Floors, Noise
from experiments.judging.pool import PRACTICALLY_EQUAL
from experiments.peers.rows import Row
from experiments.records import statistics

# Paper, comparison, operator or peer, and its name.
Identity = tuple[str, str, str, str]
RATE, UNIT = "whole_tps", "t/s"


def changes(before: Iterable[Row], after: Iterable[Row], floors: Floors) -> list[Change]:
    """Return the rates of two sets, and who fails now or did; in any order.

    Parameters
    ----------
    before, after : iterable of Row
    floors : Floors
        Of both sets: see ``changes.wider``.
    """
    one, other = _by_identity(before), _by_identity(after)
    return [
        _change(one.get(identity, []), other.get(identity, []), floors)
        for identity in {**one, **other}
    ]


def _by_identity(rows: Iterable[Row]) -> dict[Identity, list[Row]]:
    found: dict[Identity, list[Row]] = {}
    for row in rows:
        found.setdefault((row.paper, row.comparison, row.kind, row.name), []).append(row)
    return found


def _change(before: list[Row], after: list[Row], floors: Floors) -> Change:
    row = (after or before)[0]
    failed = [_share_failed(rows) for rows in (before, after)]
    values = [_rate(rows) for rows in (before, after)]
    version = _version(before, after)
    found = {
        "family": row.family,
        "variant": row.name,
        "settings": f"beside peers: {row.comparison}",
        "quantity": RATE,
        "unit": UNIT,
        "rate_fraction": None,
        "before": values[0],
        "after": values[1],
        "figures": (f"{row.paper} peers",),
        "note": version,
    }
    if not before or not after:
        return Change(mark=ONLY_BEFORE if before else ONLY_AFTER, **found)
    if any(failed):
        mark = BROKEN if failed[1] > failed[0] else MENDED if failed[1] < failed[0] else CANNOT_TELL
        why = next(str(each.invalid_reason) for each in (*after, *before) if not each.valid)
        note = ": ".join(filter(None, [version, why]))
        runs = {"quantity": RUNS, "unit": "", "before": failed[0], "after": failed[1], "note": note}
        return Change(mark=mark, **(found | runs))
    if _data(before) != _data(after):
        return Change(mark=OTHER_DATA, **found)
    return _compared(found, before, after, floors)


def _compared(
    found: Mapping[str, object], before: list[Row], after: list[Row], floors: Floors
) -> Change:
    earlier = {(row.repetition, row.round): row.whole_tps for row in before}
    ratios = {
        (row.repetition, row.round): row.whole_tps / earlier[row.repetition, row.round]
        for row in after
        if (row.repetition, row.round) in earlier
    }
    if not ratios:
        return Change(mark=CANNOT_TELL, **found)
    spread = statistics.spread(ratios)
    crowded = after[0].threads > after[0].cores
    within, between = floors.known(THROUGHPUT, crowded), floors.between(crowded)
    factor = None
    if within is not None and between is not None:
        factor = Noise((within,), log(between.factor)).factor(len(ratios))
    low, high = spread.low or spread.value, spread.high or spread.value
    times = exp(abs(log(spread.value)))
    mark, note = CANNOT_TELL, str(found["note"])
    if low <= 1.0 <= high:
        mark = ALIKE if max(high, 1.0 / low) <= PRACTICALLY_EQUAL else CANNOT_TELL
    elif factor is None:
        note = note or NO_FLOOR
    elif times > max(factor, PRACTICALLY_EQUAL):
        mark = BETTER if spread.value > 1.0 else WORSE
    else:
        note = note or IN_NOISE
    values = {"ratio": spread.value, "reach": (low, high), "floor": factor, "note": note}
    return Change(mark=mark, **{**found, **values})


def _rate(rows: list[Row]) -> float | None:
    """Return the median rate of right runs; None where there is none."""
    rates = [row.whole_tps for row in rows if row.valid]
    return median(rates) if rates else None


def _share_failed(rows: list[Row]) -> float:
    return sum(not row.valid for row in rows) / len(rows) if rows else 0.0


def _data(rows: list[Row]) -> set[str | None]:
    return {row.dataset_digest for row in rows}


def _version(before: list[Row], after: list[Row]) -> str:
    """Return both versions of an engine where they differ."""
    if not before or not after or before[0].version == after[0].version:
        return ""
    return f"version {before[0].version} before, {after[0].version} after"
