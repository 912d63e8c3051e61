"""The process of a cell: this one, or a worker's process with compiled noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from operators.core.jit import INTERPRETED
from tests.stress.scheduling import noisy_process


@pytest.fixture(scope="session")
def noisy() -> Iterator[ProcessPoolExecutor]:
    """Return a process whose kernels are compiled with noise."""
    with noisy_process() as pool:
        yield pool


@pytest.fixture
def run(request) -> Callable[..., None]:
    """Return a function that calls a function with a cell and more, in the process of the cell."""

    def run_somewhere(function: Callable, cell: tuple, *more: int) -> None:
        if cell.schedule == "noise" and not INTERPRETED:
            request.getfixturevalue("noisy").submit(function, cell, *more).result()
        else:
            function(cell, *more)

    return run_somewhere
