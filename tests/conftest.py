"""What every test shares: how many examples are tried, and who shares a Spark session."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from datasets.session import spark_session, stop_spark

# A shell that starts the tests in the background lets them inherit an ignored Ctrl-C, and they
# hand it on to every process they start: the tests of Ctrl-C would then wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A compiled example costs microseconds and its first call seconds, so no deadline makes sense.
# An interpreted atomic costs about a hundred times a compiled one: fewer examples.
settings.register_profile("default", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("interpreted", settings.get_profile("default"), max_examples=15)
settings.register_profile("full", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Send every test that uses Spark to one worker: a second session costs seconds and memory."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session on two cores for all tests of a worker: starting Java takes seconds."""
    yield spark_session("local[2]")
    stop_spark()
