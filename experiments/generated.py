"""The generated datasets of a run of the workflow, made by one Spark session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from datasets import ahead
from experiments import plan, profiles


def make_dataset(
    name: str,
    output: str | Path,
    profile: str,
    seed: int,
    generated: Iterable[str],
    master: str,
) -> None:
    """Generate a dataset of a run, together with those that other jobs of the run will need.

    Parameters
    ----------
    name : str
    output : str or Path
        The folder of the dataset, which does not exist.
    profile : str
        A profile, whose size decides the number of rows.
    seed : int
    generated : iterable of str
        Names of all datasets that the run needs; see ``datasets.ahead``.
    master : str
        Master of Spark.
    """

    def make(sets: Mapping[str, tuple[int, Path]]) -> None:
        # Loads Spark's Python side, which is not needed when the set was made ahead.
        from datasets.generate import generate_each

        generate_each(sets, seed, master)

    wanted = plan.datasets_wanted({name, *generated}, profiles.load(profile).size, seed)
    ahead.take(name, Path(output), wanted, make)
