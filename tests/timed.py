"""Tests that bound seconds, marked ``timed``: they are run again when another program had the core.

A busy machine only lengthens what such a test measures, so that code which meets a bound in one of
a few runs can meet it, and code which cannot meets it in none. The tests that needed more than one
run are named at the end. A test that can be written without a clock is, and has no mark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

TRIES = 5
# Before the second run; before a later one as often as there were runs. What had the core ends.
PAUSE_SECONDS = 0.5
# The property of a test's report that has the number of runs.
RUNS = "runs"


def runs_until_met(test: Callable[[], object], pause_seconds: float = PAUSE_SECONDS) -> int:
    """Run a test until it passes, at most ``TRIES`` times, and return how often it ran.

    Raises
    ------
    AssertionError
        What the last run failed with. Any other error is raised by the first run that has it.
    """
    for run in range(1, TRIES):
        try:
            test()
        except AssertionError:
            # Waiting for an Event that is never set can be ended by Ctrl-C.
            threading.Event().wait(run * pause_seconds)
        else:
            return run
    test()
    return TRIES


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is marked ``timed`` until it meets its seconds."""
    if pyfuncitem.get_closest_marker("timed") is None:
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    runs = runs_until_met(lambda: pyfuncitem.obj(**given))
    if runs > 1:
        pyfuncitem.user_properties.append((RUNS, runs))
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the timed tests that did not pass at once."""
    for report in terminalreporter.getreports("passed"):
        if report.when == "call" and (runs := dict(report.user_properties).get(RUNS)):
            terminalreporter.write_line(f"{report.nodeid} met its seconds in run {runs}")
