"""A profile: how long, how often and at which settings everything is measured.

Profiles are files of ``workflow/config``; the schema there has a sentence for each key and refuses
unknown keys. Snakemake and ``millrace plan`` read them through this module.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import fastjsonschema
import yaml

from experiments.timing.rounds import Lengths
from operators.contract import UsageError

CONFIG = Path(__file__).resolve().parents[1] / "workflow" / "config"
SCHEMA = CONFIG / "profile.schema.yaml"


@dataclass(frozen=True)
class Profile:
    """One profile; the schema describes each field.

    Attributes
    ----------
    name, title : str
    next : str or None
        The next larger profile.
    size : str
        Selects the values of each sweep, and the number of rows of each dataset.
    repetitions : int
        Processes that are started for each group.
    forks : int
        Children of each process that measure, or 1 where the process itself measures.
    closed_seconds, open_seconds : float
        Length of a closed slice and of an open run.
    closed_rounds, open_rounds : int
        Their number for each setting in each process.
    open_fraction : float
        Rate of a latency point over the variant's throughput.
    rate_fractions : tuple of float
        The same for figures with the rate on the x axis.
    probes : int
        Most open runs of a rate search; 0 for no search.
    probe_seconds : float
        Length of each of them.
    point_timeout_seconds : float
    """

    name: str
    title: str
    next: str | None
    size: str
    repetitions: int
    forks: int
    closed_seconds: float
    closed_rounds: int
    open_seconds: float
    open_rounds: int
    open_fraction: float
    rate_fractions: tuple[float, ...]
    probes: int
    probe_seconds: float
    point_timeout_seconds: float

    @property
    def lengths(self) -> Lengths:
        """The lengths and numbers of the runs."""
        return Lengths(
            self.closed_seconds,
            self.open_seconds,
            self.probe_seconds,
            self.closed_rounds,
            self.open_rounds,
            self.point_timeout_seconds,
            self.open_fraction,
        )

    @property
    def keyed(self) -> dict[str, Any]:
        """The lengths and rates: the part of the profile that a measured value depends on."""
        rates = (*self.rate_fractions, self.probes)
        return {**asdict(self.lengths), "rates": rates, "forks": self.forks}


def names() -> list[str]:
    """Return the names of all profiles."""
    found = (path.stem for path in CONFIG.glob("*.yaml"))
    return sorted(name for name in found if name != "config" and not name.endswith(".schema"))


def load(name_or_path: str | Path, repetitions: int = 0) -> Profile:
    """Return the profile of that name or file, with `repetitions` processes unless 0.

    Raises
    ------
    UsageError
        When there is no such profile, or it does not fit the schema.
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
    profile = parse(content, str(path))
    return replace(profile, repetitions=repetitions) if repetitions else profile


def of_rows(name: str, size: str) -> Profile:
    """Return the profile that rows name, or, where it is none of ours, one of their size.

    Raises
    ------
    UsageError
        When there is none of that size, either.
    """
    for other in [name, *names()]:
        if other in names() and (profile := load(other)).size == size:
            return profile
    raise UsageError(f"no profile measures the size {size!r}; profiles are: {_listed()}")


def parse(content: Any, name: str) -> Profile:
    """Return the profile with this content; `name` is for messages.

    Raises
    ------
    UsageError
        When the content does not fit the schema.
    """
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    try:
        # Not jsonschema, whose formats take a second to import, for every measured group.
        fastjsonschema.validate(schema, content)
    except fastjsonschema.JsonSchemaException as error:
        told = _one_line(error).removeprefix("data")
        colon = ": " if told.startswith(".") else ""
        raise UsageError(f"profile {name}{colon}{told.removeprefix('.')}") from None
    return Profile(**{**content, "rate_fractions": tuple(content["rate_fractions"])})


def _listed() -> str:
    return ", ".join(names()) or "none"


def _one_line(error: object) -> str:
    return " ".join(str(error).split())
