"""How long drawing takes: all figures from an archive alone, and the pages of all of its papers.

The archive is that of ``docs/sixteen-cores``, of four papers; nothing else of it is on the machine.
Both are commands of two jobs at a time, from their start to their end. Other programs lengthen
them, so that the limits are held against the processor time, shared by two cores; both are printed.

Every run of the tests only plans the figures, which shows that the benchmark works. For the numbers
of ``docs/method.md``, run::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_from_archive.py
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from experiments.cli import main
from experiments.records import results

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real"
ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "docs" / "sixteen-cores" / "raw.tar.xz"
PAPERS = ("multiway_aggregation", "ordered_processing", "pim_tree", "scalejoin")
CORES = 2
MOST_SECONDS = {"figures": 120.0, "pages": 20.0}


def drawn(folder: Path, *arguments: str) -> tuple[str, float, float]:
    """Run the workflow; return its output, and the seconds of wall clock and processors."""
    # As `make plots` calls it, and in a folder of its own.
    command = [
        str(Path(sys.executable).with_name("snakemake")), "--snakefile", str(ROOT / "Snakefile"),
        "--directory", str(folder), "--cores", str(CORES), *arguments,
        "--config", "profile=paper", "label=archived", "measure=False",
    ]  # fmt: skip
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr[-2_000:]
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, wall, used


def test_figures_and_pages_from_an_archive_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    assert main(["import", str(ARCHIVE), "--label", "archived"]) == 0
    folder = results.root() / "archived"
    if not REAL:
        said, _, _ = drawn(tmp_path, "plots", "--dry-run")
        assert all(f"Writing the page of {paper}" in said for paper in PAPERS)
        return
    found = {
        "figures": drawn(tmp_path, "plots"),
        "pages": drawn(tmp_path, "results/report.html", "--forcerun", "page", "report", "front"),
    }
    assert all((folder / f"{paper}.html").stat().st_size > 100_000 for paper in PAPERS)
    for what, (_, wall, used) in found.items():
        print(f"{what}: {wall:.1f} s, {used:.1f} s of processors, load {os.getloadavg()[0]:.1f}")
        assert used / CORES < MOST_SECONDS[what]
