"""The proof that no two timed runs shared the machine: the recorded intervals are disjoint.

The workflow gives each timed job the whole machine, and the runner also holds a lock. This check
trusts neither: it reads when each run began and ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.records import results
from experiments.records.columns import SUSTAINED
from experiments.records.files import write_file
from operators.contract import UsageError


def overlaps(
    rows: Iterable[Mapping[str, Any]],
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the pairs of rows whose runs overlapped in time.

    Parameters
    ----------
    rows : iterable of mapping
        Raw results, in any order.

    Returns
    -------
    list of pair
        Each row that began before an earlier one had ended, after the earlier one that ended last.

    Examples
    --------
    >>> first = {"phase": "closed", "started_at": 0, "ended_at": 5}
    >>> second = {"phase": "open", "started_at": 5, "ended_at": 9}
    >>> overlaps([second, first])
    []
    >>> len(overlaps([first, {**second, "started_at": 4}]))
    1
    """
    # The outcome of a rate search spans its probes, which have separate rows.
    timed = (row for row in rows if row["phase"] != SUSTAINED)
    found = []
    last: Mapping[str, Any] | None = None
    for row in sorted(timed, key=lambda row: (row["started_at"], row["ended_at"])):
        if last is not None and row["started_at"] < last["ended_at"]:
            found.append((last, row))
        if last is None or row["ended_at"] > last["ended_at"]:
            last = row
    return found


def audit(raw_files: Iterable[str | Path], output: str | Path) -> dict[str, Any]:
    """Check the rows of `raw_files` and write the number of checked rows to `output`.

    Returns
    -------
    dict
        The written content: the checked ``files`` and ``runs``, and ``overlaps`` (0).

    Raises
    ------
    UsageError
        When two runs overlapped, or files are of different machines; the message names both.
        Nothing is written.
    """
    files = [Path(file) for file in raw_files]
    # One by one: the files are of all papers, and two papers may have measured the same setting.
    # Duplicates within a paper are found when the judge and the figures read the files.
    rows = [row for file in files for row in results.read(file).rows]
    # Wall clocks of two machines say nothing about each other.
    results.one_machine(results.Raw(rows))
    found = overlaps(rows)
    if found:
        first, second = (_named(row) for row in found[0])
        raise UsageError(
            f"{len(found)} timed runs overlapped another, the first: {second} began before"
            f" {first} had ended; remove the raw results of both and measure again"
        )
    told = {"files": len(files), "runs": len(rows), "overlaps": 0}
    write_file(output, f"{json.dumps(told)}\n".encode())
    return told


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['group']} repetition {row['repetition']}: {row['variant']} ({row['phase']})"
