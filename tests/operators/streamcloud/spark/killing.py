"""Driver processes, watched and killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[4]
WAIT_SECONDS = 130.0


class Driver:
    """A process that runs a job (`driving`).

    Parameters
    ----------
    work : Path
        The folder of the job.
    given : dict
        The arguments of `driving`.
    """

    def __init__(self, work: Path, given: dict[str, Any]) -> None:
        self.work = work
        work.parent.mkdir(parents=True, exist_ok=True)
        file = work.parent / "given.json"
        file.write_text(json.dumps(given | {"work": str(work)}))
        self._said = work.parent / "said.txt"
        with open(self._said, "ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.operators.streamcloud.spark.driving", str(file)],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=ROOT,
            )  # fmt: skip

    @property
    def committed(self) -> int:
        """Number of batches that Spark has committed; notes of the first ones may be deleted."""
        found = (self.work / "checkpoint" / "commits").glob("*")
        return max((1 + int(path.name) for path in found if path.name.isdigit()), default=0)

    def wait_for_batches(self, count: int) -> None:
        """Wait until `count` more batches are committed; the driver must run until then."""
        latest, wanted = time.monotonic() + WAIT_SECONDS, self.committed + count
        while self.committed < wanted:
            status = self._process.poll()
            assert status is None, f"ended with {status} before batch {wanted}:\n{self.said}"
            assert time.monotonic() < latest, f"batch {wanted} was not in time:\n{self.said}"
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill the whole driver at once, with the Java and Python worker processes."""
        own = psutil.Process(self._process.pid)
        for each in [own, *own.children(recursive=True)]:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        self._process.wait()

    def end(self) -> None:
        """Wait for the driver's end, which must be successful."""
        status = self._process.wait(WAIT_SECONDS)
        assert status == 0, self.said

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process.poll() is None:
            self.kill()

    @property
    def said(self) -> str:
        """The driver's output."""
        return self._said.read_text(errors="replace")[-4000:]
