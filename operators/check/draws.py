"""Draws: outcomes of a step that no order of steps decides, such as which store a load reads.

A run records how many possibilities each draw had, and takes the one that the schedule names. The
first possibility is always that of sequentially consistent memory, so a schedule without draws is
an interleaving.
"""

from __future__ import annotations

from math import inf
from random import Random

from operators.check.scenario import DoesNotFit


class Draws:
    """The draws of a machine.

    Attributes
    ----------
    options, chosen : dict
        By step how many possibilities each draw had, and which one to take.
    dice : Random, optional
        Draws where nothing was chosen.
    odd_share, most_odd : float
        How often the dice look beyond the first possibility, and how often in a run they may take
        another.
    stale : int
        How many draws of a schedule may differ from the first, unless an exploration says
        otherwise.
    frontier, most_drawn : int
        In an exploration, the step from which on the schedule is new, and how many draws may differ
        from the first. A machine may leave out possibilities that the exploration does not ask for.
    """

    odd_share = 0.25
    most_odd = inf
    stale = 1
    frontier = 0
    most_drawn = 0
    steps: int
    trace: list[int]
    chosen: dict[int, list[int]]
    dice: Random | None

    def begin_draws(self) -> None:
        """Forget the draws of the last run."""
        self.options: dict[int, list[int]] = {}
        self.odd = 0

    def draw(self, count: int) -> int:
        """Return one of `count` possibilities: the chosen one, else the first."""
        step = min(self.steps, len(self.trace)) - 1
        options = self.options.setdefault(step, [])
        chosen = self.chosen.get(step, ())
        choice = chosen[len(options)] if len(options) < len(chosen) else 0
        if choice >= count:
            raise DoesNotFit(f"step {step} draws {choice} of {count}")
        if self.dice is not None and self.odd < self.most_odd:
            if self.dice.random() < self.odd_share:
                choice = self.dice.randrange(count)
                self.odd += choice > 0
                self.chosen[step] = [*chosen, *[0] * (len(options) - len(chosen)), choice]
        options.append(count)
        return choice
