"""The process of a peer: it loads the input into the engine's memory, and runs when it is told to.

``python -m experiments.peers.worker PEER WORK FOLDER THREADS`` reads ``FOLDER/settings.json`` and a
table from each ``FOLDER/<name>.arrow``. Each line on its standard input asks for a run, and each
answer is one line of JSON: first ``{"ready": version}``, then ``{"seconds": ...}`` after each run,
whose output is in ``FOLDER/output.arrow``; or ``{"error": ...}``, after which the process ends.
The clock covers the query alone. The end of the input ends the process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from experiments.peers import catalog
from operators.running.interrupts import interrupts_kept

OUTPUT = "output.arrow"
# Runs before the first that counts: compilers of the engine, caches, allocators.
WARM_UPS = 2


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table to a file."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_table(path: Path) -> pa.Table:
    """Read a table into memory."""
    return pa.ipc.open_file(pa.BufferReader(path.read_bytes())).read_all()


def serve(peer: catalog.Peer, work: str, folder: Path, threads: int, answers: TextIO) -> None:
    """Prepare the work and answer requests until the input ends."""

    def say(**answer: object) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        tables = {
            file.stem: read_table(file) for file in folder.glob("*.arrow") if file.name != OUTPUT
        }
        run = peer.work[work](tables, settings, threads)
        for _ in range(WARM_UPS):
            run()
        say(ready=peer.version)
        for _ in sys.stdin:
            begin = time.perf_counter_ns()
            output = run()
            seconds = (time.perf_counter_ns() - begin) / 1e9
            write_table(output(), folder / OUTPUT)
            say(seconds=seconds)
    except Exception as error:
        # Whatever the engine raises is the answer to the parent, which records a failed run.
        say(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
        raise


def main() -> None:
    """Serve the arguments of the command line."""
    name, work, folder, threads = sys.argv[1:]
    # An engine may print: the answers have a file of their own, and whatever else is printed goes
    # to the standard error.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, interrupts_kept():
        os.dup2(2, 1)
        serve(catalog.peer(name), work, Path(folder), int(threads), answers)


if __name__ == "__main__":
    main()
