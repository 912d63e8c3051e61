"""The toy family and the toy paper of CONTRIBUTING.md, written to a separate folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import snakemaking

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
_FILE = re.compile(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROFILE = """
name: tiny
title: a toy, in no time
next: null
size: quick
repetitions: 1
forks: 1
closed_seconds: 0.02
closed_rounds: 2
open_seconds: 0.02
open_rounds: 1
open_fraction: 0.7
rate_fractions: [0.7]
probes: 0
probe_seconds: 0.02
point_timeout_seconds: 30
"""


def write_toys(folder: Path) -> list[Path]:
    """Write every file that the page shows below `folder`, and a tiny profile; name the files."""
    written = []
    for name, content in _FILE.findall(PAGE.read_text(encoding="utf-8")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        written.append(path)
    (folder / "tiny.yaml").write_text(PROFILE, encoding="utf-8")
    return written


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process that finds the toys in `folder`."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "MILLRACE_LOCK": str(folder / "lock"),
    }


def snakemake(
    folder: Path, *arguments: str, papers: str = "toy_paper", **config: str
) -> subprocess.CompletedProcess[str]:
    """Run the workflow on toy papers, with results below `folder`."""
    given = {"paper": papers, "profile": str(folder / "tiny.yaml")} | config
    command = [
        "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder), "--cores", "2",
        *arguments, "--config", *(f"{name}={value}" for name, value in given.items()),
    ]  # fmt: skip
    return snakemaking.run(command, ROOT, environment(folder))


def millrace(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command so that it finds the toys."""
    command = [sys.executable, "-m", "experiments.cli", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=250
    )
