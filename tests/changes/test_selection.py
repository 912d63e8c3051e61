"""The reach of a change: rules on an invented repository, and lists of the real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from operators import registry
from operators.check.families import mutants
from operators.core.sources import ROOT
from tests.changes import __main__ as command
from tests.changes.cutting import sources_of
from tests.changes.reach import FAMILY, FINDING, NARROW, STARTS, WIDE, Graph
from tests.changes.selection import (
    ALWAYS,
    CHECK,
    DECLARING,
    HUBS,
    OF_FAMILY,
    SHARED,
    SLOW,
    UNDER_ALL,
    left_out,
    select,
)

VARIANT = "def step():\n    return 1\n\nVARIANT = Variant(id='a')\n"
CONFTEST = """
import pytest
from datasets import catalog
from operators.core import ring

@pytest.fixture
def data():
    return catalog
"""
CONFTEST_BELOW = """
import pytest
from operators.core import marks
from operators.gate import reference

def helper():
    return reference

@pytest.fixture
def near(data):
    return helper()

@pytest.fixture(autouse=True)
def unmarked():
    marks.clear()
"""
CONTRACT = """
from operators.gate import reference
from operators.registry import variants

ALL = variants("gate")
"""
REPOSITORY = {
    "operators/__init__.py": "",
    "operators/registry.py": "",
    "operators/gate/__init__.py": "",
    "operators/gate/one.py": f"from operators.core import ring\n{VARIANT}",
    "operators/gate/two.py": VARIANT,
    "operators/gate/reference.py": "",
    "operators/core/ring.py": "",
    "operators/core/marks.py": "",
    "operators/core/fence.py": "",
    "datasets/shop/tables.py": "",
    "datasets/catalog.py": "found = import_module(f'datasets.{name}.tables')\n",
    "experiments/cli.py": "from experiments.judging import judge\nimport experiments.discovery\n",
    "experiments/discovery.py": "found = import_module(f'experiments.families.{name}.bench')\n",
    "experiments/families/gate/bench.py": "",
    "experiments/judging/judge.py": "file = 'published.yaml'\n",
    "experiments/a_paper/published.yaml": "",
    "experiments/a_paper/figures.py": "",
    "workflow/Snakefile": "from experiments.judging import judge\n",
    "workflow/config/quick.yaml": "",
    "workflow/scripts/judge.py": "",
    "tests/conftest.py": CONFTEST,
    "tests/contract/test_gate.py": CONTRACT,
    "tests/operators/gate/test_one.py": "from operators.gate import one\n",
    "tests/operators/gate/test_others.py": "",
    "tests/operators/gate/steps.py": "",
    "tests/operators/gate/toys/mine/gate.py": "from operators.core import fence\n",
    "tests/operators/gate/samples/some.csv": "",
    "tests/operators/gate/sub/test_toys.py": "",
    "tests/operators/gate/test_stranger.py": "TOYS = Path(__file__).parent / 'toys'\n",
    "tests/datasets/test_bench.py": "from experiments import cli\ncli.main(['bench', 'gate'])\n",
    "tests/figures/conftest.py": CONFTEST_BELOW,
    "tests/figures/test_shop.py": "def test(data): pass\n",
    "tests/figures/test_near.py": "def test(near): pass\n",
    "tests/figures/test_asked.py": "def test(request): request.getfixturevalue('data')\n",
    "tests/experiments/test_cli.py": "PROGRAM = [python, '-m', 'experiments.cli', 'families']\n",
    "tests/experiments/test_scripts.py": "SCRIPTS = ROOT / 'workflow/scripts'\n",
    "tests/experiments/test_toys.py": "TOYS = ROOT / 'tests/figures/toys'\n",
    "tests/figures/toys/paper.py": "from operators.core import fence\n",
    "tests/experiments/test_family.py": "from experiments import cli\ncli.main(['gate'])\n",
    "tests/experiments/test_variant.py": "from experiments import cli\ncli.main(['a'])\n",
    "tests/experiments/test_script.py": "RUN = '''\nfrom experiments.judging import judge\n'''\n",
    "tests/experiments/families/test_slow.py": "from experiments import cli\n",
    "tests/workflow/test_rules.py": "subprocess.run(['snakemake', '--lint'])\n",
    "tests/test_tidy.py": "",
}  # fmt: skip


@pytest.fixture
def graph(tmp_path) -> Graph:
    for name, text in REPOSITORY.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Graph(tmp_path, REPOSITORY)


def whole(graph, *changed):
    """Return the files that are run whole, except the one that always is."""
    return select(graph, set(changed), REPOSITORY.get).files - {"tests/test_tidy.py"}


def test_imports_are_followed_with_the_packages_above_them(graph):
    found = graph.closure("tests/operators/gate/test_one.py", kind=NARROW)
    above = {"operators/__init__.py", "operators/gate/__init__.py"}
    assert {*above, "operators/core/ring.py"} < found
    assert "operators/gate/two.py" not in found


def test_a_program_in_a_string_imports_too(graph):
    found = graph.closure("tests/experiments/test_script.py", kind=NARROW)
    assert {"experiments/judging/judge.py", "experiments/a_paper/published.yaml"} < found


def test_a_family_that_is_asked_for_is_all_its_variants(graph):
    test = "tests/contract/test_gate.py"
    assert "operators/gate/one.py" not in graph.closure(test, kind=NARROW)
    assert {"operators/gate/one.py", "operators/core/ring.py"} < graph.closure(test, kind=FAMILY)


def test_a_name_that_is_put_together_is_every_module_that_fits(graph):
    assert "datasets/shop/tables.py" not in graph.closure("datasets/catalog.py", kind=FAMILY)
    assert "datasets/shop/tables.py" in graph.closure("datasets/catalog.py", kind=WIDE)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("operators/gate/reference.py", {"tests/contract/test_gate.py"}),
        ("experiments/a_paper/published.yaml", {"tests/experiments/test_script.py"}),
        ("experiments/cli.py", {"tests/experiments/families/test_slow.py"}),
        ("workflow/config/quick.yaml", {"tests/workflow/test_rules.py"}),
        ("workflow/scripts/judge.py", {"tests/experiments/test_scripts.py"}),
        ("operators/core/fence.py", {"tests/experiments/test_toys.py"}),
        ("datasets/catalog.py", {"tests/figures/test_shop.py"}),
        ("tests/operators/gate/test_others.py", {"tests/operators/gate/test_others.py"}),
    ],
)
def test_what_imports_names_or_reads_a_file_is_run_whole(graph, changed, tests):
    assert tests <= whole(graph, changed)


def test_a_slow_test_does_not_hang_on_all_that_a_hub_imports(graph):
    found = whole(graph, "experiments/judging/judge.py")
    assert "tests/experiments/test_cli.py" in found
    assert "tests/experiments/families/test_slow.py" not in found


def test_a_fixture_is_depended_on_by_who_takes_it_alone(graph):
    found = whole(graph, "datasets/catalog.py")
    assert "tests/figures/test_shop.py" in found
    assert "tests/operators/gate/test_others.py" not in found


def test_fixtures_are_those_of_all_folders_above_with_what_their_helpers_use(graph):
    near = graph.closure("tests/figures/test_near.py", kind=NARROW)
    assert {"datasets/catalog.py", "operators/gate/reference.py"} < near
    asked = graph.closure("tests/figures/test_asked.py", kind=NARROW)
    assert "datasets/catalog.py" in asked and "operators/gate/reference.py" not in asked
    # Every test in this folder takes a fixture of this kind.
    assert "operators/core/marks.py" in near & asked


def test_toys_that_a_test_names_are_depended_on_with_their_imports(graph):
    found = graph.closure("tests/operators/gate/test_stranger.py", kind=NARROW)
    assert {"tests/operators/gate/toys/mine/gate.py", "operators/core/fence.py"} < found
    assert "tests/operators/gate/test_stranger.py" in whole(graph, "operators/core/fence.py")


def test_a_folder_of_tests_is_no_toy_though_a_test_says_its_name(graph):
    found = graph.closure("tests/experiments/test_cli.py", kind=WIDE)
    assert "tests/experiments/families/test_slow.py" not in found


@pytest.mark.parametrize(
    "shared", ["steps.py", "toys/mine/gate.py", "samples/some.csv", "conftest.py"]
)
def test_what_tests_share_runs_the_tests_of_its_folder_and_below(graph, shared):
    tests = {"test_one.py", "test_others.py", "test_stranger.py", "sub/test_toys.py"}
    folder = "tests/operators/gate"
    assert whole(graph, f"{folder}/{shared}") == {f"{folder}/{test}" for test in tests}


def test_a_test_that_is_edited_runs_alone(graph):
    test = "tests/operators/gate/test_others.py"
    assert whole(graph, test) == {test}


def test_a_bench_found_by_name_is_run_by_who_names_its_family_or_a_variant(graph):
    found = whole(graph, "experiments/families/gate/bench.py")
    mirror = "tests/experiments/families/test_slow.py"
    named = {"tests/experiments/test_family.py", "tests/experiments/test_variant.py"}
    # Without test_cli.py, which names neither, and test_bench.py, which is slow.
    assert found == {mirror, *named}


def test_of_a_suite_over_variants_those_are_run_that_changed(graph):
    selection = select(graph, {"operators/core/ring.py"}, REPOSITORY.get)
    test = "tests/contract/test_gate.py"
    assert selection.cut[test] and test not in selection.files
    one, two = {"operators/gate/one.py"}, {"operators/gate/two.py"}
    assert not left_out({"variant": one}, selection, test, set)
    assert left_out({"variant": two}, selection, test, set)
    assert not left_out({}, selection, test, set)


def test_tests_in_the_mirrored_folder_are_run(graph):
    assert "tests/operators/gate/test_others.py" in whole(graph, "operators/gate/two.py")


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements.lock", "tests/conftest.py"])
def test_what_all_stand_on_runs_all(graph, changed):
    tests = {name for name in REPOSITORY if "/test_" in name}
    assert select(graph, {changed}, REPOSITORY.get).files == tests


def test_a_file_that_is_gone_is_depended_on_still(graph):
    (graph.root / "operators/gate/reference.py").unlink()
    assert "tests/contract/test_gate.py" in whole(graph, "operators/gate/reference.py")


def test_a_file_that_cannot_be_parsed_is_named(graph):
    (graph.root / "operators/gate/one.py").write_text("def broken(:\n")
    with pytest.raises(SyntaxError) as caught:
        whole(graph, "operators/gate/one.py")
    assert caught.value.filename == "operators/gate/one.py"


def test_what_could_not_be_parsed_before_is_a_declaration_now(graph):
    found = select(graph, {"operators/gate/one.py"}, lambda file: "def broken(:\n")
    assert "tests/contract/test_gate.py" in found.cut


@pytest.fixture
def real() -> Graph:
    return Graph(ROOT, command.git_lines("ls-files", "-co", "--exclude-standard"))


def test_a_parameter_names_its_variant_in_any_form():
    gate = registry.variant("gate", "t-gate")
    assert sources_of(gate) == {"operators/gate/t_gate.py"}
    assert sources_of(3) == set()
    mutant = next(each for each in mutants() if each.module == "operators.gate.t_gate")
    assert sources_of(mutant) == {"operators/gate/t_gate.py"}


def test_paths_are_those_of_the_repository(real):
    assert Path(__file__).relative_to(ROOT).as_posix() in real.files


def test_every_entry_of_the_lists_is_in_the_repository(real):
    named = {ALWAYS, *UNDER_ALL, *HUBS, *STARTS.values(), *FINDING}
    assert named <= real.files
    begins = {*SLOW, *(f"experiments/{folder}" for folder in SHARED)}
    assert {each for each in begins if not any(f.startswith(each) for f in real.files)} == set()
    patterns = (*FINDING.values(), *DECLARING, CHECK, OF_FAMILY)
    assert all(any(re.fullmatch(each, file) for file in real.files) for each in patterns)
