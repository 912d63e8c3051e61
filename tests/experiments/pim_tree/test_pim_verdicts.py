"""Statements on several threads: each can hold or not, and reads only settings with enough cores.

Rows are made so that every pair of a statement has the same ratio, as the comparator defines it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from experiments.declare import Figure, Series
from experiments.judging.claim_types import Claim
from experiments.judging.lookup import axis_of
from experiments.judging.published import read_published
from experiments.records.quantities import quantity
from operators import registry
from tests.invented_pim_tree import DECLARED, PAPER, rows_at
from tests.judging_pim_tree import judged

CLAIMS = {claim.id: claim for claim in read_published(PAPER).claims}
SHARED, PRINTED = ("pim-tree-parallel", "bw-tree"), "round-robin-as-printed"
THREADED = {
    name: claim
    for name, claim in CLAIMS.items()
    if any(Series(line).variant in SHARED for line in claim.reads.variants)
    or (
        claim.core_per_thread and any(Series(line).variant == PRINTED for line in claim.reads.lines)
    )
}
COLLECTORS = registry.variant("join", PRINTED).operations.collectors
SIDE_BY_SIDE = {name: claim for name, claim in THREADED.items() if claim.core_per_thread}
ENOUGH = 16
# Positions in the stream, in sixteenths, before, during and after the drift of keys.
PLACES = {"before_drift_tps": 2.5, "during_drift_tps": 8.0, "after_drift_tps": 14.5}
FOR_IT = {"higher": 3.0, "rises": 3.0, "lower": 1 / 3, "falls": 1 / 3, "near": 1.0}
AGAINST = {"higher": 1 / 3, "rises": 1 / 3, "lower": 3.0, "falls": 3.0, "near": 3.0}


def read_of(claim: Claim, figure: Figure) -> dict[str, tuple]:
    """Return the values of each swept setting that a claim reads; for "all", three."""
    found = {}
    for sweep in figure.free:
        named = claim.reads.at.get(sweep.setting, "all")
        values = sweep.values["paper"]
        if named == "all":
            found[sweep.setting] = tuple(dict.fromkeys((values[0], *values[-2:])))
        else:
            found[sweep.setting] = named if isinstance(named, tuple) else (named,)
    return found


def along(values: tuple, value: Any, factor: float) -> float:
    """Return a curve's height at one of the values; the curve begins at 1 and ends at `factor`."""
    return factor ** (values.index(value) / max(len(values) - 1, 1))


def height(claim: Claim, figure: Figure, line: str, at: Mapping[str, Any], factor: float) -> float:
    """Return a line's height at a setting, so that each pair of the claim has ratio `factor`."""
    reads, swept = claim.reads, read_of(claim, figure)
    if line not in reads.variants:
        return 1.0
    match claim.comparator:
        case "ordering" | "best-ratio" | "against-quantity":
            return factor
        case "monotone" | "steeper":
            axis = axis_of(claim, figure)
            return along(swept[axis], at[axis], factor)
        case "gain-ordering":
            is_upper = figure.id == claim.figures[0]
            return along(swept[reads.over], at[reads.over], factor if is_upper else 1.0)
        case "against-best":
            values = swept[axis_of(claim, figure)]
            ends = {"first": values[0], "last": values[-1]}
            own = at[axis_of(claim, figure)] == ends.get(reads.point, reads.point)
            return factor if own else 1.0
        case "spread-ordering":
            axis = axis_of(claim, figure)
            spread = {swept[reads.beside][0]: factor, swept[reads.beside][-1]: 1 / factor}
            return max(along(swept[axis], at[axis], spread.get(at[reads.beside], 1.0)), 1.0)
    raise AssertionError(claim.comparator)


def threads_of(line: str, at: Mapping[str, Any]) -> int:
    """Return the number of threads in a row of a line: joining threads and collectors."""
    variant = Series(line).variant
    if variant == PRINTED:
        return at.get("threads", 2) + COLLECTORS
    return at.get("threads", 2) if variant in SHARED else 1


