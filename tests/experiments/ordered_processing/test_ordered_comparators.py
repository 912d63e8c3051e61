"""Comparators of the second paper: gains of workers, costs, queries of more operators, shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments import papers
from experiments.judging import claims
from experiments.judging.floors import floors_of
from experiments.judging.points import points_of_paper
from experiments.judging.published import read_published
from operators.contract import UsageError
from tests.invented import floors
from tests.invented_ordered import DECLARED, PAPER, rows_at

PUBLISHED = read_published(PAPER)
CLAIMS = {claim.id: claim for claim in PUBLISHED.claims}
BUFFERS = ("lock-based", "non-blocking")
HYBRID, PARTITIONED = "ct:partition=hybrid", "ct:partition=partitioned"


def judged(name: str, rows: list[dict]) -> dict:
    """Return the verdict on a statement from rows of five rounds each."""
    rounds = [{**row, "round": number} for row in rows for number in range(1, 6)]
    declared = papers.paper(PAPER)
    points = points_of_paper(rounds, declared)
    return claims.judge_claim(CLAIMS[name], points, PUBLISHED, declared.figures, floors())


def at(query, workers, **given):
    return {"query": query, "workers": workers, **given}


def gains(et: float, others: float) -> list[dict]:
    """Return rows in which ET and the others have these gains of two workers over one."""
    rows = []
    for line in DECLARED["8"].lines:
        gain = et if line == "et" else others
        for query in ("q1", "q2"):
            rows += rows_at("8", line, at(query, 1), throughput=1e5)
            rows += rows_at("8", line, at(query, 2), throughput=1e5 * gain)
    return rows


def test_gains_of_workers_are_alike_or_not():
    name = "et-and-qst-scale-alike"
    alike = judged(name, gains(1.8, 1.8))
    assert alike["direction"] == "holds"
    # ET and QST against CT and LP, on two queries.
    assert len(alike["parts"]) == 8
    assert judged(name, gains(0.6, 1.8))["direction"] != "holds"


def test_a_latency_is_held_against_the_cost_of_a_tuple():
    name = "hybrid-latency-close-to-cost"

    def rows(times: float) -> list[dict]:
        found = []
        for cost in (10, 100, 1_000):
            at = {"slots": 16, "work_us": cost}
            found += rows_at("10", "hybrid", at, latency=times * cost / 1e3)
        return found

    near = judged(name, rows(1.3))
    assert near["direction"] == "holds" and near["ratio"] == pytest.approx(1.3)
    assert judged(name, rows(9.0))["direction"] == "does not hold"


def test_a_formula_of_a_setting_that_points_do_not_have_is_refused():
    claim = CLAIMS["hybrid-latency-close-to-cost"]
    asked = replace(claim, reads=replace(claim.reads, at={"slots": 16}))
    rows = rows_at("10", "hybrid", {"slots": 16, "work_us": 10})
    points = [
        replace(point, settings={"slots": 16})
        for point in points_of_paper(rows, papers.paper(PAPER))
    ]
    with pytest.raises(UsageError, match="reads work_us, which hybrid of figure 10 does not have"):
        claims.judge_claim(asked, points, PUBLISHED, DECLARED.values())


def partitioned(more: float, fewer: float) -> list[dict]:
    """Return rows with these gains of the hybrid queue on queries of more operators or fewer."""
    rows = []
    for query in ("q1", "q2", "q3", "q4", "q15"):
        gain = more if query in ("q1", "q2", "q3") else fewer
        rows += rows_at("11", PARTITIONED, at(query, 2), throughput=1e5)
        rows += rows_at("11", HYBRID, at(query, 2), throughput=1e5 * gain)
    return rows


def test_queries_of_more_partitioned_operators_gain_more():
    name = "more-with-more-partitioned-operators"
    found = judged(name, partitioned(2.0, 1.1))
    assert found["direction"] == "holds" and len(found["parts"]) == 3 * 2
    assert found["ratio"] == pytest.approx(2.0 / 1.1)
    assert judged(name, partitioned(1.1, 2.0))["direction"] == "does not hold"


def shared(times: float) -> list[dict]:
    """Return rows in which the first operator has `times` the usual share of time under LP."""
    rows = []
    for line in DECLARED["8x"].lines:
        spent = {"1 one": 0.1 * (times if line == "lp" else 1), "2 two": 0.1, "3 three": 0.1}
        rows += rows_at("8x", line, {"query": "q3"}, operator_seconds=spent)
    return rows


def test_shares_of_worker_time_are_alike_or_not():
    name = "worker-time-almost-similar"
    found = judged(name, shared(1.0))
    # Three operators, of three schedulers other than CT.
    assert found["direction"] == "holds" and len(found["parts"]) == 9
    parts = judged(name, shared(8.0))["parts"]
    assert sum(part["agrees"] is False for part in parts) == 3


def selective(lock_based: float, no_room: dict[str, float]) -> list[dict]:
    """Return rows of figure 13: how often outputs of a tuple found no room, by buffer."""
    rows = []
    for buffer, throughput in (("lock-based", 1e4 * lock_based), ("non-blocking", 1e4)):
        rows += rows_at("13", f"lp:reorder={buffer}", {"workers": 2, "work_us": 10},
                        throughput=throughput, no_room_a_tuple=no_room[buffer])  # fmt: skip
    return rows


def test_buffers_are_compared_where_the_outputs_of_a_tuple_are_sent_in_one_go():
    name = "selective-speed-up"
    found = judged(name, selective(0.5, {"lock-based": 1.0, "non-blocking": 0.0}))
    assert found["direction"] == "holds" and found["ratio"] == pytest.approx(2.0)
    assert judged(name, selective(2.0, dict.fromkeys(BUFFERS, 0.2)))["direction"] != "holds"


@pytest.mark.parametrize("buffer", BUFFERS)
def test_where_they_are_sent_in_parts_it_cannot_be_told(buffer):
    found = judged("selective-speed-up", selective(0.5, {**dict.fromkeys(BUFFERS, 0.5), buffer: 9}))
    assert found["direction"] == "cannot tell" and found["ratio"] is None
    assert "1 pair left out, since outputs found no room downstream more than" in found["reason"]
    [part] = found["parts"]
    assert (part["sign"], part["ratio"]) == (0, None)


def test_without_the_count_of_either_nothing_is_compared():
    rows = selective(0.5, dict.fromkeys(BUFFERS, 0.5))
    found = judged("selective-speed-up", [row for row in rows if row["phase"] != "closed"])
    assert found["parts"] == [] and found["missing"]


def test_closed_latencies_have_a_floor_of_their_own():
    closed = rows_at("10", "hybrid", {"slots": 16, "work_us": 10}, latency=2.0, cores=2)
    rows = [{**row, "round": number} for row in closed for number in range(1, 16)]
    equal = [{**row, "phase": "equal", "processing_ms_mean": 3.0} for row in rows]
    found = floors_of([*rows, *equal])
    assert found.of("processing_ms_mean", False).factor == pytest.approx(1.5)
    assert found.of("processing_ms_p99", False) is found.of("processing_ms_mean", False)
    assert found.of("throughput_tps", False).factor == pytest.approx(1.0)
    assert found.of("latency_ms_mean", False) is None


def test_a_list_of_values_is_read_at_each_of_them():
    rows = []
    for query in ("q1", "q2", "q15"):
        for line, throughput in (("lp", 1e5), ("ct", 1e5)):
            rows += rows_at("8", line, at(query, 2), throughput=throughput)
    found = judged("lp-as-well-as-ct", rows)
    assert found["direction"] == "holds"
    assert len(found["parts"]) == 2 and not found["missing"]
    lacking = judged("lp-as-well-as-ct", [row for row in rows if row["settings"]["query"] != "q15"])
    assert any("q15" in told for told in lacking["missing"])
