"""The table of a figure: values, percentiles, ties and failures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.judging.floors import LATENCY, THROUGHPUT, Floors
from figures import load, table
from figures.cells import Cell, having
from figures.view import View
from tests.figures.drawn import failed, picture_of, results_of, table_of, texts
from tests.invented import (
    DECLARED,
    PAPER,
    equal_runs,
    floors,
    open_row,
    points_by_rate,
    points_over,
    row,
)

P50, P90, P99, MEAN = (f"latency_ms_{each}" for each in ("p50", "p90", "p99", "mean"))
PERCENTILES = replace(DECLARED["13"], quantities=("throughput_tps", P50, P99))


@pytest.mark.parametrize("figure", ["7", "13", "20"])
def test_it_holds_value_spread_count_and_state(figure, tmp_path):
    name = DECLARED[figure].lines[0]
    rows = points_over(figure, name, {1: (2e6, 4.0), 20: (1e6, 40.0)}, cores=4, noisy=True)
    found = table_of(results_of(tmp_path, rows), figure)
    assert tuple(found.columns) == Cell._fields
    measured = found.set_index(["panel", "x"])
    one = measured.loc[("throughput_tps", 20)]
    assert one["value"] == pytest.approx(1.01e6, rel=1e-4)
    assert (one["low"], one["high"]) == pytest.approx((1e6, 1.02e6))
    assert (one["spread"], one["n"], one["unit"]) == ("range of 3", 3, "t/s")
    assert one["states"] == ("oversubscribed", "noisy")
    assert (one["paper"], one["figure"], one["line"]) == (PAPER, figure, name)
    assert one["in_flight"] == 20_480 and one["samples"] != one["samples"]
    latency = measured.loc[("latency_ms_mean", 1)]
    assert latency["value"] == pytest.approx(4.04, rel=1e-3) and latency["samples"] == 50


def spread_of(folder, processes, rounds):
    rows = [
        row("13", "mq", 4, repetition=process, round=number, throughput_tps=1e6 + 1e3 * number)
        for process in range(1, processes + 1)
        for number in range(1, rounds + 1)
    ]
    found = table_of(results_of(folder, rows), "13")
    return found["spread"].iloc[0], found["low"].notna().all(), texts(picture_of(found, "13"))


def test_a_spread_is_called_what_it_is_and_an_interval_from_six_processes_on(tmp_path):
    kinds = {
        (1, 1): "",
        (1, 5): "5 rounds of one process",
        (3, 2): "range of 3",
        (5, 1): "range of 5",
        (6, 1): "95 % interval",
    }
    for (processes, rounds), kind in kinds.items():
        folder = tmp_path / f"{processes}-{rounds}"
        called, told, written = spread_of(folder, processes, rounds)
        assert (called, told) == (kind, kind != "")
        keys = [f"{each}; ticks are values" * (each[:2] != "95") or each for each in kinds.values()
                if each]  # fmt: skip
        assert [each.split(";")[0] for each in keys if each in written] == [kind] * (kind != "")


def test_the_values_behind_a_spread_stand_in_the_table(tmp_path):
    rows = [row("13", "mq", 4, repetition=process, round=number, throughput_tps=tps)
            for process, number, tps in ((1, 1, 1e6), (1, 2, 4e6), (2, 1, 3e6))]  # fmt: skip
    (told,) = table_of(results_of(tmp_path / "two", rows), "13")["values"]
    assert told == (2e6, 3e6)
    (told,) = table_of(results_of(tmp_path / "one", rows[:2]), "13")["values"]
    assert told == (1e6, 4e6)


# Ties.


TIES = {4: {"mq": 1.0e6, "mqlf": 1.05e6, "tumlsc": 2e6}, 20: {"mq": 1.0e6, "tumlsc": 1.05e6}}


def test_variants_that_cannot_be_told_from_the_best_are_tied_and_it_is_not(tmp_path):
    rows = [
        row("13", variant, inputs, throughput_tps=value)
        for inputs, values in TIES.items()
        for variant, value in values.items()
    ]
    without = table_of(results_of(tmp_path / "without", rows), "13")
    assert not having(without, "tied").any()
    found = table_of(results_of(tmp_path, rows, floors(1.1)), "13")
    tied = found[having(found, "tied")]
    assert list(zip(tied["variant"], tied["x"], strict=True)) == [("mq", 20)]
    # On curves no mark shows a tie, so no footer counts it.
    assert "best" not in " ".join(texts(picture_of(found, "13")))


# The distance between equal runs.
APART = floors(1.5)


def of_processes(ratios, rounds=1):
    """Return MQ and TuMLSC, with TuMLSC's throughput `ratios` times MQ's by process."""
    rows = []
    for process, ratio in enumerate(ratios, 1):
        for number in range(1, rounds + 1):
            own = {"repetition": process, "round": number}
            # Common drift affects both: the ratio is paired.
            tps = 1e6 * (1 + process)
            rows.append(row("13", "mq", 20, throughput_tps=tps, **own))
            rows.append(row("13", "tumlsc", 20, throughput_tps=ratio * tps, **own))
    return rows


def tied_in(folder, rows, apart=APART):
    found = table_of(results_of(folder, rows, apart), "13")
    return set(found[having(found, "tied")]["variant"])


def test_from_six_processes_on_the_interval_of_the_paired_ratio_ties_and_no_floor(tmp_path):
    apart = (1.18, 1.2, 1.22, 1.18, 1.2, 1.22)
    assert tied_in(tmp_path / "six", of_processes(apart)) == set()
    assert tied_in(tmp_path / "five", of_processes(apart[:5])) == {"mq"}
    across = (0.8, 1.2, 1.5, 0.9, 1.2, 1.5)
    assert tied_in(tmp_path / "across", of_processes(across)) == {"mq"}


def test_the_floor_of_a_tie_is_that_of_the_rounds_behind_it(tmp_path):
    # 1.5 over single runs is 1.2 over the mean of five rounds.
    for ratio, names in ((1.3, set()), (1.15, {"mq"})):
        found = tied_in(tmp_path / str(ratio), of_processes((ratio,), rounds=5))
        assert found == names


def test_what_did_not_keep_up_is_tied_with_nobody(tmp_path):
    rows = of_processes((1.02,))
    assert tied_in(tmp_path / "kept", rows) == {"mq"}
    backlog = open_row("13", "mq", 20, 9e4, saturated=True)
    assert tied_in(tmp_path / "behind", [*rows, backlog]) == set()


def test_latencies_have_a_floor_of_their_own(tmp_path):
    rows = [row("13", "mq", 20, throughput_tps=1e6)]
    rows += [
        open_row("13", variant, 20, latency)
        for variant, latency in (("mq", 5.2), ("mqlf", 9.0), ("tumlsc", 5.0))
    ]
    # Equal runs with very different throughputs tie no latency.
    kinds = {
        kind: {place: floor._replace(factor=1.1 if place[0] == kind else 1.0)
               for place, floor in floors().floors.items()}
        for kind in (THROUGHPUT, LATENCY)
    }  # fmt: skip
    other = table_of(results_of(tmp_path / "other", rows, Floors(kinds[THROUGHPUT])), "13")
    assert not having(other, "tied").any()
    found = table_of(results_of(tmp_path, rows, Floors(kinds[LATENCY])), "13")
    latency = found[found["panel"] == MEAN]
    assert set(latency[having(latency, "tied")]["variant"]) == {"mq"}


def test_equal_runs_of_any_setting_tie_points_of_as_many_threads(tmp_path):
    rows = [
        row("13", line, 20, throughput_tps=tps) for line, tps in (("mq", 1e6), ("tumlsc", 1.5e6))
    ]
    assert tied_in(tmp_path, [*rows, *equal_runs(2.0)], None) == {"mq"}
    assert tied_in(tmp_path / "near", [*rows, *equal_runs(1.1)], None) == set()
    # With more threads than cores another noise floor applies, which is unknown here.
    assert tied_in(tmp_path / "apart", rows, floors(1.1, oversubscribed=2.0)) == set()


def test_a_series_that_does_other_work_is_not_tied(tmp_path):
    rows = [row("14", "mq", 1, throughput_tps=1e6)]
    rows.append(row("14", "tumlsc:unit_divisor=10", 1, throughput_tps=1.05e6))
    found = table_of(results_of(tmp_path, rows, floors(1.2)), "14", extended=True)
    assert set(found["variant"]) == {"mq", "tumlsc:unit_divisor=10"}
    assert not having(found, "tied").any()


# Percentiles.


def shown(folder, samples):
    rows = []
    for line, many in zip(PERCENTILES.lines, samples, strict=True):
        rows += [row("13", line, 4), {**open_row("13", line, 4, 5.0), "latency_samples": many}]
    return table_of(results_of(folder, rows), PERCENTILES)


@pytest.mark.parametrize(
    ("samples", "panels"),
    [
        (1_000, {P50, P99}),
        (999, {P50, P90}),
        (100, {P50, P90}),
        (99, {P50}),
        (20, {P50}),
        (19, {MEAN}),
    ],
)
def test_a_percentile_has_ten_latencies_beyond_it_else_the_next_lower_one(
    samples, panels, tmp_path
):
    found = shown(tmp_path, [samples] * 3)
    assert set(found["panel"]) - {"throughput_tps"} == panels
    written = " ".join(texts(picture_of(found, PERCENTILES)))
    lowered = "99th percentile: the" in written
    assert lowered == (P99 not in panels)
    labels = {P99: "99th percentile (ms)", P90: "90th percentile (ms)", P50: "Median latency (ms)",
              MEAN: "Mean latency (ms)"}  # fmt: skip
    assert all((labels[each] in written) == (each in panels) for each in labels)


def test_a_point_with_too_few_latencies_is_left_out_and_counted(tmp_path):
    found = shown(tmp_path, [1_000, 1_000, 400])
    scarce = found[having(found, "scarce")]
    assert scarce[["panel", "line"]].values.tolist() == [[P99, "tumlsc"]]
    assert scarce["value"].isna().all()
    written = " ".join(texts(picture_of(found, PERCENTILES)))
    assert "1 left out, with fewer than ten latencies beyond the percentile" in written


def test_the_mean_needs_no_number_of_latencies(tmp_path):
    rows = [row("13", "mq", 4), {**open_row("13", "mq", 4, 5.0), "latency_samples": 3}]
    found = table_of(results_of(tmp_path, rows), "13").set_index("panel")
    assert found["value"][MEAN] == 5.0 and found["samples"][MEAN] == 3


# Brackets, and failures.


def test_a_bracket_is_never_mixed_with_closed_loop_values(tmp_path):
    searched = {"phase": "sustained", "bracket_low_tps": 6e5, "bracket_high_tps": 7e5, "probes": 5}
    rows = [row("13", "mq", 4, throughput_tps=1e6), row("13", "mq", 4, **searched)]
    found = table_of(results_of(tmp_path, rows), "13").set_index("panel")
    assert found["value"]["throughput_tps"] == 1e6 and found["spread"]["throughput_tps"] == ""
    own = found.loc[table.bracket_panel("throughput_tps")]
    assert (own["low"], own["high"], own["spread"]) == (6e5, 7e5, table.BRACKET)


def test_a_place_without_a_valid_run_is_a_row_without_a_value(tmp_path):
    rows = points_over("13", "mq", {1: (2e6, 4.0), 20: (1e6, 4.0)}, 1, cores=4)
    rows.append(failed("13", "mq", 4, cores=4))
    found = table_of(results_of(tmp_path, rows), "13")
    lost = found[having(found, "failed")]
    # Without a throughput no latency was tried there.
    assert sorted(lost["panel"]) == [MEAN, "throughput_tps"]
    assert set(lost["x"]) == {4} and lost["value"].isna().all() and set(lost["n"]) == {0}
    assert set(lost["states"]) == {("oversubscribed", "failed")}
    told = "red cross: no valid run (2)"
    assert told in " ".join(texts(picture_of(found, "13")))


def test_one_invalid_round_beside_valid_ones_loses_no_point(tmp_path):
    rows = [row("13", "mq", 4, round=1), failed("13", "mq", 4, round=2)]
    found = table_of(results_of(tmp_path, rows), "13")
    assert not having(found, "failed").any()


def test_over_the_rate_the_place_of_a_failed_run_is_its_rate(tmp_path):
    rows = points_by_rate("mq", 2e5, {0.3: 12.0, 0.7: 6.0}, 1)
    wrong = {"valid": False, "invalid_reason": "late", "throughput_tps": None}
    rows.append(open_row("9", "mq", None, 1.0, rate_fraction=0.9, offered_tps=1.8e5, **wrong))
    found = table_of(results_of(tmp_path, rows), "9")
    lost = found[having(found, "failed")]
    assert lost[["panel", "x"]].values.tolist() == [[MEAN, 1.8e5]]


def test_invalid_rows_are_never_values(tmp_path):
    rows = points_over("13", "mq", {1: (2e6, 4.0)}, repetitions=1)
    rows.append(failed("13", "mqlf", 1, digest="0bad", invalid_reason="wrong digest"))
    results = results_of(tmp_path, rows)
    found = table_of(results, "13").set_index("line")
    assert found.loc["mqlf"]["value"].isna().all()
    footer = load.footer_of(results, View(DECLARED["13"]), None)
    assert "1 of 3 runs invalid" in footer
