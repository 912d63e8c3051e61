"""Comparators of this paper alone: what the threads' durations say of bottleneck and rate.

See ``experiments.judging.comparators`` for what a comparator is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.judging.evidence import (
    Evidence,
    Part,
    alike,
    combined,
    ordered,
    part_of,
    trend_part,
)
from experiments.multiway_aggregation.expected import expected_tps


def bottleneck(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Compare the output thread's time a tuple with that of all input threads together.

    They share the tuples, so theirs is the time of one of them over their number.
    """
    parts, at = [], claim["reads"]["at"]
    inputs = at["inputs"]
    for figure in claim["figures"]:
        for variant in evidence.among(figure, claim["reads"]["variants"]):
            output = evidence.find(figure, variant, at, OUTPUT)
            one = evidence.find(figure, variant, at, INPUT)
            if output and one:
                shared = combined([one], lambda ns: ns / inputs)
                bound = evidence.bound(output, one)
                judged = ordered(output, shared, claim["direction"], bound)
                where = (
                    f"{output.subject}, {evidence.name(variant)}: output thread over {inputs} input"
                    " threads together"
                )
                parts.append(part_of(where, [output, one], bound, judged))
    return parts


def as_expected(claim: Mapping[str, Any], evidence: Evidence) -> list[Part]:
    """Hold the throughput of the second figure against that expected from the first's durations.

    What is expected is said in ``expected``: the figures draw the same.
    """
    durations, rates = claim["figures"]
    parts, at = [], claim["reads"]["at"]
    inputs = at["inputs"]
    for variant in evidence.among(rates, claim["reads"]["variants"]):
        output = evidence.find(durations, variant, at, OUTPUT)
        one = evidence.find(durations, variant, at, INPUT)
        measured = evidence.find(rates, variant, at, claim["quantity"])
        if output and one and measured:

            def rate(output_ns: float, input_ns: float, cores: int = measured.cores) -> float:
                return expected_tps(input_ns, output_ns, inputs, cores)

            bound = evidence.bound(measured, output, one)
            judged = alike(measured, combined([output, one], rate), claim["tolerance"], bound)
            where = f"{measured.subject}, {evidence.name(variant)}: measured over expected rate"
            parts.append(trend_part(where, [measured, output, one], bound, judged))
    return parts


COMPARATORS = {"bottleneck": bottleneck, "as-expected": as_expected}
