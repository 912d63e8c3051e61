"""The modules of operators: files named by content, each made once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from operators.core.jit import INTERPRETED
from operators.core.sources import ROOT
from operators.streamcloud import generated
from operators.streamcloud.algebra import Input, Output
from operators.streamcloud.expressions import Called, Scope, expression
from operators.streamcloud.generated import Place, Writer, stored

CALLS = Output(Input("calls", {"duration": "int64", "x": "double"}))
SCOPE = Scope({"": CALLS.schema}, {"": "calls"})


def written(text="duration // 60"):
    writer = Writer("minutes", {}, [Place(CALLS, "words", "doubles", "i")])
    lines = writer.lines("columns.duration", expression("m", text, SCOPE), 0, "False")
    lines += [stored(CALLS, "duration", 0), "return True"]
    writer.function("fill(words, doubles, i, out, out_doubles, o)", lines)
    return writer.module()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(generated, "_MADE", {})
    return tmp_path / "streamcloud"


def test_a_module_lies_in_a_file_of_its_content(folder):
    first, other = written(), written("duration // 61")
    assert written() is first
    assert sorted(each.stem for each in folder.glob("*.py")) == sorted(
        [first.__name__, other.__name__]
    )
    assert sys.modules[first.__name__] is first
    file = Path(first.__file__)
    assert "value_0, fault_0 = computed_0(int(words[3, i]))" in file.read_text()
    # Otherwise it would look edited, and the kernels would not be cached.
    assert file.stat().st_mtime_ns == 0
    assert list(folder.glob("*.part")) == []


def test_a_file_that_is_there_is_taken(folder):
    name = written().__name__
    before = (folder / f"{name}.py").stat().st_ino
    generated._MADE.clear()
    written()
    assert (folder / f"{name}.py").stat().st_ino == before


def test_a_module_is_made_where_nothing_can_be_kept(tmp_path, monkeypatch):
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "a-file"))
    monkeypatch.setattr(generated, "_MADE", {})
    assert callable(written("duration // 62").fill)


def test_columns_are_read_as_what_they_are():
    place = Place(CALLS, "words", "doubles", "i")
    assert place.value("ts") == "int(words[0, i])"
    assert place.value("duration") == "int(words[3, i])"
    assert place.value("x") == "float(doubles[4, i])"
    assert place.word("x") == "int(words[4, i])"


PROGRAM = """
import json
from numba.core import event
from operators.streamcloud.algebra import Input, Map, Query
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance
calls = Input("calls", {"duration": "int64"})
query = Query("short", Map("minutes", calls, {"minutes": "duration // 60"}))
with event.install_recorder("numba:compile") as compiled:
    Instance(compile_query(query, "subquery-cluster", 1), "minutes", 0).compile()
print(json.dumps([e.data["dispatcher"].__name__ for _, e in compiled.buffer if e.is_start]))
"""


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_second_process_compiles_nothing(tmp_path):
    def names():
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, check=True, capture_output=True, text=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        return json.loads(done.stdout)

    assert "compute" in names()
    assert names() == []


def twice(value):
    return value * 2


def thrice(value):
    return value * 3


def times(factor):
    def product(value):
        return value * factor

    return product


def test_functions_of_a_user_in_one_file_are_kept_apart():
    def of(function):
        writer = Writer("m", {}, [Place(CALLS, "words", "doubles", "i")])
        call = writer.computed("columns.y", Called(function, ("duration",), "int64"))
        writer.function("f(words, i)", [f"return {call}"])
        return writer.module()

    found = [of(each) for each in (twice, thrice, times(4), times(5))]
    assert len({each.__name__ for each in found}) == 4
    words = np.array([[0], [0], [0], [7], [0]])
    assert [each.f(words, 0)[0] for each in found] == [14, 21, 28, 35]
