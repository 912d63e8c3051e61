"""The archive for executors: reproducible bytes, written atomically, with the requested parts.

In `test_cluster.py` executors import from an archive and find the archive's kernels.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from experiments.cli import main
from operators.contract import UsageError
from operators.core.sources import KEPT, ROOT
from operators.running import pack as packing
from operators.running.pack import pack


def members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as opened:
        return {each.name: opened.extractfile(each).read() for each in opened}


def test_it_holds_the_text_of_the_code(tmp_path):
    packed = pack(tmp_path / "m.tar.gz")
    found = members(tmp_path / "m.tar.gz")
    assert (packed.files, packed.kernels) == (len(found), 0)
    assert packed.bytes == (tmp_path / "m.tar.gz").stat().st_size
    assert {name.partition("/")[0] for name in found} == {"datasets", "operators"}
    text = {path.relative_to(ROOT).as_posix(): path.read_bytes()
            for path in (ROOT / "operators").rglob("*.py")}  # fmt: skip
    assert text.items() <= found.items()
    assert "operators/streamcloud/queries/map.yaml" in found
    assert not any("__pycache__" in name for name in found)


def test_it_is_the_same_bytes_at_another_time(tmp_path, monkeypatch):
    kernels = [tmp_path / "step-1.py311.nbi", tmp_path / "step-1.py311.1.nbc"]
    for path in kernels:
        path.write_bytes(path.name.encode())
    pack(tmp_path / "one.tar.gz", kernels)
    # A second later, by another name, the kernels in another order.
    later = time.time() + 1000
    monkeypatch.setattr(time, "time", lambda: later)
    pack(tmp_path / "two.tar.gz", kernels[::-1])
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    found = members(tmp_path / "one.tar.gz")
    assert [found[f"kernel-cache/{path.name}"] for path in kernels] == [
        path.name.encode() for path in kernels
    ]


def test_what_is_known_of_sources_goes_along_without_broken_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / KEPT).write_text('["b", 1]\n["a", [2]]\n["c", \n["b", 1]\n')
    (tmp_path / "k.nbi").write_bytes(b"")
    pack(tmp_path / "m.tar.gz", [tmp_path / "k.nbi"])
    found = members(tmp_path / "m.tar.gz")[f"kernel-cache/{KEPT}"].decode().splitlines()
    assert [json.loads(line) for line in found] == [["a", [2]], ["b", 1]]


def test_an_archive_that_is_there_is_left_alone_and_a_failed_one_is_none(tmp_path, monkeypatch):
    (tmp_path / "m.tar.gz").write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists; remove it"):
        pack(tmp_path / "m.tar.gz")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packing, "_write", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        pack(tmp_path / "m.tar.gz", overwrite=True)
    assert (tmp_path / "m.tar.gz").read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["m.tar.gz"]
    with pytest.raises(UsageError, match="does not end in .tar.gz"):
        pack(tmp_path / "m.zip")


def test_packages_come_with_those_that_they_need():
    found = {name.split("/")[1] for name, _ in packing._packages()}
    assert {"numba", "llvmlite", "numpy", "pyarrow", "pandas", "dateutil", "yaml"} <= found
    assert not {"pyspark", "pytest", ".."} & found
    assert all(path.is_file() for _, path in packing._packages())


def test_a_query_that_is_none_is_one_line(tmp_path, capsys):
    told = ["pack", "--output", str(tmp_path / "m.tar.gz"), "--query", "nowhere.yaml"]
    assert main(told) == 2
    assert "nowhere.yaml" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_packages_in_the_archive_are_all_that_a_bare_python_needs(tmp_path):
    pack(tmp_path / "m.tar.gz", environment=True)
    with tarfile.open(tmp_path / "m.tar.gz") as opened:
        opened.extractall(tmp_path / "millrace", filter="data")
    program = """
import sys, numba, numpy, pandas, pyarrow, yaml, psutil
import operators.streamcloud.instance
print(sys.path, numba.__file__, operators.__file__)
assert all("/millrace/" in m.__file__ for m in (numba, numpy, pandas, pyarrow, yaml, operators))
print(numba.njit(lambda x: x + 1)(1))
"""
    done = subprocess.run(
        # The interpreter from which the environment was made, without the environment.
        [str(Path(sys.executable).resolve()), "-S", "-c", program],
        cwd=tmp_path, env={"PYTHONPATH": "millrace:millrace/site-packages"},
        capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2"
