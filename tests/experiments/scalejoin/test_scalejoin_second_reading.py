"""The third paper's statements as read by two readers: alike, or different for a reason.

The second reader had the quotes and the paper. Here each reading is translated into the other's
words; if that leaves a difference, `settled` names it and says why the first reading stands.
"""

from __future__ import annotations

import pytest

from experiments.scalejoin.figures import PAPER
from tests.published import read_again, reads, written

PUBLISHED = written(PAPER.id)
SETTLED, READING = read_again(PAPER.id)
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
NAMES = PUBLISHED["variants"]
# Panels of the second machine are mapped to those of the first; 7x has no counterpart in the paper.
PANEL = {"5d": "5a", "5e": "5b", "5f": "5c", "6b": "6a", "7c": "7b", "-": "7x"}
# From the words of the second reading to the fields of the first.
QUANTITY = {
    "comparisons": {"comparisons_ps"},
    "tuples": {"highest_tps"},
    "comparisons a thread": {"thread_comparisons_ps", "over_time_mean"},
    "deviation": {"deviation_percent", "over_time_deviation", "over_time_event_deviation"},
    "latency": {"highest_ms_mean", "real_time_ms_mean", "real_time_ms_p99"},
    "throughput of the gate": {"throughput_tps"},
    "sort buffer": {"sort_buffer_pairs"},
}
HOW = {
    "more": {("monotone", "rises"), ("at-last", "higher"), ("ordering", "higher"),
             ("over-highest", "higher")},
    "less": {("monotone", "falls"), ("ordering", "lower")},
    "alike": {("growth", "near"), ("monotone", "near")},
    "stays": {("monotone", "near"), ("monotone", "kept"), ("figure-ordering", "near")},
    "is that much": {("half-window", "near"), ("absolute", None)},
    "is at most": {("at-most", "lower")},
    # No statement with "at least" could be judged by it.
    "is at least": set(),
    "rises": {("monotone", "rises")},
    "falls": {("monotone", "falls"), ("growth", "falls")},
    "rises as the number": {("growth", "near")},
    "rises as the root": {("growth", "near")},
    "flatter": {("growth", "lower")},
    "difference rises": {("difference-grows", "higher")},
    "difference rises as the number": {("difference-grows", "higher")},
}  # fmt: skip


def panels(names: list[str]) -> set[str]:
    return {PANEL.get(name, name) for name in names}


def numbers_agree(second: dict, claim: dict) -> bool:
    number, value = second["number"], claim["value"]
    if number == "-":
        # "Alike" has the number 1.
        return value in (None, 1)
    # The second has shares instead of per cent, and seconds.
    number *= {"%": 100, "ms": 1_000 if "fill" in second["about"] else 1}.get(claim["unit"], 1)
    return value is not None and abs(number / value - 1) < 0.02


def differences(claim: dict, second: dict) -> list[str]:
    """Return the fields in which two readings differ."""
    who, rivals = ({NAMES[name] for name in reads(claim, key)} for key in ("variants", "rivals"))
    # ScaleJoin compared with itself or the ideal is a growth or a line in the first reading.
    named = {name for name in second["against"] if not name.startswith(("ScaleJoin ", "ideal"))}
    fields = {
        "text": second["text"] == str(claim["section"]),
        "plots": panels(second["plots"]) == panels(claim["figures"]),
        "about": claim["quantity"] in QUANTITY.get(second["about"], ()),
        "who": set(second["who"]) == who and named == rivals,
        "number": numbers_agree(second, claim),
        "how": (claim["comparator"], claim.get("direction")) in HOW[second["how"]],
    }
    return [field for field, agree in fields.items() if not agree]


@pytest.mark.parametrize("name", sorted(READING))
def test_the_two_readings_agree_but_for_what_is_settled(name):
    differ = differences(CLAIMS[name], READING[name])
    assert differ == SETTLED.get(name, {"differ": []})["differ"]


@pytest.mark.parametrize("name", sorted(SETTLED))
def test_what_stands_where_readings_differ_has_its_reason(name):
    assert SETTLED[name]["differ"]
    assert len(SETTLED[name]["why"].split()) >= 8


def test_every_claim_has_a_second_reading():
    assert set(READING) == set(CLAIMS) >= set(SETTLED)
