"""The checks find bugs: each mutant fits its module, breaks it, and is killed.

Every run tries one mutant a family; ``-m full`` tries all and compares the checks that killed them
with the table in docs/mutants.md.
"""

from __future__ import annotations

import argparse
import builtins
import os
import re
import subprocess
import symtable
import sys
import textwrap
from collections import Counter
from dataclasses import replace

import pytest

from operators.check import command, mutants
from operators.check.families import mutant_named
from operators.check.families import mutants as all_mutants
from operators.check.mutants import (
    ROOT,
    TABLE_BEGINS,
    TABLE_ENDS,
    Mutant,
    mutated_text,
    run_catalogue,
    source_file,
    table,
    with_table,
    written_results,
    written_table,
)
from operators.check.scenario import CHECKS
from operators.contract import UsageError
from operators.registry import family_names

PAGE = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
MUTANTS = all_mutants()
CANARIES = [mutant for mutant in MUTANTS if mutant.canary]
HARMLESS = Mutant(
    name="longer-lines",
    variant="core/layout",
    module="operators.core.layout",
    old="LINE_BYTES = 64\n",
    new='LINE_BYTES = 128\n\n\ndef broken():\n    raise ValueError("as meant")\n',
    breaks="a cache line is 64 bytes long",
)


def named(mutant: Mutant) -> str:
    return mutant.name


# --- the catalogue -------------------------------------------------------------------------------


def test_names_are_unique_and_there_are_enough():
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 12
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name) for name in names)


@pytest.mark.parametrize("mutant", MUTANTS, ids=named)
def test_a_mutant_fits_its_module_and_compiles(mutant):
    compile(mutated_text(mutant), mutant.module, "exec")
    assert mutant.old != mutant.new
    assert mutant.family in family_names()
    assert re.fullmatch(r"[^|.\n]+[^|.\n ]", mutant.breaks), "one clause, without a full stop"


@pytest.mark.parametrize("mutant", MUTANTS, ids=named)
def test_a_mutant_uses_no_name_that_its_module_has_not(mutant):
    # Otherwise it would be killed by the missing name, which says nothing about the checks.
    module = symtable.symtable(mutated_text(mutant), mutant.module, "exec")
    known = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}
    assert globals_of(module) <= known | set(dir(builtins))


def globals_of(table: symtable.SymbolTable) -> set[str]:
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return own.union(*map(globals_of, table.get_children()))


def test_no_two_mutants_are_the_same_fault():
    changed = Counter((mutant.module, mutated_text(mutant)) for mutant in MUTANTS)
    assert set(changed.values()) == {1}


def test_each_family_with_mutants_has_one_canary():
    families = {mutant.family for mutant in MUTANTS}
    assert Counter(mutant.family for mutant in CANARIES) == dict.fromkeys(families, 1)


def test_an_unknown_name_is_answered_with_those_there_are():
    assert mutant_named(CANARIES[0].name) is CANARIES[0]
    with pytest.raises(UsageError, match=CANARIES[0].name):
        mutant_named("no-such-mutant")


@pytest.mark.parametrize("old", ["no such text", "WORD_BYTES"])
def test_a_mutant_that_no_longer_fits_says_so(old):
    count = source_file(HARMLESS.module).read_text(encoding="utf-8").count(old)
    assert count != 1
    with pytest.raises(UsageError, match=rf"longer-lines no longer fits .* {count} times"):
        mutated_text(replace(HARMLESS, old=old))


# --- importing -----------------------------------------------------------------------------------


def run_with_mutant(code: str) -> subprocess.CompletedProcess:
    """Run code in a fresh process in which HARMLESS is defined but not applied."""
    prelude = f"from operators.check.mutants import Mutant, apply\nmutant = {HARMLESS!r}\n"
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(code)],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_mutant_is_imported_in_place_of_its_module():
    done = run_with_mutant(
        """
        apply(mutant)
        from operators.core import layout, spsc_ring
        print(layout.LINE_WORDS, spsc_ring.LINE_WORDS, layout.__file__)
        """
    )
    assert done.stdout.split() == ["16", "16", str(source_file(HARMLESS.module))], done.stderr


def test_a_mutant_leaves_nothing_behind():
    assert run_with_mutant("apply(mutant)\nimport operators.core.layout").returncode == 0
    done = run_with_mutant("from operators.core import layout\nprint(layout.LINE_WORDS)")
    assert done.stdout == "8\n", done.stderr


def test_a_trace_shows_the_lines_that_ran():
    # A schedule's trace looks up lines in one way; Python's own traceback reads the file.
    done = run_with_mutant(
        """
        import linecache
        apply(mutant)
        from operators.core import layout
        try:
            layout.broken()
        except ValueError as error:
            where = error.__traceback__.tb_next
            linecache.checkcache()
            print(linecache.getline(where.tb_frame.f_code.co_filename, where.tb_lineno))
        """
    )
    assert done.stdout.strip() == 'raise ValueError("as meant")', done.stderr


def test_a_module_that_was_imported_already_is_refused():
    done = run_with_mutant("import operators.core.layout\napply(mutant)")
    assert done.returncode == 1
    assert "operators.core.layout was imported before it could be changed" in done.stderr


# --- the runner ----------------------------------------------------------------------------------


@pytest.fixture
def checker(tmp_path, monkeypatch):
    """Put a script in place of Python, so that a check gives the answer a test needs."""

    def answer(script: str) -> None:
        file = tmp_path / "checker"
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)
        monkeypatch.setattr(mutants.sys, "executable", str(file))

    return answer


