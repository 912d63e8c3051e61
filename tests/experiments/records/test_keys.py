"""Keys change with everything a measured value depends on, and not with messages to people."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import discovery, papers, profiles
from experiments.records import keys
from operators.core.sources import PACKAGES, ROOT

# The digested sources: a key has one digest of each kind.
DIGESTS = {
    "mqlf": 'keys.variant_digest("aggregation", "mqlf")',
    "tumlsc": 'keys.variant_digest("aggregation", "tumlsc")',
    "t-gate": 'keys.variant_digest("gate", "t-gate")',
    "timing of aggregates": 'keys.timing_digest("aggregation")',
    "timing of gates": 'keys.timing_digest("gate")',
    "pim-tree": 'keys.variant_digest("join", "pim-tree")',
    "round-robin": 'keys.variant_digest("join", "round-robin")',
    "timing of joins": 'keys.timing_digest("join")',
    "timing of worklists": 'keys.timing_digest("partition")',
    "timing of theta joins": 'keys.timing_digest("theta_join")',
    "lock": "keys.lock_digest()",
    "soundcloud": 'plan.generated_identity("soundcloud", "quick", 1)',
    "smart_meter": 'plan.generated_identity("smart_meter", "quick", 1)',
}
JOINS = {"pim-tree", "round-robin"}
VARIANTS = {"mqlf", "tumlsc", "t-gate", *JOINS}
TIMING = {name for name in DIGESTS if name.startswith("timing of ")}
MQLF, RUN_THREADS = "operators/aggregation/mqlf.py", "operators/running/run_threads.py"

# By edit: the file, the old text, the new text, and the digests that change.
EDITS = {
    "a comment": (MQLF, "VARIANT = Variant(", "# Fast.\nVARIANT = Variant(", set()),
    "the docstring of a module": (MQLF, '"""MQLF: the', '"""MQLF: a', set()),
    "the docstring of a function": (
        RUN_THREADS, '"""Time from the common start', '"""Seconds from the common start', set(),
    ),
    "words below a constant": (
        "experiments/families/aggregation/columns.py", "A separate closed", "A separate", set(),
    ),
    "the form of the text": (
        MQLF, '    id="mqlf",\n    family=', '    id="mqlf", family=', set(),
    ),
    "how a variant is drawn": (MQLF, 'Look("orange", "^", "dash-dot")', 'Look("sky", "v")', set()),
    "what a variant is called": (MQLF, 'title="MQLF"', 'title="MQ, lock-free"', set()),
    "how a line of a table is drawn": (
        "operators/aggregation/other_gates.py", 'Look("sky", "P")', 'Look("blue", "P")', set(),
    ),
    "the figures that show a variant": (
        MQLF, '    section="7",', '    section="7",\n    extends={"a-paper": ("8a",)},', set(),
    ),
    "a statement of a variant": (MQLF, 'progress="lock-free"', 'progress="blocking"', {"mqlf"}),
    "a statement of what one variant imports": (
        "operators/gate/multi_queue_lock_free.py", "import ", "import math\nimport ", {"mqlf"},
    ),
    "a statement of what everything imports": (
        "operators/core/atomics.py", "import ", "import math\nimport ", {*VARIANTS, *TIMING},
    ),
    "how drivers wait": (
        "operators/core/backoff.py", "YIELD_ROUNDS = 16", "YIELD_ROUNDS = 17",
        # Joins are built on all indexes, some of which wait for a lock.
        {*TIMING, *JOINS},
    ),
    "the runner": (RUN_THREADS, "LEAD_NS = 2_000_000", "LEAD_NS = 3_000_000", TIMING),
    "a family's bench": (
        "experiments/families/aggregation/bench.py", "LEAST_WINSETS = 4", "LEAST_WINSETS = 5",
        {"timing of aggregates"},
    ),
    "a family's loops": (
        "experiments/families/gate/loops.py", "return 0, 0, -1, -1", "return 0, 0, -2, -1",
        {"timing of gates"},
    ),
    "an index that joins are built on": (
        "operators/index/pim_tree.py", "    depth = max(min(", "    depth = min(min(", JOINS,
    ),
    "a buffer that worklists send to": (
        "operators/reorder/non_blocking.py", "import ", "import math\nimport ",
        {"timing of worklists"},
    ),
    "how long runs of theta joins are": (
        "experiments/families/theta_join/phases.py", "SHORTEST_PROBE_SECONDS, FILL_SECONDS = 5",
        "SHORTEST_PROBE_SECONDS, FILL_SECONDS = 6", {"timing of theta joins"},
    ),
    "the words of a quantity": (
        "experiments/records/quantities.py", '"the same, median"', '"the median"', set(),
    ),
    "the line of progress": (
        "experiments/timing/progress.py", "WIDTH = 100", "WIDTH = 90", set(),
    ),
    "a docstring of the checker": (
        "operators/check/explore.py", '"""', '"""In short: ', set(),
    ),
    "a statement of the checker": (
        "operators/check/explore.py", "import ", "import math\nimport ", set(),
    ),
    "a mutant": (
        "operators/aggregation/check/mutants.py", "import ", "import math\nimport ", set(),
    ),
    "a paper's declaration": (
        "experiments/multiway_aggregation/figures.py", "MOST_INPUTS = 20", "MOST_INPUTS = 9", set(),
    ),
    "the plan": ("experiments/plan.py", "START_SECONDS = 3.0", "START_SECONDS = 4.0", set()),
    "the judge": ("experiments/judging/claims.py", "import ", "import math\nimport ", set()),
    "the packages": ("requirements.lock", "numba==", "numba==9.", {"lock"}),
    "a generator": (
        "datasets/soundcloud/generate.py", "import ", "import math\nimport ", {"soundcloud"},
    ),
    "what generators share": (
        "datasets/generate.py", "import ", "import math\nimport ", {"soundcloud", "smart_meter"},
    ),
}  # fmt: skip

SCRIPT = f"""
import json, sys
from pathlib import Path
from experiments import plan
from experiments.records import keys
from operators.core.sources import imported_files

