"""``millrace doctor``: each possible problem is found, with the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import operators
from experiments import doctor
from experiments.cli import main
from experiments.doctor import OK, PROBLEM, WARNING
from operators.contract import UsageError


def no_java():
    raise UsageError("no Java of version 17 or later for Spark")


def no_space(**options):
    raise OSError(28, "No space left on device")


# Root can write to every folder except nonexistent paths of /proc.
NOWHERE = Path("/proc/nowhere")
MEMORY = SimpleNamespace(available=1 << 30, total=8 << 30)
USAGE = SimpleNamespace(free=1 << 20)

FAULTS = {
    "java": (doctor.java, "java_home", no_java, PROBLEM, "make setup"),
    "spark": (doctor.spark, "find_spec", lambda name: None, PROBLEM, "make setup"),
    "old python": (doctor.python, "LEAST_PYTHON", (9, 0), PROBLEM, "install Python"),
    "interpreted": (doctor.python, "INTERPRETED", True, WARNING, "NUMBA_DISABLE_JIT"),
    "one core": (doctor.cores, "pinning.cores", lambda: 1, WARNING, "2 or more"),
    "governor": (doctor.governor, "machine.governor", lambda: "powersave", WARNING, "cpupower"),
    "clock": (doctor.clock, "machine.clock_source", lambda: "acpi_pm", WARNING, "clocksource=tsc"),
    "load": (doctor.load, "machine.foreign_cores", lambda seconds: 1.5, WARNING, "noisy"),
    "memory": (doctor.memory, "psutil.virtual_memory", lambda: MEMORY, PROBLEM, "quick profile"),
    "disk": (doctor.disk, "shutil.disk_usage", lambda path: USAGE, PROBLEM, "make results a link"),
    "cache": (doctor.numba_cache, "cache_folder", lambda: NOWHERE, PROBLEM, "NUMBA_CACHE_DIR"),
    "umask": (doctor.around, "os.umask", lambda mask: 0o777, PROBLEM, "umask 022"),
    "temporary": (doctor.around, "tempfile.TemporaryFile", no_space, PROBLEM, "TMPDIR"),
    "home": (doctor.around, "user_folder", lambda: NOWHERE, WARNING, "XDG_CACHE_HOME"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_a_remedy(monkeypatch, fault):
    check, name, stand_in, state, remedy = FAULTS[fault]
    monkeypatch.setattr(f"experiments.doctor.{name}", stand_in)
    finding = check()
    assert finding.state == state
    assert remedy in finding.remedy


WELL = {
    "governor": (doctor.governor, "machine.governor", lambda: "performance"),
    "no governor": (doctor.governor, "machine.governor", lambda: None),
    "load": (doctor.load, "machine.foreign_cores", lambda seconds: 0.0),
}


@pytest.mark.parametrize("case", WELL)
def test_what_is_well_needs_no_remedy(monkeypatch, case):
    check, name, stand_in = WELL[case]
    monkeypatch.setattr(f"experiments.doctor.{name}", stand_in)
    finding = check()
    assert (finding.state, finding.remedy) == (OK, "")


def test_what_another_spark_is_set_up_with_is_said(monkeypatch):
    for name in ("HADOOP_CONF_DIR", "JAVA_TOOL_OPTIONS"):
        monkeypatch.setenv(name, "x")
    found = doctor.spark()
    assert found.state == OK
    assert "HADOOP_CONF_DIR, JAVA_TOOL_OPTIONS" in found.found


def test_a_container_may_have_less_memory_than_the_machine(tmp_path, monkeypatch):
    for name, content in (("LIMIT", "4000"), ("USED", "1000")):
        (tmp_path / name).write_text(content)
        monkeypatch.setattr(doctor, f"CGROUP_{name}", tmp_path / name)
    assert doctor._container_bytes() == 3000
    (tmp_path / "LIMIT").write_text("max")
    assert doctor._container_bytes() > 1 << 60


def test_the_cache_is_measured(tmp_path, monkeypatch):
    (tmp_path / "kernel.nbi").write_bytes(bytes(3 << 20))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert "1 files, 3 MiB" in doctor.numba_cache().found


def test_the_command(capsys, monkeypatch):
    well, ill = doctor.Finding("disk", OK, "1 GiB"), doctor.Finding("java", PROBLEM, "none", "get")
    monkeypatch.setattr(doctor, "CHECKS", (lambda: well,))
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == "ok  disk  1 GiB\n"
    monkeypatch.setattr(doctor, "CHECKS", (lambda: well, lambda: ill))
    assert main(["doctor"]) == 1
    assert "java: get" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["healthy"] and found["checks"][1]["remedy"] == "get"


def test_this_machine_can_be_examined():
    names = [finding.name for finding in doctor.examine()]
    assert names == ["java", "spark", "python", "cores", "governor", "clock source", "load",
                     "memory", "disk", "surroundings", "numba cache"]  # fmt: skip


def test_what_is_left_aside_and_what_joins_in_is_said(monkeypatch, tmp_path):
    (tmp_path / "operators").mkdir()
    monkeypatch.setattr("experiments.surroundings.LEFT_ASIDE", ["NUMBA_OPT"])
    monkeypatch.setattr("operators.__path__", [*operators.__path__, str(tmp_path / "operators")])
    found = doctor.around()
    assert found.state == OK
    assert found.found == f"NUMBA_OPT is not heeded; {tmp_path / 'operators'} joins in"
