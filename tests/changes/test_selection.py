"""What a change can reach: rules on a repository made up here, and faults in the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from operators import registry
from operators.check.families import mutants
from operators.core.sources import ROOT
from tests.changes import __main__ as command
from tests.changes.cutting import sources_of
from tests.changes.faults import FAULTS, Fault
from tests.changes.reach import FAMILY, NARROW, WIDE, Graph
from tests.changes.selection import left_out, select

VARIANT = "def step():\n    return 1\n\nVARIANT = Variant(id='a')\n"
CONFTEST = """
import pytest
from datasets import catalog
from operators.core import ring

@pytest.fixture
def data():
    return catalog
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
    "datasets/shop/tables.py": "",
    "datasets/catalog.py": "found = import_module(f'datasets.{name}.tables')\n",
    "experiments/cli.py": "from experiments.judging import judge\n",
    "experiments/judging/judge.py": "file = 'published.yaml'\n",
    "experiments/a_paper/published.yaml": "",
    "experiments/a_paper/figures.py": "",
    "workflow/Snakefile": "from experiments.judging import judge\n",
    "workflow/config/quick.yaml": "",
    "tests/conftest.py": CONFTEST,
    "tests/contract/test_gate.py": CONTRACT,
    "tests/operators/gate/test_one.py": "from operators.gate import one\n",
    "tests/operators/gate/test_others.py": "",
    "tests/figures/test_shop.py": "def test(data): pass\n",
    "tests/experiments/test_cli.py": "PROGRAM = [python, '-m', 'experiments.cli']\n",
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
    """Return the files that are run whole, without the one that always is."""
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


def test_a_change_is_what_commits_the_working_tree_and_new_files_differ_in(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=t", "-c", "user.email=t@t")
        subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        )

    monkeypatch.setattr(command, "ROOT", tmp_path)
    git("init", "-b", "main")
    for name in ("kept", "edited", "deleted", "committed"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "one")
    git("commit", "--allow-empty", "-m", "two")
    assert command.default_base() == "HEAD~1"
    git("switch", "-c", "branch")
    (tmp_path / "committed").write_text("other")
    git("commit", "-am", "three")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").write_text("new")
    base = command.default_base()
    assert command.changed_since(base) == {"committed", "edited", "deleted", "new"}
    assert command.text_at(base, "committed") == "committed"
    assert command.text_at(base, "new") is None


@pytest.fixture(scope="module")
def real() -> Graph:
    return Graph(ROOT, command.git_lines("ls-files", "-co", "--exclude-standard"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_the_tests_that_a_fault_fails_are_selected(real, fault: Fault):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.old in text, "the file is another by now: put a fault of the kind into it as it is"
    selection = select(real, {fault.file}, lambda file: text)
    test = fault.test.partition("::")[0]
    if test not in selection.files:
        assert test in selection.cut
        sources = {fault.variant} if fault.variant else set()
        assert not left_out({"variant": sources}, selection, test, set)


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_each_fault_fails_its_test(tmp_path, fault: Fault):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "results", "__pycache__"))
    file = copy / fault.file
    file.write_text(file.read_text().replace(fault.old, fault.new, 1))
    run = (sys.executable, "-m", "pytest", "-q", "-x", "--hypothesis-profile=interpreted")
    environment = {"PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": str(int(fault.interpreted))}
    done = subprocess.run(
        [*run, fault.test], cwd=copy, env=os.environ | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    # 2 is of tests that cannot even be collected.
    assert done.returncode in (1, 2), done.stdout[-2000:]


def test_a_parameter_names_its_variant_in_any_form():
    gate = registry.variant("gate", "t-gate")
    assert sources_of(gate) == {"operators/gate/t_gate.py"}
    assert sources_of(3) == set()
    mutant = next(each for each in mutants() if each.module == "operators.gate.t_gate")
    assert sources_of(mutant) == {"operators/gate/t_gate.py"}


def test_paths_are_those_of_the_repository(real):
    assert Path(__file__).relative_to(ROOT).as_posix() in real.files