CACHED = (keys.variant_digest, keys.timing_digest, keys.lock_digest, imported_files)

def digests():
    for cached in CACHED:
        cached.cache_clear()
    return {{{", ".join(f"{name!r}: {made}" for name, made in DIGESTS.items())}}}

before, found = digests(), {{}}
for name, (path, old, new) in json.load(sys.stdin).items():
    file = Path(path)
    text = file.read_text()
    # The first line that begins so, or the first place.
    place = text.find("\\n" + old) + 1 or text.find(old)
    assert place >= 0, f"{{path}} has no {{old!r}}"
    file.write_text(text[:place] + new + text[place + len(old):])
    after = digests()
    found[name] = [each for each in before if after[each] != before[each]]
    file.write_text(text)
    assert digests() == before
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> dict[str, list[str]]:
    """Make every edit in a copy of the sources, and return the digests that changed."""
    copy = tmp_path_factory.mktemp("sources")
    for package in ("operators", "datasets", "experiments"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pyc*"))
    shutil.copy(ROOT / "requirements.lock", copy)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        input=json.dumps({name: edit[:3] for name, edit in EDITS.items()}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# One worker makes the edits, once for all of them.
@pytest.mark.xdist_group("edits")
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_changes_the_keys_of_what_it_touches_and_no_others(changed, edit):
    assert set(changed[edit]) == EDITS[edit][3]


def common_of(**changes):
    profile = profiles.load("quick")
    given = {"family": "gate", "data": None, "lengths": profile.keyed, "machine": "m"}
    return keys.conditions(**{**given, **changes})


def key_of(common=None, **changes):
    row = {
        "family": "gate", "variant": "t-gate", "settings": {"sources": 2}, "phase": "open",
        "rate_fraction": 0.7, "number": 1,
    }  # fmt: skip
    return keys.row_key(common or common_of(), **{**row, **changes})


@pytest.mark.parametrize(
    "change",
    [
        {"variant": "multi-queue"},
        {"settings": {"sources": 3}},
        {"phase": "closed"},
        {"rate_fraction": 0.3},
        {"number": 2},
    ],
)
def test_each_part_of_a_setting_changes_a_row_s_key(change):
    assert key_of() == key_of()
    assert key_of(**change) != key_of()


def test_data_machine_packages_and_timing_change_a_row_s_key(monkeypatch):
    before = key_of()
    assert key_of(common_of(data="other")) != before
    assert key_of(common_of(machine="other")) != before
    assert key_of(common_of(family="aggregation")) != before
    monkeypatch.setattr(keys, "lock_digest", lambda: "other")
    assert key_of() != before


PROFILE = profiles.load("quick")


@pytest.mark.parametrize(
    "change",
    [{"name": "mine"}, {"title": "x"}, {"next": None}, {"size": "laptop"}, {"repetitions": 9}],
)
def test_what_a_profile_is_called_and_how_often_it_measures_are_in_no_key(change):
    profile = dataclasses.replace(PROFILE, **change)
    assert key_of(common_of(lengths=profile.keyed)) == key_of()


@pytest.mark.parametrize(
    "change",
    [
        {"closed_seconds": 9.0},
        {"closed_rounds": 9},
        {"open_rounds": 9},
        {"open_seconds": 9.0},
        {"probe_seconds": 9.0},
        {"open_fraction": 0.5},
        {"rate_fractions": (0.1,)},
        {"probes": 9},
        {"point_timeout_seconds": 9.0},
    ],
)
def test_lengths_and_rates_of_a_profile_are_in_every_key(change):
    profile = dataclasses.replace(PROFILE, **change)
    assert key_of(common_of(lengths=profile.keyed)) != key_of()


def test_the_settings_have_no_order():
    one, other = {"sources": 2, "readers": 1}, {"readers": 1, "sources": 2}
    assert key_of(settings=one) == key_of(settings=other)


def test_a_file_that_is_not_there_is_said_to_be_none(monkeypatch):
    monkeypatch.setattr(keys, "ROOT", Path("/nowhere"))
    keys.lock_digest.cache_clear()
    try:
        assert keys.lock_digest() is None
    finally:
        keys.lock_digest.cache_clear()


def test_a_drawing_hangs_on_all_that_draws_it():
    files = keys.closure_of("figures.draw", "figures.forms.side_by_side")
    drawing = ("plot.py", "panel.py", "marks.py", "style.py", "table.py", "forms/rows.py")
    assert {ROOT / "figures" / name for name in drawing} <= files
    # And the measured code does not depend on any of it.
    measured = keys.closure_of("experiments.families.join.bench", "experiments.timing.runner")
    assert not any(file.is_relative_to(ROOT / "figures") for file in measured)


def test_imports_are_followed_into_every_package_of_the_project():
    there = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests"}
    assert there and there <= set(PACKAGES)


def test_what_measures_takes_words_alone_from_a_family_s_columns():
    # These are left out of the keys, so nothing in them may change a measurement.
    for family in discovery.benched():
        name = f"experiments.families.{family}.columns"
        if importlib.util.find_spec(name) is None:
            continue
        columns = importlib.import_module(name)
        files = keys.closure_of(f"experiments.families.{family}.bench") - {keys.file_of(name)}
        for file in files:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module == name:
                    for taken in (getattr(columns, each.name) for each in node.names):
                        words = taken if isinstance(taken, tuple) else (taken,)
                        assert all(isinstance(word, str) for word in words), (file, taken)


def test_a_figure_is_told_in_the_same_words_in_every_process():
    shown = [repr(figure) for paper in papers.papers() for figure in paper.figures]
    assert not any(re.search(r" at 0x[0-9a-f]+", text) for text in shown)
