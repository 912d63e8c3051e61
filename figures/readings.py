"""Readings of live runs: what came out in this run, in a sentence, and next to a prediction.

Every sentence is computed from the numbers of the runs, so that it may say the opposite on another
machine. Designs are compared round by round; where each ran once, the sentence says so, since a
single run does not show how far equal runs lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from experiments.judging.badges import in_digits, shortened, with_ends
from experiments.judging.claims import UsageError
from experiments.records import statistics
from figures import panel, plot, style
from figures.pictures import Picture, in_style

# Units of a reading: a ratio of two designs on a logarithmic axis, a share on one from zero.
TIMES, PERCENT = "times", "%"
# A prediction this near to the value is right even if the runs lie closer together.
NEAR = 1.1
# Heights of the two marks.
YOURS, MEASURED = 0.4, -0.4


@dataclass(frozen=True)
class Reading:
    """A number that live runs gave.

    Attributes
    ----------
    subject : str
        The number in words: "T-Gate over Multi-queue, tuples a second".
    value : float or None
        The middle of the runs; None where no valid run gives one.
    low, high : float or None
        The lowest and the highest of the runs; None after a single one.
    runs : int
        How many runs, or pairs of runs, are behind it.
    unit : str
        TIMES or PERCENT.
    """

    subject: str
    value: float | None
    low: float | None
    high: float | None
    runs: int
    unit: str = TIMES

    @property
    def text(self) -> str:
        """The number with the range of the runs: "2.9 times [2.5, 3.1] in 5 runs"."""
        if self.value is None:
            return "no valid run"
        number, reach = in_digits(self.value), self._percents()
        if self.unit == TIMES:
            number, reach = with_ends(self.value, self.low, self.high)
        many = "one run" if self.runs == 1 else f"{self.runs} runs"
        return f"{number} {self.unit}{reach} in {many}"

    def _percents(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return f" [{in_digits(self.low)}, {in_digits(self.high)}]"


def reading_of(subject: str, values: Sequence[float], unit: str = TIMES) -> Reading:
    """Return the reading of the values of some runs: their median and their range."""
    if not values:
        return Reading(subject, None, None, None, 0, unit)
    low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
    return Reading(subject, float(np.median(values)), low, high, len(values), unit)


def ratio_of(subject: str, above: Mapping[int, float], below: Mapping[int, float]) -> Reading:
    """Return the reading of one design over another, by the rounds that both have.

    Parameters
    ----------
    subject : str
    above, below : mapping of int to float
        Round to value; rounds without a valid run are absent.
    """
    both = statistics.quotients(
        {(1, number): value for number, value in above.items()},
        {(1, number): value for number, value in below.items()},
    )
    return reading_of(subject, list(both.values()))


def one_over_other(
    family: str, above: str, below: str, rates: Mapping[str, Mapping[int, float]], where: str
) -> Reading:
    """Return the reading of one variant over another.

    Parameters
    ----------
    family : str
    above, below : str
        Ids of variants.
    rates : mapping of str to mapping of int to float
        Title of a variant to the values of its valid runs by round; one without any may be absent.
    where : str
        What follows the two titles.
    """
    one, other = (style.look_of(family, each).title for each in (above, below))
    return ratio_of(f"{one} over {other}{where}", rates.get(one, {}), rates.get(other, {}))


def ranking(values: Mapping[str, Mapping[int, float]], word: str = "fast") -> str:
    """Return which design came out ahead, and by how much, in a sentence or two.

    Parameters
    ----------
    values : mapping of str to mapping of int to float
        Title of a design to the values of the valid runs by round; more is better.
    word : str
        The adjective that more of it deserves.
    """
    middle = {title: float(np.median(list(own.values()))) for title, own in values.items() if own}
    lacking = [title for title in values if title not in middle]
    absent = f" No valid run of {_listed(lacking)}." if lacking else ""
    if len(middle) < 2:
        return f"There is nothing to compare in this run.{absent}"
    best, *others = sorted(middle, key=lambda title: -middle[title])
    ratios = {title: ratio_of(title, values[best], values[title]) for title in others}
    alike = [title for title, ratio in ratios.items() if _alike(ratio)]
    ahead = [
        f"{number} times{ends} as {word} as {title}"
        for title, ratio in ratios.items()
        if title not in alike and ratio.value
        for number, ends in [with_ends(ratio.value, ratio.low, ratio.high)]
    ]
    rounds = max(len(own) for own in values.values())
    basis = f"{rounds} rounds" if rounds > 1 else "one run each, so equal runs are not compared"
    if alike:
        head = f"In this run {_listed([best, *alike])} came out alike"
    else:
        head = f"In this run {best} came out ahead"
    rest = f"; {best} was {_listed(ahead)}" if ahead else ""
    return f"{head}{rest} ({basis}).{absent}"


def _alike(ratio: Reading) -> bool:
    """Return whether the one that leads by its median is behind, or level, in some round."""
    return ratio.value is None or (ratio.runs > 1 and (ratio.low or 0.0) <= 1.0)


def _listed(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def verdict_on(prediction: float, reading: Reading) -> str:
    """Return how a prediction and a reading lie to each other, in a sentence.

    A prediction within the range of the runs, or within a tenth of the value, is called right.

    Raises
    ------
    UsageError
        When the prediction is no positive number.
    """
    _checked(prediction)
    unit = reading.unit
    said = f"You said {shortened(prediction) if unit == TIMES else in_digits(prediction)} {unit}"
    if reading.value is None:
        return f"{said}; no valid run came out, so there is nothing to hold against it."
    low = min(reading.value / NEAR, reading.value if reading.low is None else reading.low)
    high = max(reading.value * NEAR, reading.value if reading.high is None else reading.high)
    if low <= prediction <= high:
        word = "as you said"
    else:
        word = "more than you said" if reading.value > prediction else "less than you said"
    return f"{said}; it was {reading.text}: {word}."


def _checked(prediction: float) -> None:
    number = isinstance(prediction, int | float) and not isinstance(prediction, bool)
    if not number or not isfinite(prediction) or prediction <= 0:
        raise UsageError(f"a prediction is a number above 0, such as 2.0; received {prediction!r}")


@in_style
def with_prediction(prediction: float, reading: Reading) -> Picture:
    """Return a prediction and the measured value on one axis, and the sentence on both.

    Parameters
    ----------
    prediction : float
        The reader's: above 0, in the unit of the reading.
    reading : Reading

    Raises
    ------
    UsageError
        When the prediction is no positive number.
    """
    told = verdict_on(prediction, reading)
    figure, (axes,) = plot.canvas(style.NARROW, (1, 1), 0.5, reading.subject, [], [])
    values = [each for each in (prediction, reading.value, reading.low, reading.high) if each]
    if reading.unit == TIMES:
        panel.log_axis(axes, np.array([*values, 1.0]), along="x")
        axes.axvline(1.0, color=style.GREY, lw=0.6, zorder=1)
    else:
        panel.zero_based(axes, max(values), along="x")
    panel.label_axis(axes, "Times" if reading.unit == TIMES else "Percent", along="x")
    axes.set_yticks([YOURS, MEASURED], ["you said", "this run"])
    axes.set_ylim(-1.0, 1.0)
    if reading.low is not None and reading.high is not None:
        axes.plot(
            (reading.low, reading.high), (MEASURED, MEASURED), color=style.BLUE, lw=1.2, zorder=2
        )
    if reading.value is not None:
        axes.plot(
            [reading.value], [MEASURED], "o", color=style.BLUE, ms=style.MARKER_SIZE, zorder=3
        )
    axes.plot([prediction], [YOURS], "D", mfc="none", mec=style.BLACK, ms=style.MARKER_SIZE + 1,
              zorder=3)  # fmt: skip
    return Picture(figure, told)


def once(values: Mapping[str, float]) -> dict[str, dict[int, float]]:
    """Return the values of single runs in the form that ``ranking`` takes, by title."""
    return {title: {1: value} for title, value in values.items()}


def busiest(shares: Sequence[float]) -> float:
    """Return the largest share over the equal one: 1 where all are equal."""
    total = sum(shares)
    return max(shares) * len(shares) / total if total > 0 else 1.0
