"""Comparators of this paper alone: bottleneck and expected rate, from the threads' durations.

See ``experiments.judging.comparators`` for the definition of a comparator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.judging.claim_types import Comparator, Comparison
from experiments.judging.lookup import Lookup, pairs_of
from experiments.judging.pairs import Names, Pair, combined, formula_pair, pair_of
from experiments.multiway_aggregation.expected import expected_tps
from operators.contract import UsageError

INPUTS = "inputs"


@dataclass(frozen=True, kw_only=True)
class OfDurations(Comparison):
    """A comparison of the durations of the threads at one number of input threads."""

    one_setting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse durations of an unknown number of input threads."""
        super().__post_init__()
        if not isinstance(self.reads.at.get(INPUTS), int):
            raise UsageError(f"reads.at lacks {INPUTS}, a whole number")


@dataclass(frozen=True, kw_only=True)
class Expected(OfDurations):
    """A rate, in the second of two figures, that follows from durations in the first."""

    paired_figures: ClassVar[bool] = True


def bottleneck(claim: OfDurations, lookup: Lookup) -> list[Pair]:
    """Pair the output thread's time per tuple with that of all input threads together.

    The input threads share the tuples, so their joint time is that of one thread over their number.
    """
    found = []
    for figure, variant, at, output in lookup.each(claim, quantity=OUTPUT):
        one = lookup.find(figure, variant, at, INPUT)
        if output and one:
            inputs = at[INPUTS]
            shared = combined([one], lambda ns, inputs=inputs: ns / inputs)
            together = f"{inputs} input threads together"
            place = f"{output.subject}, {lookup.name(variant)}"
            names = Names("output thread", together, place)
            found.append(pair_of(names, output, shared, lookup.floors))
    return found


def as_expected(claim: Expected, lookup: Lookup) -> list[Pair]:
    """Pair the throughput of the second figure with that expected from the first's durations.

    ``expected`` computes the expected throughput, which the figures draw as well.
    """
    found, at = [], claim.reads.at
    for durations, rates in pairs_of(claim.figures):
        for variant in lookup.among(rates, claim.reads.variants):
            output = lookup.find(durations, variant, at, OUTPUT)
            one = lookup.find(durations, variant, at, INPUT)
            measured = lookup.find(rates, variant, at, claim.quantity)
            if output and one and measured:

                def rate(output_ns: float, input_ns: float, cores: int = measured.cores) -> float:
                    return expected_tps(input_ns, output_ns, at[INPUTS], cores)

                name = f"measured rate of {lookup.name(variant)}"
                names = Names(name, "expected", measured.subject)
                given = (output, one)
                found.append(formula_pair(names, measured, rate, lookup.floors, given))
    return found


COMPARATORS = {
    "bottleneck": Comparator(OfDurations, bottleneck),
    "as-expected": Comparator(Expected, as_expected),
}
