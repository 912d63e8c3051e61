"""``millrace compare``: two sets of results, refusals, exit statuses, the table of all marks."""

from __future__ import annotations

import json
import os

import pytest

from experiments.cli import main
from experiments.judging.changes import MARKS
from experiments.peers import rows as rows_of_peers
from experiments.records import results
from tests.figures import peers_rows
from tests.invented import PAPER, PROVENANCE, as_in_the_paper, equal_runs, row, two, write_raw

SIX = {"repetitions": 6, "cores": 32}
WRONG = {"valid": False, "invalid_reason": "window 3 differs"}


def write_set(label, rows, times=1.1, provenance=PROVENANCE, **given):
    """Write a set whose equal runs differ by `times`, as wide as the noise floor."""
    rows = [*rows, *equal_runs(times, times, **given)]
    write_raw(results.root() / label / "raw", rows, provenance)


def printed(capsys, *argv):
    status = main(["compare", *argv])
    return status, capsys.readouterr()


def refused(capsys, *argv):
    status, told = printed(capsys, *argv)
    assert (status, told.out) == (2, "")
    assert told.err.startswith("millrace: ") and told.err.count("\n") == 1
    return told.err


def of_json(capsys, *argv):
    status, told = printed(capsys, *argv, "--json")
    return status, json.loads(told.out)


def test_equal_sets_need_one_sentence(capsys):
    for label in ("a", "b"):
        write_set(label, two(**SIX))
    status, told = printed(capsys, "a", "b", "--fail-above", "1.0")
    assert (status, told.err) == (0, "")
    assert told.out.startswith("None of 6 values changed by more than noise: nothing to do.\n")
    assert "--all lists them" in told.out


def test_a_set_that_is_worse_fails_above_its_limit(capsys):
    write_set("a", two(**SIX))
    write_set("b", two(mq=0.5e6, **SIX))
    status, told = printed(capsys, "a", "b")
    assert status == 0 and "1 worse" in told.out and "mq" in told.out
    assert "tumlsc" not in told.out
    status, told = printed(capsys, "a", "b", "--fail-above", "1.1")
    assert status == 1 and "worse by more than 1.1 times" in told.err
    assert printed(capsys, "a", "b", "--fail-above", "2.1")[0] == 0
    # The other way round it is better.
    assert printed(capsys, "b", "a", "--fail-above", "1.1")[0] == 0


def test_json_holds_the_changed_values_and_with_all_every_one(capsys):
    write_set("a", two(**SIX))
    write_set("b", two(mq=0.5e6, **SIX))
    status, found = of_json(capsys, "a", "b", "--fail-above", "1.5")
    assert (status, found["fails"]) == (1, True)
    (one,) = found["changes"]
    assert (one["mark"], one["variant"], one["ratio"]) == ("worse", "mq", pytest.approx(0.5))
    assert one["over_floor"] > 1.5
    assert len(of_json(capsys, "a", "b", "--all")[1]["changes"]) == 6
    assert [line["mark"] for line in found["summary"]] == list(MARKS)


def test_a_setting_that_fails_is_louder_than_any_number(capsys):
    write_set("a", two(**SIX))
    failing = [each | (WRONG if each["variant"] == "mq" else {}) for each in two(**SIX)]
    write_set("b", failing)
    status, told = printed(capsys, "a", "b", "--fail-above", "100")
    assert status == 1
    assert told.out.startswith("1 settings fail that did not: read these first.")
    assert "12 of 12 runs failed: window 3 differs" in told.out


