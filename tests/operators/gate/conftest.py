"""Each test of a gate begins without marks and ends without a hook."""

from __future__ import annotations

import pytest

from operators.core import atomics, marks


@pytest.fixture(autouse=True)
def no_hook():
    marks.hits.clear()
    yield
    atomics.scheduling_hook = None
