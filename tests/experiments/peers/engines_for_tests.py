"""Writes peers that misbehave into a folder that is laid over the house from outside."""

from __future__ import annotations

from pathlib import Path

PEER = '''
"""A peer of a test."""
import json
import os
import time
from dataclasses import replace

from experiments.peers.engines.arrow import PEER as ARROW


def count_windows(tables, settings, threads):
    right = ARROW.work["windowed_counts"](tables, settings, threads)
    runs = []

    def run():
        runs.append(None)
        output = right()()
        {fault}
        return lambda: output

    return run


PEER = replace(ARROW, id={id!r}, title={title!r}, work={{"windowed_counts": count_windows}})
'''
# The two runs before the first that counts are right, and so is the first that counts.
FAULTS = {
    "wrong": "output = output.slice(1) if len(runs) > 3 else output",
    "raising": "if len(runs) > 3: raise ValueError('no more\\nof this')",
    "dying": "if len(runs) > 2: os._exit(3)",
    "sleeping": "time.sleep(60 if len(runs) > 2 else 0)",
    "unable": "raise MemoryError('too little')",
    "talking": "print('hello from the engine')",
}


def write(folder: Path, *names: str) -> Path:
    """Write peers of these faults, and return the folder that goes on Python's path."""
    engines = folder / "experiments" / "peers" / "engines"
    engines.mkdir(parents=True)
    for name in names:
        text = PEER.format(fault=FAULTS[name], id=name, title=name.capitalize())
        (engines / f"{name}.py").write_text(text, encoding="utf-8")
    for package in (engines.parents[1], engines.parent, engines):
        (package / "__init__.py").touch()
    return folder
