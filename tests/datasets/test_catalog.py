"""The catalog: it finds declarations in any folder, and refuses those that do not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from datasets import catalog
from datasets.formats.mapping import read_mapping
from operators.contract import UsageError
from tests.datasets.conftest import TOYS

ROOT = Path(__file__).resolve().parents[2]
SMART_METER = (ROOT / "datasets" / "smart_meter" / "tables.py").read_text()
TOY = (TOYS / "two_streams" / "tables.py").read_text()


def test_the_paper_s_datasets_are_found_by_name_and_by_role():
    names = [declared.name for declared in catalog.datasets()]
    assert names == sorted(names)
    assert {"smart_meter", "soundcloud"} <= set(names)
    assert catalog.dataset("soundcloud").main.text == "text"
    assert [declared.name for declared in catalog.of_role("meters")] == ["smart_meter"]
    assert catalog.generated_for("comments") == "soundcloud"
    assert {"meters", "comments"} <= set(catalog.roles())


def test_what_is_unknown_is_refused_with_what_there_is():
    with pytest.raises(UsageError, match="no data set is called 'x'; there are band_join_keys, c"):
        catalog.dataset("x")
    with pytest.raises(UsageError, match="no data set has the role 'x'; there are keys, calls, s"):
        catalog.generated_for("x")


def test_every_profile_has_its_rows_in_each_declaration():
    found = {path.stem for path in (ROOT / "workflow" / "config").glob("*.yaml")}
    profiles = {name for name in found if not name.endswith(".schema") and name != "config"}
    assert profiles
    assert all(profiles <= declared.rows.keys() for declared in catalog.datasets())


def test_a_folder_on_the_path_of_python_brings_a_dataset_without_spark(tmp_path):
    folder = tmp_path / "datasets" / "two_streams"
    folder.mkdir(parents=True)
    (folder / "tables.py").write_text(TOY)
    code = (
        "import sys; from datasets import catalog;"
        " print(*[d.name for d in catalog.datasets()], catalog.generated_for('band joins'));"
        " print(*[m for m in sys.modules if 'spark' in m or 'py4j' in m])"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    said = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    names, modules = said.splitlines()
    found = [declared.name for declared in catalog.datasets()]
    assert names.split() == [*sorted([*found, "two_streams"]), "two_streams"]
    assert modules == ""


def test_a_second_dataset_of_a_role_leaves_the_default_to_the_first_by_name(hang_on):
    hang_on("zz_meters", tables=SMART_METER.replace('"smart_meter"', '"zz_meters"'))
    assert [each.name for each in catalog.of_role("meters")] == ["smart_meter", "zz_meters"]
    assert catalog.generated_for("meters") == "smart_meter"
    assert catalog.roles()[:5] == ("keys", "calls", "streams", "meters", "comments")


def test_a_name_that_is_declared_twice_is_refused(hang_on):
    hang_on("smart_meter", tables=SMART_METER)
    with pytest.raises(UsageError, match="'smart_meter' is declared by both .*: rename one"):
        catalog.datasets()


def test_a_declaration_bears_the_name_of_its_folder(hang_on):
    hang_on("meters_too", tables=SMART_METER)
    with pytest.raises(UsageError, match="declares 'smart_meter': name it as its folder"):
        catalog.datasets()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('value="value",', ""),
        ('"readings"', '"consumption"'),
        ("query_time_unit=12_345,", ""),
        ('key="key"', 'key="concentrator"'),
    ],
)
def test_datasets_of_one_role_have_what_figures_ask_of_it(hang_on, old, new):
    changed = SMART_METER.replace('"smart_meter"', '"other_meters"').replace(old, new)
    if "value=" in old:
        changed = changed.replace("decimals=3,", "")
    hang_on("other_meters", tables=changed)
    with pytest.raises(UsageError, match="smart_meter have the role 'meters' and differ in tables"):
        catalog.datasets()


# --- what a mapping of recorded data must name follows from the role's table


def read_with_role(folder: Path, role: str, **columns: str):
    content = {"name": "m", "role": role, "format": "table", "files": "m.csv", "columns": columns}
    (folder / "m.yaml").write_text(yaml.safe_dump(content))
    return read_mapping(folder / "m.yaml")


def test_files_can_be_mapped_to_the_role_of_a_dataset_from_outside(hang_on, tmp_path):
    prices = SMART_METER.replace('"smart_meter"', '"prices"').replace('"meters"', '"prices"')
    hang_on("prices", tables=prices)
    mapping = read_with_role(tmp_path, "prices", time="t", key="k", value="v")
    assert (mapping.table.name, mapping.duplicates) == ("readings", "time-key")
    with pytest.raises(
        UsageError, match="unknown key 'user' in columns: prices take time, key, va"
    ):
        read_with_role(tmp_path, "prices", time="t", key="k", value="v", user="u")


def test_files_cannot_be_mapped_to_a_role_of_several_tables(hang_on, tmp_path):
    hang_on("two_streams", tables=TOY)
    with pytest.raises(UsageError, match=r"role is 'band joins': it must be one of calls \| met"):
        read_with_role(tmp_path, "band joins", time="t", key="k")
