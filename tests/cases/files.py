"""Cases of realistic files: a command, the messages it must print, and the rows that it writes.

The kinds of files are taken from bug reports of other tools in this field. No file may silently
give wrong or empty output: it is read as intended, or stderr says how it was interpreted, or it is
refused in one line that names the received value, the limit and the remedy. A new case is a row of
a table in one of the tests in this folder.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from tests.covering import interpreted_is_enough

# Expansions of the first word of a case's command; other words are arguments as they are.
COMMANDS = {
    "agg": "replay aggregation mq --time t --key k --value v --function sum --window-size 10"
    " --window-advance 10",
    "q1": "replay pipeline q1 --workers 1",
    "q3": "replay pipeline q3 --workers 1 --input clicks.csv",
    "q4": "replay pipeline q4 --workers 1 --input clicks.csv",
    "q15": "replay pipeline q15 --workers 1",
    "pim": "replay join pim-tree --key x --window-count 5",
    "theta": "replay join sequential --r far.csv --s far.csv --window 5 --band x:x:9",
}


class Case(NamedTuple):
    """A command with the files it names, words that stderr must have, and the rows written.

    Without rows, the command must be refused: in one line, with status 2 and without a file.
    `lines` is the number of lines on stderr; the last one gives the number of rows written.
    """

    command: str
    says: tuple[str, ...] = ()
    rows: tuple | None = None
    lines: int = 1


def values(*rows: str) -> str:
    """Return a CSV file of times, keys and values."""
    return "t,k,v\n" + "\n".join(rows) + "\n"


def written(
    folder: Path, texts: Mapping[str, str | bytes], tables: Mapping[str, dict[str, Any]]
) -> Path:
    """Write files of text and of Parquet into a folder, and return it."""
    for name, content in texts.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / name)
    return folder


def check(case: Case, inputs: Path, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the command of a case over the inputs, with outputs in the folder `own`."""
    known = {each.name for each in inputs.iterdir()}
    short, *rest = case.command.split(maxsplit=1)
    words = shlex.split(" ".join((COMMANDS.get(short, short), *rest)))
    argv = [str(inputs / word) if word in known else word for word in words]
    argv = [str(own / word) if word == "aside.csv" else word for word in argv]
    output = own / "out.parquet"
    status = main([*argv, "--output", str(output)])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == case.lines, printed.err
    for word in case.says:
        assert word in printed.err, printed.err
    if case.rows is None:
        assert (status, list(own.iterdir())) == (2, []), printed.err
        return
    assert status == 0, printed.err
    rows = [tuple(row.values()) for row in pq.read_table(output).to_pylist()]
    assert rows == list(case.rows), printed.err
    # The printed number of rows is that of the file.
    assert f"millrace: {len(rows)} " in printed.err


def inputs_of(texts: Mapping[str, str | bytes], tables: Mapping[str, dict[str, Any]]) -> Callable:
    """Return the fixture `inputs` of a module: a folder with these files."""

    @pytest.fixture(scope="module")
    def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return written(tmp_path_factory.mktemp("inputs"), texts, tables)

    return inputs


def trying(cases: Mapping[str, Case]) -> Callable:
    """Return the test of a module that tries each case over the inputs."""

    @interpreted_is_enough
    @pytest.mark.parametrize("name", cases)
    def test(name: str, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        check(cases[name], inputs, tmp_path, capsys)

    return test
