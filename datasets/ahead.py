"""Several generated data sets made by one Spark session, for jobs that need them one by one.

To start Spark takes longer than to make a small set. So the first job of a run that needs a set
makes those of the others, too, in a folder next to their destinations, and each job moves one::

    results/data/quick/.ahead/soundcloud-1f0c... --> results/data/quick/soundcloud

The name ends with a hash of all that decides the rows, so that leftovers of an interrupted run are
either needed now or removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import filelock

FOLDER = ".ahead"


class Wanted(NamedTuple):
    """A set that a run needs.

    Attributes
    ----------
    rows : int
        Number of rows to ask the generator for.
    identity : str
        Hash of all that decides the rows.
    """

    rows: int
    identity: str


def take(
    name: str,
    output: Path,
    wanted: Mapping[str, Wanted],
    make: Callable[[Mapping[str, tuple[int, Path]]], None],
) -> None:
    """Move a data set to `output`, made now or ahead by another process.

    Parameters
    ----------
    name : str
    output : Path
        The destination, which does not exist. Sets that exist next to it are not made again.
    wanted : mapping of str to Wanted
        All sets of the run by name, including `name`.
    make : callable
        Makes several sets, each so many rows into a folder that does not exist yet.
    """
    ahead = output.parent / FOLDER
    ahead.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(ahead / "lock"):
        places = {each: ahead / f"{each}-{one.identity}" for each, one in wanted.items()}
        for old in ahead.iterdir():
            if old.is_dir() and old not in places.values():
                shutil.rmtree(old)
        if not places[name].is_dir():
            others = [n for n in places if n != name and not (output.parent / n).exists()]
            missing = [name, *others]
            make({n: (wanted[n].rows, places[n]) for n in missing if not places[n].is_dir()})
        os.replace(places[name], output)