def rows_of(claim: Claim, factor: float, cores: int = ENOUGH) -> Iterator[dict[str, Any]]:
    """Yield the rows that a claim reads, with `factor` as the ratio of each pair."""
    for figure in (DECLARED[name] for name in claim.figures):
        swept = read_of(claim, figure)
        for line, values in product(claim.reads.lines, product(*swept.values())):
            at = dict(zip(swept, values, strict=True))
            if line not in figure.lines:
                continue
            given = {"threads": threads_of(line, at), "cores": cores}
            value = height(claim, figure, line, at, factor)
            if claim.quantity == "throughput_tps":
                yield from rows_at(figure, line, at, throughput=1e6 * value, **given)
                continue
            if claim.quantity in PLACES:
                along_it = [value if name == claim.quantity else 1.0 for name in PLACES]
                given["along_stream"] = {"place": list(PLACES.values()), "tps": along_it}
            else:
                given[claim.quantity] = value
            phase = quantity(claim.quantity).phase
            yield from ({**row, "phase": phase} for row in rows_at(figure, line, at, **given)[:1])


@pytest.mark.parametrize("claim", THREADED.values(), ids=THREADED)
def test_each_statement_comes_out_both_ways(claim):
    for factor, answer in (
        (FOR_IT[claim.direction], "holds"),
        (AGAINST[claim.direction], "does not hold"),
    ):
        found = judged(claim, rows_of(claim, factor))
        assert found["direction"] == answer, found["reason"]
        assert found["missing"] == []
        assert found["ratio"] == pytest.approx(factor)


@pytest.mark.parametrize("claim", SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE)
def test_threads_that_share_cores_give_no_verdict(claim):
    found = judged(claim, rows_of(claim, FOR_IT[claim.direction], cores=1))
    assert (found["direction"], found["regime"]) == ("not measured here", None)
    assert found["reason"].startswith("Not measured here: ")
    assert "a core for each of" in found["reason"]


@pytest.mark.parametrize("claim", SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE)
def test_two_threads_on_two_cores_are_judged_unless_more_are_asked_for(claim):
    found = judged(claim, rows_of(claim, FOR_IT[claim.direction], cores=2))
    if claim.id.startswith("hyperthreading") or claim.id.endswith("sixteen-threads"):
        assert "a core for each of 16 threads in figure 12a" in found["missing"]
        assert found["direction"] == "not measured here"
        return
    if any(Series(line).variant == PRINTED for line in claim.reads.lines):
        # The collector is a third thread, as in rows of a real run.
        assert "a core for each of 3 threads in figure 8a" in found["missing"]
        assert found["direction"] == "not measured here"
        three = judged(claim, rows_of(claim, FOR_IT[claim.direction], cores=3))
        assert (three["direction"], three["missing"]) == ("holds", [])
        return
    assert found["direction"] == "holds"
    told = "2 threads on 2 cores; the paper's machine has 16; about threads side by side"
    assert found["regime"]["text"].removeprefix("up to ") == told
    # Nothing is missing but more than two threads in figure 12a, which are named.
    lacking = [f"a core for each of {number} threads in figure 12a" for number in (4, 8)]
    assert found["missing"] == (lacking if "12a" in claim.figures else [])


def test_a_factor_of_eight_threads_is_told_of_as_many_as_had_a_core():
    claim = CLAIMS["two-way-at-eight-threads"]
    found = judged(claim, rows_of(claim, 4.0, cores=2))
    # A third of the way, on a logarithmic scale, to four times at eight threads.
    assert found["ratio"] == pytest.approx(4 ** (1 / 3))
    assert found["size"]["text"] == "1.59 times here, 4.6 in the paper"
    found = judged(claim, rows_of(claim, 4.0, cores=8))
    assert found["size"]["text"] == "4.0 times here, 4.6 in the paper"


