"""An exception before the first schedule is a finding with the program, not a traceback."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from operators import registry
from operators.check.families import scenarios
from operators.check.scenario import Failure
from operators.check.suite import SHARE, Size, check_variant
from tests.joining import SCENARIOS, VARIANT, environment, joined, write_family

TINY = Size({"sc": 0}, random=1, graphs=1, states=100)
# An exception class defined by a structure, not a built-in one.
RAISES = '''
class OutOfPaper(Exception):
    """Not one of Python's."""

def fail(*arguments):
    raise OutOfPaper("as\\nmeant")
'''
NO_STATE = VARIANT.replace("    return State(aligned_words(1))", "    fail()") + RAISES
PROGRAMS = ["a: say(1), say(2)", "b: say(3)"]


def report_on(folder, **texts):
    write_family(folder, **texts)
    with joined(folder):
        return check_variant(registry.variant("echo", "toy"), TINY)


def only_finding(report):
    (finding,) = report.findings
    assert finding.check == "exception"
    return finding


def test_a_whole_one_is_found_to_be_right(tmp_path):
    report = report_on(tmp_path)
    assert not report.findings and report.scenarios == 1 and report.schedules > 1


def test_a_state_that_cannot_be_made_is_found_with_the_program_it_is_for(tmp_path):
    finding = only_finding(report_on(tmp_path, toy=NO_STATE))
    first, *programs = finding.message.splitlines()
    assert finding.scenario == "two" and finding.schedule == ""
    assert first.startswith("before the first step, OutOfPaper: as meant (operators.echo.toy:")
    assert first.endswith(" fail)") and programs == PROGRAMS


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ("np.zeros(4)", "array total must be one row of integers"),
        ("np.zeros((2, 2), np.int64)", "array total must be one row of integers"),
    ],
)
def test_a_state_that_cannot_be_watched_is_found_with_its_program(tmp_path, array, words):
    text = VARIANT.replace("aligned_words(1))", f"{array})")
    finding = only_finding(report_on(tmp_path, toy=text))
    assert finding.message.startswith(f"before the first step, {words}")
    assert finding.message.splitlines()[1:] == PROGRAMS


def test_a_refusal_of_the_structure_itself_is_a_finding_and_no_bad_request(tmp_path):
    text = NO_STATE.replace("(Exception)", "(UsageError)").replace(
        "import Variant", "import UsageError, Variant"
    )
    assert "OutOfPaper: as meant" in only_finding(report_on(tmp_path, toy=text)).message


def test_what_is_done_before_the_threads_begin_may_raise(tmp_path):
    text = SCENARIOS.replace("variant.operations.make_state, programs", "before, programs").replace(
        "    programs =",
        "    def before():\n"
        "        return perform(variant.operations.make_state(), Call('say', ('one', 'two')))\n\n"
        "    programs =",
    )
    finding = only_finding(report_on(tmp_path, check__scenarios=text))
    assert finding.scenario == "two" and "TypeError" in finding.message
    assert finding.message.splitlines()[1:] == PROGRAMS


@pytest.mark.parametrize("where", ["import", "call"])
def test_scenarios_that_cannot_be_made_are_found_with_the_variant(tmp_path, where):
    text = {
        "import": RAISES + SCENARIOS + "\nfail()\n",
        "call": RAISES + SCENARIOS.replace("    programs =", "    fail()\n    programs ="),
    }[where]
    report = report_on(tmp_path, check__scenarios=text)
    finding = only_finding(report)
    assert finding.scenario == "echo/toy" and finding.schedule == ""
    assert "OutOfPaper: as meant (operators.echo.check.scenarios:" in finding.message
    assert report.scenarios == report.schedules == 0 and not report.missing_marks


def test_a_specification_that_cannot_be_made_is_found_with_its_schedule(tmp_path):
    text = RAISES + SCENARIOS.replace("finish=finish", "specification=fail")
    finding = only_finding(report_on(tmp_path, check__scenarios=text))
    assert finding.scenario == "two" and finding.schedule.startswith("two:sc:")
    assert finding.message.startswith("OutOfPaper: as")


def test_a_first_call_that_raises_is_found_with_its_schedule(tmp_path):
    text = VARIANT.replace("    return fetch_add", "    fail()\n    return fetch_add") + RAISES
    finding = only_finding(report_on(tmp_path, toy=text))
    assert finding.scenario == "two" and finding.schedule.startswith("two:sc:")


def test_a_state_that_cannot_be_made_once_more_is_found_in_the_graph_of_states(tmp_path):
    text = NO_STATE.replace("    fail()\n", "    made.append(1)\n    return again()\n", 1) + (
        "\nmade = []\n\n"
        "def again():\n"
        "    return fail() if len(made) > 1 else State(aligned_words(1))\n"
    )
    report = report_on(tmp_path, toy=text)
    assert report.schedules > 1
    # The first graph is that of the first call of each thread.
    assert only_finding(report).message.splitlines()[1:] == ["a: say(1)", "b: say(3)"]


def test_scenarios_raise_a_failure_and_nothing_else(tmp_path):
    write_family(tmp_path, check__scenarios="def scenarios(variant):\n    return None\n")
    with joined(tmp_path), pytest.raises(Failure, match="before the first step, TypeError"):
        scenarios(registry.variant("echo", "toy"))


# --- the command ---------------------------------------------------------------------------------


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "operators.check", "--share", *arguments],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def three(tmp_path):
    """Write three families whose variants share an id, so that one word chooses all three."""
    write_family(tmp_path, "whole")
    write_family(tmp_path, "empty", check__scenarios=RAISES + "\nscenarios = fail\n")
    write_family(tmp_path, "stateless", toy=NO_STATE)
    return tmp_path


def test_the_others_are_still_checked(three):
    done = command(three, "toy", "--json")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    reports = {report["family"]: report for report in json.loads(done.stdout)}
    assert reports["whole"]["schedules"] > 2 * SHARE.random and not reports["whole"]["findings"]
    found = {f: reports[f]["findings"][0] for f in ("empty", "stateless")}
    assert {f["check"] for f in found.values()} == {"exception"}
    assert found["empty"]["scenario"] == "empty/toy"
    assert found["stateless"]["scenario"] == "two"
    assert found["stateless"]["message"].splitlines()[1:] == PROGRAMS


def test_people_read_what_raised_and_in_which_program(three):
    done = command(three, "toy")
    assert done.returncode == 1 and not done.stderr
    assert "  exception: empty/toy: before the first step, OutOfPaper: as meant (" in done.stdout
    assert "  exception: two: before the first step, OutOfPaper: as meant (" in done.stdout
    assert "\n    a: say(1), say(2)\n    b: say(3)\n" in done.stdout
    assert "3 variants, " in done.stdout and "2 variants failed" in done.stdout


@pytest.mark.parametrize("family", ["empty", "stateless"])
def test_a_schedule_of_what_cannot_begin_is_answered_with_what_raised(three, family):
    done = command(three, f"{family}/toy", "--schedule", "two:sc:a1")
    assert done.returncode == 1 and not done.stderr
    assert done.stdout.startswith("exception: before the first step, OutOfPaper: as meant (")
    told = json.loads(command(three, f"{family}/toy", "--schedule", "two:sc:a1", "--json").stdout)
    assert told["steps"] == [] and told["found"]["check"] == "exception"
