"""A profile: how long, how often and at which settings everything is measured.

Profiles are files of ``workflow/config``; their schema there has a sentence for each key and
refuses a key that it does not know. Snakemake and ``millrace plan`` read them through this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastjsonschema
import yaml

from operators.contract import UsageError

CONFIG = Path(__file__).resolve().parents[2] / "workflow" / "config"
SCHEMA = CONFIG / "profile.schema.yaml"


@dataclass(frozen=True)
class Profile:
    """One profile; the schema describes each field.

    Attributes
    ----------
    name, title : str
    next : str or None
        The profile that gives more than this one.
    coarse : bool
        Whether its points are marked coarse.
    rows : mapping of str to int
        Rows of each generated dataset.
    repetitions : int
        Processes that each measure a figure once.
    closed_seconds, open_seconds : float
        Length of a closed and of an open run.
    open_fraction : float
        Rate of a latency point over the variant's throughput.
    rate_fractions : tuple of float
        The same for figures with the rate on their x axis.
    probes : int
        Most open runs of a rate search; 0 for no search.
    probe_seconds : float
        Length of each of them.
    inputs : tuple of int
        Numbers of streams of figures with the inputs on their x axis.
    extended_inputs : tuple of int
        Those of them at which the series of the ``_extended`` form alone are measured.
    update_threads : tuple of int
        Numbers of update threads of figures with these on their x axis.
    ahead : int
        Most tuples in flight per input.
    point_timeout_seconds : float
    """

    name: str
    title: str
    next: str | None
    coarse: bool
    rows: Mapping[str, int]
    repetitions: int
    closed_seconds: float
    open_seconds: float
    open_fraction: float
    rate_fractions: tuple[float, ...]
    probes: int
    probe_seconds: float
    inputs: tuple[int, ...]
    extended_inputs: tuple[int, ...]
    update_threads: tuple[int, ...]
    ahead: int
    point_timeout_seconds: float


def names() -> list[str]:
    """Return the names of the profiles there are."""
    return sorted(p.stem for p in CONFIG.glob("*.yaml") if not p.stem.endswith(".schema"))


def load(name_or_path: str | Path) -> Profile:
    """Return the profile of that name, or of that file.

    Raises
    ------
    UsageError
        When there is no such profile, or it does not fit its schema.
    """
    path = Path(name_or_path)
    if path.suffix != ".yaml":
        path = CONFIG / f"{name_or_path}.yaml"
    if not path.is_file():
        raise UsageError(f"unknown profile {str(name_or_path)!r}; profiles are: {_listed()}")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise UsageError(f"profile {path} is not YAML: {_one_line(error)}") from None
    return parse(content, str(path))


def parse(content: Any, name: str) -> Profile:
    """Return the profile with this content; `name` is for messages.

    Raises
    ------
    UsageError
        When the content does not fit the schema.
    """
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    try:
        # Not jsonschema, whose formats take a second to import: every measured figure would pay.
        fastjsonschema.validate(schema, content)
    except fastjsonschema.JsonSchemaException as error:
        told = _one_line(error).removeprefix("data")
        colon = ": " if told.startswith(".") else ""
        raise UsageError(f"profile {name}{colon}{told.removeprefix('.')}") from None
    listed = ("inputs", "extended_inputs", "update_threads", "rate_fractions")
    return Profile(**{k: tuple(v) if k in listed else v for k, v in content.items()})


def _listed() -> str:
    return ", ".join(names()) or "none"


def _one_line(error: object) -> str:
    return " ".join(str(error).split())