def test_results_say_what_killed_each_and_stand_in_the_catalogues_order(checker):
    found = '{"findings": [{"check": "data race", "schedule": "two:sc:a1"}, {"check": "result"}]}'
    checker(
        'echo "$NUMBA_DISABLE_JIT $@" >&2\n'
        f"case \"$5\" in first) sleep 0.5; echo '{found}'; exit 1;; esac\n"
        "echo '{\"findings\": []}'"
    )
    told: list[str] = []
    both = [replace(HARMLESS, name="first"), replace(HARMLESS, name="second")]
    assert run_catalogue(both, progress=told.append) == [
        {
            "mutant": "first",
            "variant": "core/layout",
            "killed_by": "data race",
            "schedule": "two:sc:a1",
        },
        {"mutant": "second", "variant": "core/layout", "killed_by": None, "schedule": None},
    ]
    assert told[0].startswith("1/2 second: lives (")
    assert told[1].startswith("2/2 first: killed by data race at two:sc:a1 (")


def test_a_check_is_started_without_compilation_for_the_mutants_variant(checker, tmp_path):
    checker(f'echo "$NUMBA_DISABLE_JIT $@" > {tmp_path}/said\necho \'{{"findings": []}}\'')
    for share, option in ((False, ""), (True, "--share ")):
        run_catalogue([HARMLESS], share=share)
        said = (tmp_path / "said").read_text(encoding="utf-8")
        wanted = f"1 -m operators.check --json --mutant longer-lines {option}core/layout\n"
        assert said == wanted


def test_a_mutant_on_which_nothing_is_found_in_time_counts_as_alive(checker):
    checker("exec sleep 30")
    told: list[str] = []
    results = run_catalogue([HARMLESS], progress=told.append, limit_s=0.2)
    assert results[0]["killed_by"] is None
    assert "longer-lines: lives: nothing found in 0.2 s" in told[0]


@pytest.mark.parametrize(
    "script",
    [
        "echo out of paper >&2; exit 2",
        "echo '{\"findings\": []}'; echo out of paper >&2; exit 1",
        "echo nonsense; echo out of paper >&2",
    ],
)
def test_a_check_that_fails_by_itself_is_no_answer(checker, script):
    checker(script)
    with pytest.raises(RuntimeError, match="longer-lines(.|\n)*out of paper"):
        run_catalogue([HARMLESS])


# --- the table -----------------------------------------------------------------------------------


def test_a_table_is_written_and_read_again():
    text = f"before\n\n{TABLE_BEGINS}\nold\n{TABLE_ENDS}\n\nbehind\n"
    results = [
        {"mutant": mutant.name, "variant": mutant.variant, "killed_by": check}
        for mutant, check in zip(MUTANTS[:2], ("data race", None), strict=True)
    ]
    written = with_table(text, table(MUTANTS[:2], results))
    assert written.startswith(f"before\n\n{TABLE_BEGINS}\n| mutant | ")
    assert written.endswith(f" |\n{TABLE_ENDS}\n\nbehind\n")
    assert written_results(written) == results
    assert written_table(written) == table(MUTANTS[:2], results)


# Theta joins are called joins in commands.
@pytest.mark.parametrize(
    ("variant", "called"),
    [("core/spin-lock", "core/spin-lock"), ("theta_join/handshake", "join/handshake")],
)
def test_mutants_of_one_variant_leave_the_others_in_the_table(
    checker, tmp_path, capsys, variant, called
):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    checker('echo \'{"findings": [{"check": "toy", "schedule": "x:sc:a1"}]}\'; exit 1')
    of_one = {mutant.name for mutant in all_mutants() if mutant.variant == variant}
    options = argparse.Namespace(
        mutants=True, variant=called, write=str(page), json=False, deep=False,
        schedule=None, mutant=None, orders=False, automatic=None,
    )  # fmt: skip
    assert command.run(options) == command.NOTHING
    assert f"{len(of_one)} of {len(of_one)} mutants are killed" in capsys.readouterr().out
    before = {each["mutant"]: each["killed_by"] for each in written_results(PAGE)}
    for each in written_results(page.read_text(encoding="utf-8")):
        wanted = "toy" if each["mutant"] in of_one else before.get(each["mutant"])
        assert each["killed_by"] == wanted


@pytest.mark.parametrize("text", ["", f"{TABLE_ENDS}\n{TABLE_BEGINS}\n", TABLE_BEGINS * 2])
def test_a_document_without_markers_is_refused(text):
    with pytest.raises(UsageError, match=re.escape(TABLE_ENDS)):
        written_table(text)


def test_the_written_table_is_the_catalogue_and_nothing_lives():
    results = written_results(PAGE)
    assert {result["killed_by"] for result in results} <= set(CHECKS)
    assert written_table(PAGE) == table(MUTANTS, results)


# --- killing them --------------------------------------------------------------------------------


@pytest.mark.parametrize("mutant", CANARIES, ids=named)
def test_canaries_are_killed(mutant):
    [result] = run_catalogue([mutant])
    assert result["killed_by"] in CHECKS, f"{mutant.name} lives: {mutant.breaks}"
    assert result["schedule"]


@pytest.mark.full
@pytest.mark.parametrize("share", [False, True], ids=["plain", "share"])
@pytest.mark.parametrize("mutant", MUTANTS, ids=named)
def test_every_mutant_is_killed_by_the_check_that_the_table_names(mutant, share):
    # The few schedules of a normal run must kill it too.
    [result] = run_catalogue([mutant], share=share)
    written = {each["mutant"]: each["killed_by"] for each in written_results(PAGE)}
    assert result["killed_by"] in CHECKS, f"{mutant.name} lives: {mutant.breaks}"
    assert result["killed_by"] == written[mutant.name]
