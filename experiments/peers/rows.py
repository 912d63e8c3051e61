"""What is recorded of a run beside peers: one JSON object a line, below the provenance.

The files lie in ``<set>/peers/<paper>/<key>/repetition-<n>.jsonl``, apart from the raw results of
the operators' figures: a run that names no peer reads none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from experiments.records.audit import overlaps
from experiments.records.columns import CLOSED
from experiments.records.files import write_file
from operators.contract import UsageError

OPERATOR, PEER = "operator", "peer"


@dataclass(frozen=True)
class Row:
    """One run of an operator or a peer; what is unknown is None.

    Attributes
    ----------
    paper, comparison : str
        What was compared, see ``catalog.Comparison``.
    title : str
        Of the comparison.
    about : str
        What differs between operators and peers in this work besides.
    kind : str
        ``OPERATOR`` or ``PEER``: what ``whole_tps`` is.
    family, name : str
        Of the operators compared; a series, or a peer's id.
    shown : str
        The name in figures.
    version : str or None
        Of a peer's engine.
    form : str or None
        What a peer's query ends with.
    threads, cores : int
    tuples : int
        Input tuples, each once.
    seconds : float or None
        Of an operator from all threads ready to the last output, of a peer's query alone.
    whole_tps : float or None
        Tuples over seconds, tuples/s.
    outputs : int or None
        Rows put out.
    digest, oracle_digest : str or None
        Hexadecimal.
    valid : bool
        Whether the output was the oracle's.
    invalid_reason : str or None
    noisy : bool
        Whether the machine was not ours alone.
    profile, size, machine, dataset, dataset_digest, provenance : str
        As in ``experiments.records.columns``.
    repetition, round : int
    started_at, ended_at : int
        Wall clock, ns since 1970.
    """

    paper: str
    comparison: str
    title: str
    about: str
    kind: str
    family: str
    name: str
    shown: str
    version: str | None
    form: str | None
    threads: int
    cores: int
    tuples: int
    seconds: float | None
    whole_tps: float | None
    outputs: int | None
    digest: str | None
    oracle_digest: str | None
    valid: bool
    invalid_reason: str | None
    noisy: bool
    profile: str
    size: str
    machine: str
    dataset: str | None
    dataset_digest: str | None
    provenance: str
    repetition: int
    round: int
    started_at: int
    ended_at: int

    def __post_init__(self) -> None:
        """Refuse a row that is called right and is not, or has a value of another type."""
        for name, kind in _types().items():
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"not a row: {name} is {getattr(self, name)!r}")
        wrong = self.digest != self.oracle_digest or self.whole_tps is None
        if self.kind not in (OPERATOR, PEER) or (self.valid and wrong):
            raise ValueError(f"not a row: {self}")


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Row)


def write(output: str | Path, provenance: Mapping[str, Any], rows: Iterable[Row]) -> Path:
    """Write the rows of one process, and return the path."""
    lines = [{"provenance": dict(provenance)}, *map(asdict, rows)]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    return write_file(output, text.encode())


def read(files: Iterable[str | Path]) -> tuple[list[Row], dict[str, Mapping[str, Any]]]:
    """Return the rows of some files, and their provenances by id.

    Raises
    ------
    UsageError
        When a file is damaged or of another version, or two runs overlapped in time.
    """
    rows: list[Row] = []
    provenances: dict[str, Mapping[str, Any]] = {}
    for file in map(Path, files):
        try:
            first, *others = map(json.loads, file.read_text(encoding="utf-8").splitlines())
            provenances[first["provenance"]["id"]] = first["provenance"]
            rows += [Row(**each) for each in others]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{file} is not a whole file of rows of peers ({type(error).__name__}): remove it"
                " and measure again"
            ) from None
    if found := overlaps({**asdict(row), "phase": CLOSED} for row in rows):
        first, second = (f"{row['name']} of {row['comparison']}" for row in found[0])
        raise UsageError(f"{second} began before {first} had ended: remove the rows of both")
    return rows, provenances
