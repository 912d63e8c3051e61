"""Comparators of this paper alone: what the threads' durations say of bottleneck and rate.

See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.judging.lookup import Lookup
from experiments.judging.pairs import Names, Pair, combined, pair_of
from experiments.multiway_aggregation.expected import expected_tps


def bottleneck(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the output thread's time a tuple with that of all input threads together.

    They share the tuples, so theirs is the time of one of them over their number.
    """
    found, at = [], claim["reads"]["at"]
    inputs = at["inputs"]
    for figure in claim["figures"]:
        for variant in lookup.among(figure, claim["reads"]["variants"]):
            output = lookup.find(figure, variant, at, OUTPUT)
            one = lookup.find(figure, variant, at, INPUT)
            if output and one:
                shared = combined([one], lambda ns: ns / inputs)
                together = f"{inputs} input threads together"
                place = f"{output.subject}, {lookup.name(variant)}"
                names = Names("output thread", together, place)
                found.append(pair_of(names, output, shared, lookup.floors))
    return found


def as_expected(claim: Mapping[str, Any], lookup: Lookup) -> list[Pair]:
    """Pair the throughput of the second figure with that expected from the first's durations.

    What is expected is said in ``expected``: the figures draw the same.
    """
    durations, rates = claim["figures"]
    found, at = [], claim["reads"]["at"]
    inputs = at["inputs"]
    for variant in lookup.among(rates, claim["reads"]["variants"]):
        output = lookup.find(durations, variant, at, OUTPUT)
        one = lookup.find(durations, variant, at, INPUT)
        measured = lookup.find(rates, variant, at, claim["quantity"])
        if output and one and measured:

            def rate(output_ns: float, input_ns: float, cores: int = measured.cores) -> float:
                return expected_tps(input_ns, output_ns, inputs, cores)

            expected = combined([output, one], rate)
            names = Names(f"measured rate of {lookup.name(variant)}", "expected", measured.subject)
            of = (measured, output, one)
            found.append(pair_of(names, measured, expected, lookup.floors, of))
    return found


COMPARATORS = {"bottleneck": bottleneck, "as-expected": as_expected}
