"""How a series scales, in numbers beside a finding's answer: of forms other than the paper's, too.

Such numbers judge nothing. They tell a reader what each form gains from one worker to as many as
have a core each, and in how many of the settings that is nearly in proportion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from experiments.judging.badges import shortened
from experiments.judging.points import Point
from experiments.judging.published import Scaling


def scaling_sentences(
    asked: Iterable[Scaling], points: Sequence[Point], cores_there: int | None
) -> list[str]:
    """Return a sentence for each series asked about, without its full stop, and one about cores.

    Parameters
    ----------
    asked : iterable of Scaling
    points : sequence of Point
        Of a paper's figures, with those of lines that the paper does not show.
    cores_there : int or None
        Cores of the paper's machine.
    """
    told, most = [], 0
    for each in asked:
        gains = gains_of(each, points)
        if not gains:
            told.append(f"{each.text}: not measured here")
            continue
        factors = [gain for _, _, gain in gains]
        first, last = min(low for low, _, _ in gains), max(high for _, high, _ in gains)
        near = sum(gain * each.tolerance >= high / low for low, high, gain in gains)
        least, best = shortened(min(factors)), shortened(max(factors))
        ends = least if least == best else f"{least} to {best}"
        told.append(
            f"{each.text}: {ends} times from {first} to {last} {each.over}, and in {near} of"
            f" {len(gains)} settings no less than {shortened(last / first / each.tolerance)}"
        )
        most = max(most, last)
    if most:
        there = f"; the paper had {cores_there}" if cores_there else ""
        told.append(f"More than {most} had no core each on this machine, and are not read{there}")
    return told


def gains_of(asked: Scaling, points: Iterable[Point]) -> list[tuple[float, float, float]]:
    """Return the fewest, the most with a core each, and the gain, at each other setting.

    Settings with a single number of workers have no gain, and are left out.
    """
    curves: dict[tuple, dict[float, Point]] = defaultdict(dict)
    for point in points:
        read = (point.figure, point.variant, point.quantity)
        if read != (asked.figure, asked.series, asked.quantity) or point.oversubscribed:
            continue
        rest = {name: v for name, v in point.settings.items() if name != asked.over}
        curves[tuple(sorted((name, str(v)) for name, v in rest.items()))][
            point.settings[asked.over]
        ] = point
    found = []
    for curve in curves.values():
        first, last = min(curve), max(curve)
        if first < last and curve[first].value > 0:
            found.append((first, last, curve[last].value / curve[first].value))
    return found