def test_pairs_that_disagree_are_mixed():
    claim = CLAIMS["pim-tree-times-bw-tree"]
    rows = []
    for row in rows_of(claim, 1.0):
        at = row["settings"]["window"]
        if row["variant"] == "bw-tree":
            factor = 3.0 if at > 1 << 19 else 1 / 3
            row = {**row, "throughput_tps": factor * row["throughput_tps"]}
        rows.append(row)
    found = judged(claim, rows)
    assert found["direction"] == "mixed", found["reason"]


ONE, TWO = "pim-tree", "pim-tree-parallel"
SELDOM = f"{ONE}:merge_ratio=1"
DRIFTING = {"window": 1 << 20}
# Evidence for a statement in a reader's words: figure, line, settings, and throughput.
IN_WORDS = {
    "depths-less-dependent-than-in-parallel": (
        ("9a", f"{TWO}:insertion_depth=1", {"window": 1 << 16}, 1.0),
        ("9a", f"{TWO}:insertion_depth=1", {"window": 1 << 20}, 2.0),
        ("8c", f"{ONE}:insertion_depth=1", {"window": 1 << 16}, 2.0),
        ("8c", f"{ONE}:insertion_depth=1", {"window": 1 << 20}, 1.5),
    ),
    "parallel-not-effective-on-small-windows": (
        ("12b", TWO, {"window": 1 << 12}, 0.5),
        ("12b", ONE, {"window": 1 << 12}, 1.0),
        # Beyond small windows it is faster, which is no evidence either way.
        ("12b", TWO, {"window": 1 << 20}, 9.0),
        ("12b", ONE, {"window": 1 << 20}, 1.0),
    ),
    "greatest-improvement-at-the-largest-window": (
        *(("12b", line, {"window": 1 << 16}, 2.0) for line in (ONE, "b-plus-tree")),
        ("12b", TWO, {"window": 1 << 16}, 3.0),
        *(("12b", line, {"window": 1 << 25}, 0.5) for line in (ONE, "b-plus-tree")),
        ("12b", TWO, {"window": 1 << 25}, 1.5),
    ),
    "control-costs-two-way": (
        ("12a", TWO, {"window": 1 << 20, "kind": "two-way", "threads": 1}, 0.6),
        ("12a", SELDOM, {"window": 1 << 20, "kind": "two-way"}, 1.0),
        # Nor is the loss of one thread from merging as seldom as many threads.
        ("12a", ONE, {"window": 1 << 20, "kind": "two-way"}, 0.5),
        # More threads, or one stream, do not show the cost of control.
        ("12a", TWO, {"window": 1 << 20, "kind": "two-way", "threads": 2}, 2.0),
        ("12a", TWO, {"window": 1 << 20, "kind": "self", "threads": 1}, 2.0),
        ("12a", SELDOM, {"window": 1 << 20, "kind": "self"}, 1.0),
        ("12a", ONE, {"window": 1 << 20, "kind": "self"}, 9.0),
    ),
    "bw-tree-below-round-robin-at-2-14": (
        ("8a", "bw-tree", {"window": 1 << 14}, 0.35),
        ("8a", "round-robin-as-printed:index=b-plus-tree", {"window": 1 << 14}, 1.0),
    ),
    "lowest-under-fast-drifts": (
        ("13c", TWO, DRIFTING | {"drift": 0.4}, (1.0, 0.6, 1.0)),
        ("13c", TWO, DRIFTING | {"drift": 1.0}, (1.0, 0.2, 1.0)),
    ),
    "fast-drift-slower": (
        ("13c", TWO, DRIFTING | {"drift": 0.8}, (1.0, 0.2, 1.0)),
        ("13c", TWO, DRIFTING | {"drift": 1.0}, (0.8, 0.1, 0.9)),
    ),
    "window-raises-latency": (
        *(("11b", TWO, {"window": 1 << 16, "task_size": size}, 0.01 * size) for size in (1, 8)),
        *(("11b", TWO, {"window": 1 << 20, "task_size": size}, 0.02 * size) for size in (1, 8)),
    ),
}  # fmt: skip


