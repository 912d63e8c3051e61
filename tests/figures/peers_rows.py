"""Rows of operators and peers, invented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.peers import rows

PROVENANCE = {"id": "p", "cpu_model": "Intel(R) Xeon(R) Processor", "cores": 2}
PAPER = "multiway_aggregation"


def row(name: str, round: int, tps: float | None, **changed: Any) -> rows.Row:
    """Return a right row of an operator of one second; without a rate, one that failed."""
    started = (round * 100 + sum(map(ord, name))) * 10**10
    values: dict[str, Any] = {
        "paper": PAPER, "comparison": "k-OI", "title": "k-OI: counts of 243 keys",
        "about": "Peers are given the tuples in order.", "kind": rows.OPERATOR,
        "family": "aggregation", "name": name, "shown": name.upper(), "version": None,
        "form": None, "threads": 5, "cores": 2, "tuples": 400_000, "seconds": 1.0,
        "whole_tps": tps, "outputs": 10, "digest": "5eed", "oracle_digest": "5eed",
        "valid": tps is not None, "invalid_reason": None, "noisy": False, "profile": "quick",
        "size": "quick", "machine": "m", "dataset": "smart_meter", "dataset_digest": "ab",
        "provenance": "p", "repetition": 1, "round": round, "started_at": started,
        "ended_at": started + 10**9,
    }  # fmt: skip
    return rows.Row(**{**values, **changed})


def peer(name: str, shown: str, round: int, tps: float | None, **changed: Any) -> rows.Row:
    """Return a row of a peer."""
    about = {"kind": rows.PEER, "shown": shown, "version": "2.0.1", "form": "table", "threads": 2}
    return row(name, round, tps, **{**about, **changed})


def some() -> list[rows.Row]:
    """Return rows of two operators and three peers, one of which is wrong in its last round."""
    found = []
    for n, (mq, wiml, duck, polars) in enumerate(
        [(2e6, 9e6, 6e6, 7e6), (3e6, 8e6, 5e6, 7.5e6), (2.5e6, 20e6, 5.5e6, 6e6)], 1
    ):
        found += [row("mq", n, mq), row("wiml", n, wiml, noisy=n < 3)]
        found += [peer("duckdb", "DuckDB", n, duck), peer("polars", "Polars", n, polars)]
    wrong = {"digest": "bad", "valid": False, "invalid_reason": "wrong output: 9 rows"}
    return [*found, peer("spark", "Spark", 1, 40e6), peer("spark", "Spark", 2, 41e6, **wrong)]


def write_rows(file: Path) -> list[Path]:
    """Write them, and return the files."""
    return [rows.write(file, PROVENANCE, some())]
