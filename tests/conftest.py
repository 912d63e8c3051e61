"""What every test shares: how many examples are tried, and who shares a Spark session."""

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
from operators.running.spark_session import spark_session, stop_spark
from tests import covering
from tests.changes import cutting
from tests.generating import Generated, make

# A shell that starts the tests in the background lets them inherit an ignored Ctrl-C, and they
# hand it on to every process they start: the tests of Ctrl-C would then wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The other worker is always at work: no use to wait until the machine is quiet.
os.environ.setdefault("MILLRACE_PATIENCE", "0")

# Interpreted, who waits for another thread waits for a whole turn of its own, five milliseconds by
# default. In shorter ones more meets, and tests of threads that share locks take 3 s, not 160.
if INTERPRETED:
    sys.setswitchinterval(2e-4)

# A test's Java lives for seconds, on cores that the other worker wants too: with its first compiler
# and one thread of garbage collection tests of two datasets take 112 s of processor time, 168 else.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# To look for cycles while modules are imported and kernels compiled took 5 of 75 s of processor
# time; this seldom it takes 3, and a worker has 140 MB more.
gc.set_threshold(1_000_000, 20, 100)

# A compiled example costs microseconds and its first call seconds, so no deadline makes sense.
# An interpreted atomic costs about a hundred times a compiled one: fewer examples.
settings.register_profile("default", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("interpreted", settings.get_profile("default"), max_examples=15)
settings.register_profile("full", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take what ``make test-changed`` has selected."""
    parser.addoption("--selection", help="a file with the tests that a change can reach")


def pytest_configure(config: pytest.Config) -> None:
    """Tell tests that take several values at once whether they are to take all of them."""
    covering.FULL = not config.getoption("markexpr")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Send every test that uses Spark to one worker: a second session costs seconds and memory."""
    if file := config.getoption("selection"):
        unreached = set(map(id, cutting.unreached(items, Path(file))))
        config.hook.pytest_deselected(items=[each for each in items if id(each) in unreached])
        items[:] = [each for each in items if id(each) not in unreached]
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
    yield
    if config.getoption("loadgroup", default=False):
        for item in items:
            name_group(item)


def pytest_collection_finish() -> None:
    """Leave what stays anyway, modules and tests, out of what the cycle collector looks through."""
    gc.collect()
    gc.freeze()


def name_group(item: pytest.Item) -> None:
    """Append a test's group to its id, by which pytest-xdist deals the tests out to workers.

    pytest-xdist 3.8 sets an attribute that pytest 9.2 does not read any more
    (https://github.com/pytest-dev/pytest-xdist/issues/1386); a mended one leaves nothing to do.
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
def generated(spark, tmp_path_factory) -> Callable[[str], Generated]:
    """Return what makes a small set of a dataset, once for all tests."""
    root = tmp_path_factory.mktemp("generated")
    return cache(lambda name: make(name, root))
