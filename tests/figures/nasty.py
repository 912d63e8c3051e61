"""Rows that are hard to draw: nearly equal, single, failed, far apart, with long names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from experiments import series
from experiments.declare import LINES, OFFERED_RATE, Figure
from tests.figures.drawn import equal_to, failed
from tests.invented import USUAL, points_at, points_by_rate, points_of_durations

XS = {"curve": (1, 2, 4, 20), "few": (1, 20), "one": (20,)}
RATES = (0.1, 0.3, 0.5, USUAL, 0.9, 1.1)
Row = dict[str, Any]


def rows_of(figure: Figure, values: Callable[[int, int], tuple[float, float]], xs: Iterable[int],
            **given: Any) -> list[Row]:  # fmt: skip
    """Return rows of every series of a figure; ``values(line, x)`` is throughput and latency."""
    rows = []
    given = {"repetitions": 1, "cores": 4} | given
    for place, line in enumerate(series.measured(figure)):
        tps, latency = values(place, 20)
        if figure.form == "in_flight":
            bound = {"in_flight_tuples": 1_280 * (1 + place % 3) ** 4 + place}
            rows += points_at(figure, line, None, tps, {USUAL: latency}, **given | bound)
        elif figure.x == LINES:
            durations = (3_000.0 * latency, 300_000.0 / latency)
            rows += points_of_durations(figure.id, line, durations, throughput=tps, **given)
        elif figure.x == OFFERED_RATE:
            over = {share: values(place, round(20 * share) + 1)[1] for share in RATES}
            rows += points_by_rate(line, tps, over, figure=figure.id, **given)
        else:
            for x in xs:
                tps, latency = values(place, x)
                for inputs in (2, 20) if figure.sweeps else (None,):
                    at = {"inputs": inputs} if inputs else None
                    faster = tps * (1.7 if inputs == 2 else 1.0)
                    x_here = min(x, 12) if inputs else x
                    rows += points_at(figure, line, x_here, faster, {USUAL: latency}, at=at,
                                      **given)  # fmt: skip
    return rows


def alike(figure: Figure) -> list[Row]:
    """Return twelve and more series within 2 % of each other, all tied."""
    rows = rows_of(figure, lambda line, x: (1e6 / x**0.3 * (1 + 0.0015 * line), 5.0 + 0.008 * line),
                   XS["curve"], repetitions=2)  # fmt: skip
    return [*rows, *(equal_to(row, 1.03) for row in rows[:2])]


def single(figure: Figure) -> list[Row]:
    """Return one point of one series."""
    rows = rows_of(figure, lambda line, x: (1e6, 5.0), XS["one"])
    first = rows[0]
    return [row for row in rows if row["variant"] == first["variant"]
            and row["settings"] == first["settings"]]  # fmt: skip


def broken(figure: Figure) -> list[Row]:
    """Return series: the second failed at some x, and the first is saturated at every x."""
    rows = rows_of(figure, lambda line, x: (1e6 * (1 + line) / x**0.2, 3.0 * x), XS["curve"])
    names = list(dict.fromkeys(row["variant"] for row in rows))
    kept = []
    for row in rows:
        if row["variant"] == names[0]:
            row = {**row, "saturated": row["phase"] == "open", "noisy": True}
        elif row["variant"] == names[-1] and row["phase"] == "closed":
            row = {**row, "valid": False, "invalid_reason": "timed out"}
        elif row["variant"] == names[-1]:
            continue
        kept.append(row)
    return kept


def far_apart(figure: Figure) -> list[Row]:
    """Return series with latencies, and throughputs, over five decades."""
    return rows_of(figure, lambda line, x: (1e7 / 10 ** (5 * (line % 6) / 5),
                                            0.01 * 10 ** (5 * ((line * 7 + x) % 11) / 10)),
                   XS["curve"])  # fmt: skip


def few(figure: Figure) -> list[Row]:
    """Return series at two values of x only, from six processes."""
    return rows_of(figure, lambda line, x: (1e6 * (1 + 0.3 * line), 5.0 * (1 + line)), XS["few"],
                   repetitions=6)  # fmt: skip


def lost(figure: Figure) -> list[Row]:
    """Return rows of a figure none of whose runs is valid."""
    x = 20 if not isinstance(figure.x, str) else None
    at = {sweep.setting: 20 for sweep in figure.sweeps}
    return [failed(figure, line, min(x, 12) if x and at else x, at=at)
            for line in figure.lines]  # fmt: skip


NASTY = {each.__name__: each for each in (alike, single, broken, far_apart, few, lost)}
