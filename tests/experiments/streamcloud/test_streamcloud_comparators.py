"""Comparators of the fifth paper, on rows with a known answer, both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments import papers
from experiments.judging import claims
from experiments.judging.points import points_of_paper
from experiments.judging.published import claim_of, read_published
from tests.invented import floors
from tests.invented_streamcloud import PAPER, rows_at

PUBLISHED = read_published(PAPER)
CORES, LINE = 4, "subquery-cluster"
AT_MAP = {"query": "map", "instances": "all"}


def claim(comparator: str, figure: str, quantity: str, direction: str, **reads):
    """Return a claim about some points; "alike" means within a quarter."""
    given = {"variants": [LINE], "at": AT_MAP} | reads
    near = {"tolerance": 1.25} if direction == "near" else {}
    return claim_of(
        PAPER,
        {
            "id": "one", "quote": "a quote", "section": "IV", "figures": [figure],
            "kind": "result", "quantity": quantity, "unit": "times", "value": None,
            "comparator": comparator, "direction": direction, "reads": given, **near,
        },
    )  # fmt: skip


def judged(about, rows: list[dict], rounds: int = 4) -> dict:
    """Return the verdict on a claim from rows of several equal rounds each."""
    every = [{**row, "round": number} for row in rows for number in range(1, rounds + 1)]
    declared = papers.paper(PAPER)
    points = points_of_paper(every, declared)
    published = replace(PUBLISHED, claims=(about,))
    return claims.judge_claim(about, points, published, declared.figures, floors(1.01))


def of_map(*instances: int, queue=None, **given) -> list[dict]:
    """Return rows of figure 7a; ``queue(share, instances)`` is the length of each queue."""
    found = []
    for number in instances:
        for row in rows_at("7a", LINE, {"instances": number}, 1e6 * number, cores=CORES, **given):
            if queue and row["phase"] == "open":
                row["queue_tuples"] = queue(row["rate_fraction"], number)
            found.append(row)
    return found


def ratios(verdict: dict) -> dict[str, float]:
    return {part["where"]: part["ratio"] for part in verdict["parts"]}


def test_what_grows_with_the_instances_is_read_up_to_the_cores_over_the_rate():
    about = claim("growth", "7a", "throughput_tps", "near", over="instances", power=1,
                  up_to="cores")  # fmt: skip
    found = judged(about, of_map(1, 2, 40))
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(1.0))
    assert found["parts"][0]["above"] == "StreamCloud at 2 instances"
    slow = [*of_map(1), *rows_at("7a", LINE, {"instances": 2}, 1.1e6, cores=CORES)]
    found = judged(about, slow)
    assert (found["direction"], found["ratio"]) == ("does not hold", pytest.approx(0.55))


@pytest.mark.parametrize(
    ("rate", "share"), [("slowest", 0.3), ("below", 0.7), ("saturated", 1.1), ("past", 1.5)]
)
def test_a_line_is_read_at_a_rate_that_has_a_name(rate, share):
    about = claim("against-bound", "7a", "queue_tuples", "lower", bound=1_000.0, rate=rate)
    found = judged(about, of_map(1, queue=lambda share, _: 1_000 * share))
    assert found["ratio"] == pytest.approx(share)
    assert found["direction"] == ("holds" if share < 1 else "does not hold")


def test_a_bound_holds_each_point_of_a_figure_without_a_rate():
    lines = ["query-cluster", LINE]
    about = claim("against-bound", "9", "communication_share", "higher", variants=lines,
                  at={"processors": "all"}, bound=0.4)  # fmt: skip
    rows = [row for line in lines for row in rows_at("9", line, {"processors": 8})]
    found = judged(about, rows)
    assert sorted(ratios(found).values()) == pytest.approx([0.1 / 0.4, 0.45 / 0.4])
    lacking = judged(about, [])
    assert lacking["direction"] == "not measured here" and lacking["missing"]


def test_a_trend_over_the_rate_is_that_of_each_line():
    about = claim("rate-trend", "7a", "queue_tuples", "rises", rate="past", against="below")
    found = judged(about, of_map(1, 2, queue=lambda share, many: 100 * share**2 * many))
    assert found["direction"] == "holds"
    assert list(ratios(found).values()) == pytest.approx([(1.5 / 0.7) ** 2] * 2)
    falling = judged(about, of_map(1, queue=lambda share, _: 100 / share))
    assert falling["direction"] == "does not hold"


def test_an_empty_queue_has_a_ratio_as_if_a_tuple_waited():
    about = claim("rate-trend", "7a", "queue_tuples", "rises", rate="past", against="below")
    found = judged(about, of_map(1, queue=lambda share, _: 50.0 if share > 1 else 0.0))
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(50.0))


def test_a_line_without_such_a_rate_is_missed_and_one_rate_is_no_trend():
    about = claim("rate-trend", "7a", "queue_tuples", "rises", rate="past", against="below")
    found = judged(about, of_map(1, shares=(0.3, 0.7)))
    assert found["direction"] == "not measured here"
    assert found["missing"] == ["a rate past saturation of Map, 1 instance in figure 7a"]
    flat = claim("rate-trend", "7a", "processed_tps", "near", rate="past", against="saturated")
    assert not judged(flat, of_map(1, shares=(0.3, 1.1)))["parts"]
    assert judged(flat, of_map(1))["direction"] == "holds"


@pytest.mark.parametrize(("times", "answer"), [(0.5, "holds"), (2.0, "does not hold")])
def test_queues_of_more_instances_are_held_against_those_of_one(times, answer):
    about = claim("rate-growth", "7a", "queue_tuples", "lower", over="instances", rate="past",
                  up_to="cores")  # fmt: skip

    def queue(share, many):
        return 100 * share * (times if many == 2 else 1 if many == 1 else 1_000)

    found = judged(about, of_map(1, 2, 40, queue=queue))
    assert (found["direction"], found["ratio"]) == (answer, pytest.approx(times))
    assert found["parts"][0]["where"] == "Map, past saturation: 2 instances over 1 instance"
    alone = judged(about, of_map(1, 40, queue=queue))
    assert alone["missing"] == ["a second number of instances up to the cores in figure 7a"]


@pytest.mark.parametrize(("idle", "answer"), [(0.35, "holds"), (0.1, "does not hold")])
def test_a_difference_is_larger_where_the_sums_across_are(idle, answer):
    about = claim(
        "larger-difference", "9", "idle_share_measured", "higher", variants=["operator-cluster"],
        rivals=[LINE], at={"processors": "all"}, of="communication_share",
    )  # fmt: skip
    # Communication: 0.25 against 0.1; idle against 0.08.
    rows = [
        *rows_at("9", "operator-cluster", {"processors": 8}),
        *rows_at("9", LINE, {"processors": 8}),
    ]
    for row in rows:
        if row["variant"] == "operator-cluster":
            row["idle_share_measured"] = idle
    found = judged(about, rows)
    assert found["ratio"] == pytest.approx((idle + 0.1) / (0.08 + 0.25))
    assert found["direction"] == answer