def every_mark():
    """Return the rows of two sets in which each mark occurs once, among the throughputs."""

    def rows(inputs, rate, **given):
        return [
            row("13", "mq", inputs, repetition=n, throughput_tps=rate, **given) for n in range(1, 7)
        ]

    before, after = rows(1, 1e6), rows(1, 1e6)  # alike
    before += [*rows(2, 1e6), *rows(4, 1e6), *rows(6, 1e6, **WRONG), *rows(8, 1e6)]
    after += [*rows(2, 0.5e6), *rows(4, 2e6), *rows(6, 1e6), *rows(8, 1e6, **WRONG)]
    before += [*rows(10, 1e6), *rows(14, 1e6), *rows(16, 1e6)]
    after += [*rows(10, 0.93e6), *rows(14, 1e6, dataset_digest="cd" * 8), *rows(18, 1e6)]
    return before, after


def test_the_table_has_every_mark_once_the_most_severe_first(capsys):
    for label, rows in zip("ab", every_mark(), strict=True):
        write_set(label, rows)
    _, found = of_json(capsys, "a", "b", "--all")
    shown = [
        # The default of four inputs is not named.
        (each["mark"], each["settings"].removeprefix("inputs=") or "4")
        for each in found["changes"]
        if each["quantity"] in ("throughput_tps", "runs")
    ]
    assert shown == [
        ("broken", "8"),
        ("worse", "2"),
        ("mended", "6"),
        ("better", "4"),
        ("other data", "14"),
        ("only before", "16"),
        ("only after", "18"),
        ("cannot tell", "10"),
        ("alike", "1"),
    ]
    _, told = printed(capsys, "a", "b", "--all")
    lines = [line for line in told.out.splitlines() if "inputs=2 " in line and "throughput" in line]
    assert len(lines) == 1
    assert "0.50 times" in lines[0] and "1 M" in lines[0] and "500 k" in lines[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"machine": "another", "cores": 16}, ("machine: invented9000", "another", "one machine")),
        ({"profile": "laptop"}, ("profile: quick before, laptop after", "with one profile")),
        ({"size": "laptop"}, ("size: quick before, laptop after",)),
    ],
)
def test_sets_that_do_not_belong_together_are_compared_on_demand_only(given, words, capsys):
    write_set("a", two(**SIX))
    write_set("b", two(**(SIX | given)), **given)
    message = refused(capsys, "a", "b")
    for word in (*words, "do not belong together", "--across"):
        assert word in message
    status, told = printed(capsys, "a", "b", "--across")
    assert status == 0 and f"not alike: {words[0]}" in told.out


def test_other_packages_and_other_floors_are_said(capsys):
    write_set("a", two(**SIX), provenance=PROVENANCE | {"lock": "aa"})
    write_set("b", two(**SIX), times=1.6, provenance=PROVENANCE | {"lock": "bb"})
    _, told = printed(capsys, "a", "b")
    assert "note: packages (lock): aa before, bb after" in told.out
    assert "noise floor of throughput: 1.10 before, 1.60 after; the larger one counts" in told.out


def test_an_unknown_floor_is_said_with_the_remedy(capsys):
    write_set("a", two(repetitions=2))
    write_raw(results.root() / "b" / "raw", two(mq=0.5e6, repetitions=2))
    _, told = printed(capsys, "a", "b")
    assert "noise floor of throughput: 1.10 before, unknown after" in told.out
    assert "REPETITIONS=6" in told.out and told.out.startswith("None of")


def test_sets_without_a_common_setting_and_one_set_twice_are_refused(capsys):
    write_set("a", [each for each in two(**SIX) if each["variant"] == "mq"])
    write_set("b", [each for each in two(**SIX) if each["variant"] == "tumlsc"])
    assert "no setting in common" in refused(capsys, "a", "b")
    assert "are the same results" in refused(capsys, "a", str(results.root() / "a"))


@pytest.mark.parametrize("factor", ["0.9", "nan", "inf"])
def test_a_limit_that_is_no_factor_is_refused(factor, capsys):
    assert "factor of at least 1" in refused(capsys, "a", "b", "--fail-above", factor)


