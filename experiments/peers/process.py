"""A peer's process as its parent sees it: started, asked for runs, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.peers import worker
from experiments.peers.catalog import Peer, Work
from operators.core.sources import ROOT

END_SECONDS = 20.0
# Starting Java, importing an engine, and the runs before the first that counts.
READY_SECONDS = 300.0


class PeerFailed(Exception):
    """A peer gave no result: it raised, ended, or took too long. The message is one line."""


class PeerProcess:
    """A running process of a peer, with the input in its memory.

    Attributes
    ----------
    version : str
        Of the engine.
    """

    def __init__(self, child: subprocess.Popen[str], folder: Path, errors: Path) -> None:
        self._child, self._folder, self._errors = child, folder, errors
        self.version = str(self._answer("ready", READY_SECONDS))

    def run(self, limit_seconds: float) -> float:
        """Run once and return the seconds of the query; the output is read with ``output``.

        Raises
        ------
        PeerFailed
            When the engine raised, its process ended, or no answer came within the limit.
        """
        try:
            self._child.stdin.write("run\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise PeerFailed(self._how_it_ended()) from None
        return float(self._answer("seconds", limit_seconds))

    def output(self) -> pa.Table:
        """Return the output of the last run."""
        return worker.read_table(self._folder / worker.OUTPUT)

    def _answer(self, name: str, limit_seconds: float) -> Any:
        begin = time.monotonic()
        # A line is written whole, so that what can be read begins one.
        while not select.select([self._child.stdout], [], [], 0.5)[0]:
            if time.monotonic() - begin > limit_seconds:
                # It would go on computing while others are timed.
                self._child.kill()
                self._child.wait()
                raise PeerFailed(f"no answer within {limit_seconds:g} s")
        line = self._child.stdout.readline()
        if not line:
            raise PeerFailed(self._how_it_ended())
        answer = json.loads(line)
        if "error" in answer:
            raise PeerFailed(str(answer["error"]))
        return answer[name]

    def _how_it_ended(self) -> str:
        status = self._child.wait(END_SECONDS)
        told = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"its process ended with status {status}: {told[-1] if told else 'it said nothing'}"


@contextlib.contextmanager
def started(peer: Peer, name: str, work: Work, threads: int) -> Iterator[PeerProcess]:
    """Start a peer's process for some work; it is ended with the context.

    Parameters
    ----------
    peer : Peer
    name : str
        Name of the work, a module of ``experiments.peers.works``.
    work : Work
    threads : int

    Raises
    ------
    PeerFailed
        When it cannot do the work at all.
    """
    with tempfile.TemporaryDirectory(prefix="millrace-peer-") as made:
        folder = Path(made, "given")
        folder.mkdir()
        errors = Path(made, "errors")
        settings = json.dumps(dict(work.settings))
        (folder / "settings.json").write_text(settings, encoding="utf-8")
        for table, rows in work.tables.items():
            worker.write_table(rows, folder / f"{table}.arrow")
        own = {key: text.format(threads=threads) for key, text in peer.environment.items()}
        with open(errors, "wb") as said:
            child = subprocess.Popen(
                [sys.executable, "-m", worker.__name__, peer.id, name, str(folder), str(threads)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, cwd=ROOT,
                env={**os.environ, **own},
                # Ctrl-C is the parent's: it ends the child.
                start_new_session=True,
            )  # fmt: skip
        try:
            yield PeerProcess(child, folder, errors)
        finally:
            _end(child)


def _end(child: subprocess.Popen[str]) -> None:
    """End a process: it ends by itself with its input, unless a query still runs."""
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()
    for end in (lambda: None, child.terminate, child.kill):
        end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(END_SECONDS)
            break
    child.stdout.close()
