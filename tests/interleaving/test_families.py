"""The parts of a family that are checked are found by name in its folder, wherever that is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from operators import registry
from operators.check import command, families
from operators.check.mutants import source_file
from operators.check.suite import marks_of
from operators.contract import UsageError
from tests.joining import (
    FAMILY,
    MUTANTS,
    ROOT,
    SCENARIOS,
    VARIANT,
    environment,
    joined,
    write_family,
)

DEEP = SCENARIOS.replace("finish=finish)", "finish=finish, deep=True)")


def names_of(variant):
    return [scenario.name for scenario in families.scenarios(variant)]


def test_a_structure_with_a_file_of_its_own_has_those_scenarios(tmp_path):
    write_family(tmp_path, check__toy=SCENARIOS.replace('"two"', '"its-own"'))
    with joined(tmp_path):
        assert names_of(registry.variant("echo", "toy")) == ["its-own"]


def test_a_file_of_its_own_without_scenarios_leaves_it_those_of_the_family(tmp_path):
    write_family(tmp_path, check__toy="HELPERS = 0\n")
    with joined(tmp_path):
        assert names_of(registry.variant("echo", "toy")) == ["two"]


def test_a_structure_in_the_package_of_another_family_has_its_own_family_s(tmp_path):
    guest = VARIANT.replace('family="echo"', 'family="host"').replace(
        "operators.echo.family", "operators.host.family"
    )
    write_family(tmp_path, "host", check__scenarios=SCENARIOS.replace('"two"', '"of-host"'))
    write_family(tmp_path, guest=guest.replace('id="toy"', 'id="guest"'))
    with joined(tmp_path):
        assert names_of(registry.variant("host", "guest")) == ["of-host"]
        assert names_of(registry.variant("echo", "toy")) == ["two"]


@pytest.mark.parametrize("text", ["", "x = 1\n", "scenarios = lambda variant: []\n", DEEP])
def test_one_without_scenarios_is_refused_with_the_files_that_were_looked_for(tmp_path, text):
    write_family(tmp_path, check__scenarios=text)
    files = "operators/echo/check/toy.py or operators/echo/check/scenarios.py"
    with joined(tmp_path), pytest.raises(UsageError, match=f"echo/toy has no scenarios.* {files}"):
        families.scenarios(registry.variant("echo", "toy"))


def test_one_without_a_folder_of_checks_is_refused_alike(tmp_path):
    write_family(tmp_path, check__scenarios="", check__toy_mutants="")
    with joined(tmp_path), pytest.raises(UsageError, match="echo/toy has no scenarios"):
        families.scenarios(registry.variant("echo", "toy"))


def test_a_family_whose_threads_share_nothing_is_not_checked_and_the_command_says_so(tmp_path):
    apart = FAMILY.replace("Operations)", "Operations, interleaved=False)")
    write_family(tmp_path, family=apart, check__scenarios="", check__toy_mutants="")
    with joined(tmp_path):
        everything = registry.variants()
        assert registry.variant("echo", "toy") in everything
        assert "echo" not in {each.family for each in families.checked()}
        assert command.chosen(None) == families.checked()
        for name in ("toy", "echo/toy"):
            with pytest.raises(UsageError, match="^echo/toy shares no memory between threads"):
                command.chosen(name)


def test_the_marks_of_a_variant_bear_the_name_of_its_module(tmp_path):
    marks = 'from operators.core.marks import mark\n\ndef f():\n    mark("{}: here")\n'
    own = VARIANT + "from operators.echo import toy_part, toys, other\n"
    write_family(
        tmp_path,
        toy=own,
        toy_part=marks.format("toy_part"),
        toys=marks.format("toys"),
        other=marks.format("toy").replace("here", "there"),
    )
    with joined(tmp_path):
        found = marks_of(registry.variant("echo", "toy"))
    assert found == {"toy_part: here", "toy: there"}


# --- mutants -------------------------------------------------------------------------------------


def test_mutants_are_found_in_every_file_that_is_named_so(tmp_path):
    more = MUTANTS.replace("by-load-and-store", "once-more")
    write_family(tmp_path, check__mutants=more)
    known = {mutant.name for mutant in families.mutants()}
    with joined(tmp_path):
        found = {mutant.name for mutant in families.mutants()}
    assert found - known == {"echo-by-load-and-store", "echo-once-more"}


def test_two_mutants_of_one_name_are_refused_with_both_places(tmp_path):
    write_family(tmp_path, check__mutants=MUTANTS)
    words = r"both operators\.echo\.check\.mutants and operators\.echo\.check\.toy_mutants"
    with joined(tmp_path), pytest.raises(UsageError, match=words):
        families.mutants()


def test_a_file_of_mutants_without_any_is_refused(tmp_path):
    write_family(tmp_path, check__mutants="MUTANT = ()\n")
    with joined(tmp_path), pytest.raises(UsageError, match=r"check\.mutants has no MUTANTS"):
        families.mutants()


def test_no_mutants_stand_where_they_are_not_looked_for():
    named = set(families.mutant_modules())
    for file in ROOT.glob("operators/*/check/*.py"):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        has_some = "\nMUTANTS = " in file.read_text(encoding="utf-8")
        assert has_some == (module in named), f"{module}: its name should end with 'mutants'"


def test_looking_for_mutants_imports_none_of_what_they_change():
    code = (
        "import sys\n"
        "from operators.check.families import mutants\n"
        "print(len(mutants()), [m.module for m in mutants() if m.module in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    count, _, imported = done.stdout.strip().partition(" ")
    assert int(count) > 12 and imported == "[]", done.stderr


def test_a_mutant_from_outside_is_killed(tmp_path):
    write_family(tmp_path)
    with joined(tmp_path):
        assert source_file("operators.echo.toy") == tmp_path / "operators/echo/toy.py"
    arguments = ["echo/toy", "--json", "--mutant", "echo-by-load-and-store"]
    done = subprocess.run(
        [sys.executable, "-m", "operators.check", *arguments],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["findings"][0]["check"] == "data race"


@pytest.mark.parametrize("module", ["operators.core.no_such", "operators.no_such.layout"])
def test_a_mutant_of_no_module_is_refused(module):
    with pytest.raises(UsageError, match=f"there is no module {module}"):
        source_file(module)


def test_a_schedule_knows_its_source_and_is_refused_for_another(tmp_path):
    write_family(tmp_path)

    def check(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "operators.check", "echo/toy", *arguments],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
        )

    mutant = ("--mutant", "echo-by-load-and-store")
    found = json.loads(check("--json", *mutant).stdout)["findings"][0]["schedule"]
    steps, _, digest = found.partition("@")
    assert len(digest) == families.DIGEST_LETTERS
    again = check("--schedule", found, *mutant)
    assert again.returncode == 1 and "data race" in again.stdout
    other = check("--schedule", found)
    assert other.returncode == 2 and f"the schedule is of the source @{digest}, " in other.stderr
    tried = check("--schedule", steps)
    assert tried.returncode == 0, tried.stderr
