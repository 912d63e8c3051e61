"""Every variant under every schedule of its scenarios, within the time of a normal test run.

``millrace check`` does the same with more schedules, and ``millrace check --deep`` with still more.
"""

from __future__ import annotations

import pytest

from operators.check.families import checked, scenarios
from operators.check.suite import SHARE, check_variant, marks_in, marks_of
from operators.core.sources import ROOT

VARIANTS = checked()
# Their threads interact like those of another variant, which is tested instead: ScaleJoin's; in
# pipelines those of the first and the last scheduler; in joins with threads on one index that over
# the PIM-Tree, while each index is also tested alone; in plans the subquery-cluster's; in
# aggregates over one gate those of MQLF and TuMLSC, while each gate is also tested alone; and a
# W-Hive is tested as WiML.
# ``millrace check`` and ``make test-full`` include them.
ALIKE = {
    "aggregation-mqlf-loser-tree",
    "aggregation-mqlf-rings",
    "aggregation-tumlsc-batch",
    "aggregation-tumlsc-side-by-side",
    "core-w-hive",
    "join-bw-tree",
    "join-olc-tree",
    "theta_join-scale-join-hash",
    "theta_join-scale-join-index",
    "pipeline-et",
    "streamcloud-operator-cluster",
    "streamcloud-query-cluster",
    "pipeline-lp",
    "pipeline-ct-as-printed",
}
EXTREMES = (
    "window_functions.extreme_shared: while value < kept if hive.function == MIN else value > kept"
)
# Loops in which threads wait, and that no graph of a normal run goes round.
UNWAITED = {
    "aggregation-tumlmc": {EXTREMES},
    "aggregation-wiml": {EXTREMES},
    "aggregation-wiml-deferred": {EXTREMES},
    "aggregation-wiml-panes": {EXTREMES},
    "core-michael-scott-queue": {
        "michael_scott_queue.dequeue: while True",
        "michael_scott_queue.give_back: while True",
    },
    "core-w-hive": {"w_hive.level_insert: while True"},
    "gate-skip-list": {
        "skip_list.find_on_level: while True",
        "skip_list.link_up: while level < height",
        "skip_list.remove_first: while level >= 0",
    },
    "index-bw-tree": {
        "bw_pool.put_into: while push(ring, number) == FULL",
        "bw_updates.work: while peek(own, GOALS) > 0",
    },
}
PARTS_OF_JOINS = {"work_queue", "propagation", "merging"}
NAMES = [f"{variant.family}-{variant.id}" for variant in VARIANTS]


def each_variant() -> list:
    return [
        pytest.param(variant, id=name, marks=[pytest.mark.full] if name in ALIKE else [])
        for variant, name in zip(VARIANTS, NAMES, strict=True)
    ]


def test_those_of_other_runs_are_there():
    assert ALIKE < set(NAMES)


@pytest.mark.parametrize("variant", each_variant())
def test_nothing_is_found_and_nothing_is_missed(variant):
    report = check_variant(variant, SHARE)
    assert not report.findings, "\n".join(f"{f.check}: {f.schedule}" for f in report.findings)
    assert not report.missing_marks
    assert not report.idle_assertions
    name = f"{variant.family}-{variant.id}"
    assert set(report.unwaited) == UNWAITED.get(name, set())
    if (variant.family, variant.id) == ("join", "pim-tree-parallel"):
        files = (ROOT / "operators" / "join" / f"{part}.py" for part in PARTS_OF_JOINS)
        assert set().union(*map(marks_in, files)) <= set(report.marks)
    several = [s for s in scenarios(variant) if len(s.programs) > 1 and not s.deep]
    assert report.scenarios >= len(several) >= 1
    assert report.schedules >= 2 * SHARE.random * len(several) // report.scenarios
    assert bool(report.blocking) == (variant.progress == "blocking")


def test_every_mark_belongs_to_a_variant_whose_scenarios_pass_it():
    owned = set().union(*map(marks_of, VARIANTS))
    written = set().union(*map(marks_in, sorted((ROOT / "operators").rglob("*.py"))))
    # Marks of one thread alone, which no schedule affects, are looked up in its tests. The marks of
    # parts of joins on one index are those of the join that has them all, above.
    left = {mark for mark in written - owned if mark.partition(":")[0] not in PARTS_OF_JOINS}
    assert left == {"histogram: cut off"}
