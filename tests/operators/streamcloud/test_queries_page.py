"""docs/queries.md: the page's query gives the printed output and the printed refusals."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq

from experiments.cli import main
from operators.streamcloud.expressions import AGGREGATES
from operators.streamcloud.schema import TYPES
from operators.streamcloud.yaml_form import _FORMS
from tests.covering import interpreted_is_enough

PAGE = (Path(__file__).parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ERRORS = Path(__file__).parent / "errors"


def blocks(kind):
    return [text for each, text in BLOCKS if each == kind]


@interpreted_is_enough
def test_the_query_of_the_page_puts_out_what_it_says(tmp_path, monkeypatch):
    calls, expected = blocks("csv")
    (query,), command = blocks("yaml"), blocks("")[0].replace("\\\n", "")
    monkeypatch.chdir(tmp_path)
    Path("calls.csv").write_text(calls)
    Path("busy.yaml").write_text(query)
    assert main(shlex.split(command)[1:]) == 0
    found = pq.read_table("busy.parquet").to_pylist()
    assert [{name: str(value) for name, value in row.items()} for row in found] == list(
        csv.DictReader(expected.splitlines())
    )
    assert pq.read_table("short.parquet").column("seconds").to_pylist() == [30]


def test_what_the_page_refuses_is_refused_so():
    refused = {path.read_text(encoding="utf-8").partition("\n")[0] for path in ERRORS.glob("*")}
    told = blocks("")[1].splitlines()
    assert len(told) > 5 and {f"# {line}" for line in told} <= refused


def test_the_page_has_every_operator_function_and_type():
    table = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    kinds = {name: set(re.findall(r"`(\w+)`", keys)) for name, keys in table if name in _FORMS}
    assert set(kinds) == set(_FORMS)
    for name, form in _FORMS.items():
        told = kinds[name] if name != "product" else kinds["join"] - {"on", "method"}
        assert told == set(form.keys), name
    assert all(f"`{each}" in PAGE for each in (*AGGREGATES, *TYPES))
