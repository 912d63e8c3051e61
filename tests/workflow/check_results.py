"""Looks at what a run of the workflow made: `python tests/workflow/check_results.py quick`.

Every figure is there in each form and is not empty, every row is valid or says why, each figure's
points were all measured, the verdicts and the report exist. Prints what it saw, one line a figure;
each fault is a line on stderr, and the exit status is 1.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from pathlib import Path

KINDS = ("pdf", "svg", "png", "csv")


def declared_figures() -> list[tuple[str, object]]:
    """Return (paper, figure) of every figure that is declared."""
    papers = sorted(path.parent.name for path in Path("experiments").glob("*/figures.py"))
    modules = [(paper, importlib.import_module(f"experiments.{paper}.figures")) for paper in papers]
    return [(paper, figure) for paper, module in modules for figure in module.FIGURES]


def faults_of_rows(rows: list[dict], place: str) -> list[str]:
    """Return what is wrong with the rows of one figure."""
    faults = []
    for row in rows:
        if not row["valid"] and not row["invalid_reason"]:
            faults.append(f"{place}: a row of {row['variant']} is invalid and does not say why")
        if row["valid"] and (not row["digest"] or row["digest"] != row["oracle_digest"]):
            faults.append(f"{place}: a row of {row['variant']} is valid without the right digest")
    drawn = {row["variant"] for row in rows if row["valid"]}
    silent = {row["variant"] for row in rows} - drawn
    if silent:
        faults.append(f"{place}: no valid row of {', '.join(sorted(silent))}")
    return faults


def faults_of_figure(stem: Path) -> list[str]:
    """Return what is wrong with the files of one figure."""
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in KINDS]
    return [f"{file} is missing or empty" for file in files if not file_is_there(file)]


def file_is_there(file: Path) -> bool:
    """Return whether a file exists and holds something."""
    return file.is_file() and file.stat().st_size > 0


def read_rows(files: list[Path]) -> list[dict]:
    """Return the rows of raw files, without their provenance."""
    contents = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [content for content in contents if "provenance" not in content or "figure" in content]


def check(label: str, results: Path) -> list[str]:
    """Return every fault of the results of one run, and print what was seen."""
    faults = []
    for paper, figure in declared_figures():
        files = sorted((results / "raw" / label / paper / figure.id).glob("repetition-*.jsonl"))
        rows = read_rows(files)
        if not rows:
            faults.append(f"{paper} {figure.id}: nothing was measured")
        faults += faults_of_rows(rows, f"{paper} {figure.id}")
        stem = results / "figures" / paper / figure.id
        faults += faults_of_figure(stem)
        if figure.extended_variants:
            faults += faults_of_figure(stem.with_name(f"{figure.id}_extended"))
        invalid = Counter(row["invalid_reason"] for row in rows if not row["valid"])
        seen = f"{len(rows)} rows" + "".join(f"; {n} invalid: {why}" for why, n in invalid.items())
        print(f"{paper} {figure.id}: {seen}")
    made = ["claims.json", "audit.json", "report.html"]
    made += [f"notebooks/{path.name}" for path in Path("notebooks").glob("*.ipynb")]
    return faults + [f"{name} is missing" for name in made if not file_is_there(results / name)]


if __name__ == "__main__":
    sys.path.insert(0, "")
    found = check(sys.argv[1], Path("results"))
    print("\n".join(found), file=sys.stderr)
    sys.exit(1 if found else 0)
