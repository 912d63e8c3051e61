"""Settings shared by all tests: the number of examples, switch interval, and Spark sessions."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from operators.core.jit import INTERPRETED
from operators.running.cluster import LoopbackCluster, Size
from operators.running.spark_session import spark_session, stop_spark
from tests import covering, emptied
from tests.changes import cutting
from tests.generating import Generated, make
from tests.timed import pytest_pyfunc_call as pytest_pyfunc_call
from tests.timed import pytest_terminal_summary as pytest_terminal_summary

# Modules in which no test was found.
without_tests: list[Path] = []

# A shell that starts the tests in the background makes them inherit an ignored Ctrl-C, and they
# pass it on to every process they start: the tests of Ctrl-C would then wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The other worker is always busy: waiting for a quiet machine is useless.
os.environ.setdefault("MILLRACE_PATIENCE", "0")

# Show faults as they are, here and in processes that tests start (experiments/faults.py).
os.environ.setdefault("MILLRACE_TRACEBACK", "1")

# Interpreted, a thread that waits for another one waits for a whole time slice, five milliseconds
# by default. Shorter slices interleave more; tests of threads that share locks take 3 s, not 160.
if INTERPRETED:
    sys.setswitchinterval(2e-4)

# The cycle collector took 5 of 75 s of processor time while modules were imported and kernels
# compiled; with this threshold it takes 3, and a worker needs 140 MB more.
gc.set_threshold(1_000_000, 20, 100)

# A compiled example costs microseconds and its first call seconds, so no deadline makes sense.
# An interpreted atomic costs about a hundred times a compiled one: fewer examples.
settings.register_profile("default", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("interpreted", settings.get_profile("default"), max_examples=15)
settings.register_profile("full", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option through which ``make test-changed`` passes a selection."""
    parser.addoption("--selection", help="a file with the tests that a change can reach")


def pytest_configure(config: pytest.Config) -> None:
    """Tell tests that take several values at once whether they are to take all of them."""
    covering.FULL = not config.getoption("markexpr")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Send all tests that use Spark, or the cluster, to one worker each: a second costs seconds."""
    before = list(items)
    if file := config.getoption("selection"):
        unreached = set(map(id, cutting.unreached(items, Path(file))))
        config.hook.pytest_deselected(items=[each for each in items if id(each) in unreached])
        items[:] = [each for each in items if id(each) not in unreached]
    for item in items:
        for shared in {"spark", "cluster"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(shared))
    yield
    if _takes_whole_modules(config):
        for name in emptied.empty_modules(before, items, without_tests, INTERPRETED):
            items.append(emptied.NoTest.from_parent(session, name=name))
    if config.getoption("loadgroup", default=False):
        for item in items:
            name_group(item)


def _takes_whole_modules(config: pytest.Config) -> bool:
    """Return whether the run was asked for modules, and not for a choice of their tests."""
    chosen = (config.getoption(name, default=None) for name in ("keyword", "selection", "lf"))
    usual = config.getoption("markexpr") in ("", "not full")
    return usual and not any(chosen) and not any("::" in each for each in config.args)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note modules in which no test is found, or which skip themselves."""
    if report.nodeid.endswith(".py") and not report.failed and not report.result:
        without_tests.append(emptied.ROOT / report.nodeid)


def pytest_collection_finish() -> None:
    """Exclude permanent objects, such as modules and tests, from the cycle collector."""
    gc.collect()
    gc.freeze()


def name_group(item: pytest.Item) -> None:
    """Append a test's group to its id, by which pytest-xdist distributes the tests to workers.

    pytest-xdist 3.8 sets an attribute that pytest 9.2 no longer reads
    (https://github.com/pytest-dev/pytest-xdist/issues/1386); a fixed release leaves nothing to do.
    """
    groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
    suffix = "@" + "_".join(groups)
    if groups and not item.nodeid.endswith(suffix):
        item._id = type(item.id).parse(item.nodeid + suffix)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session on two cores for all tests of a worker: starting Java takes seconds."""
    yield spark_session("local[2]", brief=True)
    stop_spark()


@pytest.fixture(scope="session")
def cluster() -> Iterator[LoopbackCluster]:
    """A cluster of two workers. A driver on it needs a new process: this one has a session."""
    with LoopbackCluster(Size(workers=2, cores=1, memory="1g")) as started:
        yield started


@pytest.fixture(scope="session")
def generated(spark, tmp_path_factory) -> Callable[[str], Generated]:
    """Return a function that makes a small set of a data set, once for all tests."""
    root = tmp_path_factory.mktemp("generated")
    return cache(lambda name: make(name, root))
