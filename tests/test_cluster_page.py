"""docs/cluster.md: the commands exist, and behave as described."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from experiments.commands.arguments import make_parser
from operators.core.sources import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line
    for kind, text in BLOCKS
    if not kind
    for line in text.replace("\\\n", "").splitlines()
    if not line.startswith("export ")
]
REAL = "head:7077"
USUAL = "spark://127.0.0.1:7077"
HERE = [line for line in COMMANDS if REAL not in line]


def test_the_page_has_ten_commands():
    assert len(COMMANDS) == 10
    assert [line.split()[0] for line in COMMANDS] == ["millrace"] * 10


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one(line):
    options = make_parser().parse_args(shlex.split(line)[1:])
    assert options.command in line


@pytest.mark.full
def test_the_commands_for_this_machine_give_the_same_bytes(tmp_path):
    (query,) = [text for kind, text in BLOCKS if kind == "yaml"]
    (tmp_path / "busy.yaml").write_text(query)
    # A free port, since the usual one may be taken, and a home without a cluster in it.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    master = USUAL

    def run(line: str) -> str:
        words = shlex.split(line.replace(USUAL, master))[1:]
        done = subprocess.run(
            [sys.executable, "-m", "experiments.cli", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    *before, down = HERE
    try:
        for line in before:
            if "cluster up" in line:
                master = json.loads(run(f"{line} --port 0 --json"))["master"]
            else:
                run(line)
    finally:
        if master != USUAL:
            run(down)
    outputs = {(tmp_path / f"{name}.parquet").read_bytes()
               for name in ("threads", "spark", "cluster")}  # fmt: skip
    assert len(outputs) == 1
    made = [(tmp_path / name / "dataset.json").read_text() for name in ("data", "data-again")]
    assert len({json.loads(text)["digest"] for text in made}) == 1


def test_what_the_page_says_of_errors_is_said():
    texts = "".join(
        (ROOT / "operators" / "running" / name).read_text()
        for name in ("cluster.py", "spark_session.py", "spark_executors.py", "spark_errors.py")
    )
    first_words = re.findall(r"^\| (?!it says)([^|]+?) \|", PAGE, re.MULTILINE)
    assert len(first_words) == 6
    known = (
        "cannot be had", "the cluster takes", "no master answers at", "gives no executor in",
        "has no module", "an executor has no program",
    )  # fmt: skip
    for said, words in zip(first_words, known, strict=True):
        assert words in said and words in texts