# The line that is ahead if a statement holds: figure, window, and the two lines.
BLOCKING, BW, BY_RR = f"{TWO}:merge=blocking", "bw-tree", "round-robin-as-printed:index=b-plus-tree"
AHEAD = {
    "parallel-times-single-abstract": ("12b", 1 << 20, TWO, ONE),
    "outperforms-on-many-threads": ("12b", 1 << 20, TWO, BW),
    "pim-tree-times-bw-tree": ("12b", 1 << 14, TWO, BW),
    "parallel-effective-beyond-2-14": ("12b", 1 << 16, TWO, ONE),
    "parallel-times-single": ("12b", 1 << 20, TWO, ONE),
    "parallel-times-b-plus-tree": ("12b", 1 << 16, TWO, "b-plus-tree"),
    "parallel-times-single-at-2-25": ("12b", 1 << 25, TWO, ONE),
    "parallel-times-b-plus-tree-at-2-25": ("12b", 1 << 25, TWO, "b-plus-tree"),
    "blocking-merge-faster": ("12b", 1 << 16, BLOCKING, TWO),
    "bw-tree-not-effective-on-small-windows": ("12b", 1 << 12, ONE, BW),
    "bw-tree-times-single": ("12b", 1 << 20, BW, ONE),
    "bw-tree-over-round-robin-at-2-25": ("8a", 1 << 25, BW, BY_RR),
    "self-join-not-effective-on-small-windows": ("12c", 1 << 12, ONE, TWO),
    "self-join-times-single": ("12c", 1 << 20, TWO, ONE),
    "self-join-times-b-plus-tree": ("12c", 1 << 20, TWO, "b-plus-tree"),
    "few-subindexes-slower": (
        "9a", 1 << 20, f"{TWO}:insertion_depth=2", f"{TWO}:insertion_depth=1",
    ),
}  # fmt: skip
IN_WORDS |= {
    name: (
        (figure, ahead, {"window": window}, 2.0),
        (figure, behind, {"window": window}, 1.0),
    )
    for name, (figure, window, ahead, behind) in AHEAD.items()
}


def measured(name: str, told: Iterable[tuple], upside_down: bool = False) -> list[dict[str, Any]]:
    """Return the rows of the evidence for a statement, or for the opposite."""
    rows = []
    for figure, line, at, value in told:
        given = {"threads": threads_of(line, at), "cores": 3}
        values = value if isinstance(value, tuple) else (value,)
        values = [1 / each if upside_down else each for each in values]
        if figure == "13c":
            given["along_stream"] = {"place": list(PLACES.values()), "tps": values}
        if figure == "11b":
            given["task_us_mean"] = values[0]
        phase = quantity(CLAIMS[name].quantity).phase
        (found, *_) = rows_at(figure, line, at, throughput=1e6 * values[0], **given)
        rows.append({**found, "phase": phase})
    return rows


@pytest.mark.parametrize("name", IN_WORDS)
def test_what_speaks_for_a_statement_and_what_against_it(name):
    for upside_down, answer in ((False, "holds"), (True, "does not hold")):
        rows = measured(name, IN_WORDS[name], upside_down)
        assert judged(CLAIMS[name], rows)["direction"] == answer


def test_a_join_recovers_where_it_is_as_fast_as_before_the_drift():
    for after, answer in ((0.95, "holds"), (0.3, "does not hold")):
        told = [
            ("13c", TWO, DRIFTING | {"drift": drift}, (1.0, 0.2, after))
            for drift in (0.0, 0.4, 1.0)
        ]
        name = "recovers-after-drift"
        assert judged(CLAIMS[name], measured(name, told))["direction"] == answer