def test_verdicts_with_another_word_are_listed(capsys):
    write_set("a", as_in_the_paper(**SIX))
    slow = {"tumlsc": 9}
    slower = [
        each | {"throughput_tps": each["throughput_tps"] / slow.get(each["variant"], 1)}
        for each in as_in_the_paper(**SIX)
    ]
    write_set("b", slower)
    _, found = of_json(capsys, "a", "b")
    words = {(each["before"], each["after"]) for each in found["verdicts"]}
    assert ("holds", "does not hold") in words
    assert {each["paper"] for each in found["verdicts"]} == {PAPER}
    kinds = [each["kind"] for each in found["verdicts"]]
    assert kinds == sorted(kinds) and set(kinds) == {"finding", "statement"}
    _, told = printed(capsys, "a", "b")
    assert "holds -> does not hold" in told.out


def test_of_one_set_the_last_run_is_compared_with_the_run_before(capsys):
    write_set("a", two(**SIX))
    assert "no run before; name a second set" in refused(capsys, "a")
    for file in results.root().rglob("*.jsonl"):
        os.utime(file, ns=(1, 1))
    rows = [*two(mq=0.5e6, **SIX), *equal_runs(1.1, 1.1)]
    write_raw(results.root() / "a" / "raw", [each | {"key": "cd" * 8} for each in rows])
    status, told = printed(capsys, "a", "--fail-above", "1.1")
    assert status == 1 and "a before" in told.out and "1 worse" in told.out


def beside_peers(label, duckdb, version="2.0.1", **changed):
    """Write what DuckDB and an operator did in turns with it, six processes of one round."""
    rows = []
    for n in range(1, 7):
        own = {"repetition": n, "cores": 32, "started_at": n * 10**12, "ended_at": n * 10**12 + 1}
        later = {"started_at": n * 10**12 + 2, "ended_at": n * 10**12 + 3}
        rows.append(peers_rows.row("mq", 1, 1e6, **own))
        rows.append(peers_rows.peer("duckdb", "DuckDB", 1, duckdb * (1 + n / 1000),
                                    **{**own, **later, "version": version, **changed}))  # fmt: skip
    file = results.root() / label / "peers" / PAPER / "key" / "repetition-1.jsonl"
    rows_of_peers.write(file, peers_rows.PROVENANCE, rows)


@pytest.mark.parametrize(
    ("after", "mark", "told"),
    [
        ({"duckdb": 2e6}, "worse", "version 2.0.1 before, 2.1.0 after"),
        ({"duckdb": 8e6}, "better", "version 2.0.1 before, 2.1.0 after"),
        ({"duckdb": 4e6, "digest": "bad", **WRONG}, "broken", "window 3 differs"),
        ({"duckdb": 4e6, "dataset_digest": "cd"}, "other data", "2.1.0"),
        (None, "only before", ""),
    ],
)
def test_what_was_measured_beside_peers_is_compared_too(capsys, after, mark, told):
    for label in ("a", "b"):
        write_set(label, two(**SIX))
    beside_peers("a", 4e6)
    if after is not None:
        beside_peers("b", version="2.1.0", **after)
    found = of_json(capsys, "a", "b")[1]["changes"]
    (one,) = [each for each in found if each["variant"] == "duckdb"]
    assert (one["mark"], one["settings"]) == (mark, "beside peers: k-OI")
    assert told in one["note"] and one["figures"] == [f"{PAPER} peers"]
    # The operator ran alike, or was not measured again.
    others = [each["mark"] for each in found if each["variant"] != "duckdb"]
    assert others == ([] if after else ["only before"])


def test_a_difference_of_peers_within_the_floor_is_none(capsys):
    for label, rate in (("a", 4e6), ("b", 3.8e6)):
        write_set(label, two(**SIX), times=1.2)
        beside_peers(label, rate)
    every = of_json(capsys, "a", "b", "--all")[1]["changes"]
    (one,) = [each for each in every if each["variant"] == "duckdb"]
    assert (one["mark"], one["note"]) == ("cannot tell", "within the noise floor")
    assert one["times"] > 1.05
