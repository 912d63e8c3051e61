"""A dataset's requirements on recorded data, found next to the declaration and checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from datasets.call_records.suspects import announced
from datasets.formats.mapping import importable_roles
from datasets.recorded import Recorded, recorded
from operators.contract import UsageError
from tests.datasets.conftest import TOYS

ROOT = Path(__file__).resolve().parents[2]
TOY = (TOYS / "two_streams" / "tables.py").read_text()
ASKING = "from datasets.recorded import Recorded\nRECORDED = Recorded({})\n"


def test_calls_need_both_numbers_and_the_suspects_follow():
    assert recorded("calls") == Recorded(("caller", "called"), {"suspects": announced})


def test_a_dataset_that_asks_nothing_is_one_keyed_stream_or_is_not_recorded(hang_on):
    hang_on("two_streams", tables=TOY)
    for role in ("meters", "comments", "sales", "band joins"):
        assert recorded(role) == Recorded()
    assert importable_roles() == ("calls", "meters", "comments")


def test_another_table_that_follows_makes_a_role_importable(hang_on):
    # With a payload for the key, R is a keyed stream.
    keyed = TOY.replace('key="item",', 'key="item", value="ts",', 1)
    keyed = keyed.replace('rows={"quick"', 'decimals=0, rows={"quick"')
    hang_on(
        "two_streams",
        tables=keyed,
        recorded=ASKING.format("derived={'S': dict, 'items': dict}"),
    )
    assert importable_roles() == ("calls", "meters", "comments", "band joins")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("needs=('item',)", "needs 'item' of .* no column of R without a purpose; there are x, y"),
        ("needs=('ts',)", "needs 'ts' of recorded data"),
        ("needs=('z',)", "two_streams needs 'z' of recorded data, which is no column of R"),
        ("derived={'R': dict}", "derives 'R', which is no table beside .*; there are S, items"),
        ("derived={'T': dict}", "derives 'T', which is no table beside its main one"),
    ],
)
def test_what_contradicts_the_declaration_is_refused(hang_on, asked, message):
    hang_on("two_streams", tables=TOY, recorded=ASKING.format(asked))
    with pytest.raises(UsageError, match=message):
        recorded("band joins")


def test_what_a_mapping_calls_columns_by_names_nothing_else(hang_on):
    named = TOY.replace('Column("x", ', 'Column("user", ')
    hang_on("two_streams", tables=named, recorded=ASKING.format("needs=('user',)"))
    with pytest.raises(UsageError, match="needs 'user' of .*; there are y"):
        recorded("band joins")


def test_asking_needs_no_spark():
    code = (
        "import sys; from datasets.recorded import recorded; recorded('calls');"
        " print(*[m for m in sys.modules if 'spark' in m or 'py4j' in m])"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert said.strip() == ""
