"""Families with the same command-line name: the variant tells which one is meant."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from experiments import discovery, soak
from experiments.cli import main
from experiments.commands import bench
from experiments.commands.arguments import make_parser
from operators import registry
from operators.check import command as check
from operators.check import suite
from operators.contract import UsageError
from tests import hanging


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return tmp_path / "results"


def refused(capsys, argv, *words):
    assert main(argv) == 2
    told = capsys.readouterr().err
    assert told.startswith("millrace: ") and told.count("\n") == 1, told
    for word in words:
        assert word in told, told
    return told


# --- bench ---------------------------------------------------------------------------------------


def spec_of(monkeypatch, *argv):
    wanted = []
    monkeypatch.setattr(bench, "ensure_dataset", lambda *given: wanted.append(given))
    spec, _ = bench.make_spec(make_parser().parse_args(["bench", *argv]))
    return spec, wanted


@pytest.mark.parametrize("name", ["join", "theta_join"])
def test_bench_takes_a_family_by_what_it_is_called_and_by_its_id(monkeypatch, name):
    settings = ("--set", "threads=2", "purge=opposite", "window_s=2")
    spec, wanted = spec_of(monkeypatch, name, "scale-join", "handshake", *settings)
    assert spec.family == "theta_join" and wanted[0][0] == "theta_join"
    given = {"threads": "2", "purge": "opposite", "window_s": "2"}
    assert spec.variants == [("scale-join", given), ("handshake", given)]


def test_bench_tells_by_the_variant_which_family_is_meant(monkeypatch):
    spec, wanted = spec_of(monkeypatch, "join", "pim-tree", "--set", "window=1024")
    assert spec.family == "join" and wanted[0][0] == "join"
    with pytest.raises(UsageError, match="scale-join and pim-tree .* give some of: .*handshake"):
        spec_of(monkeypatch, "join", "scale-join", "pim-tree")
    with pytest.raises(UsageError, match="unknown variant 'x' of family 'join'.*pim-tree.*scale-j"):
        spec_of(monkeypatch, "join", "x")
    with pytest.raises(UsageError, match="unknown variant 'pim-tree' of family 'theta_join'"):
        spec_of(monkeypatch, "theta_join", "pim-tree")
    with pytest.raises(UsageError, match="join scale-join has no setting 'sort'; it has: ahead"):
        spec_of(monkeypatch, "join", "scale-join", "--set", "sort=5")


def test_bench_takes_one_thread_of_a_join_that_has_one(monkeypatch):
    spec, _ = spec_of(monkeypatch, "join", "im-tree", "--set", "threads=1", "window=64")
    assert spec.variants == [("im-tree", {"window": "64"})]
    # With several variants, the setting goes to those that have more than one thread.
    spec, _ = spec_of(monkeypatch, "join", "im-tree", "round-robin", "--set", "threads=3")
    assert spec.variants == [("im-tree", {}), ("round-robin", {"threads": "3"})]
    with pytest.raises(UsageError, match="im-tree has one thread, received threads=2; more are fo"):
        spec_of(monkeypatch, "join", "im-tree", "--set", "threads=2")
    with pytest.raises(UsageError, match="threads must be a whole number, received 'x'"):
        spec_of(monkeypatch, "join", "im-tree", "--set", "threads=x")
    with pytest.raises(UsageError, match="pipeline qst has no setting 'threads'"):
        spec_of(monkeypatch, "pipeline", "qst", "--set", "threads=1")


def test_bench_says_a_family_as_it_takes_it(monkeypatch, capsys):
    result = {
        "family": "theta_join", "variant": "scale-join", "dataset": None, "settings": {"ahead": 3},
        "threads": 4, "throughput_tps": 1.0, "samples": [1.0], "latency_ms": None, "tuples": 5,
        "seconds": 5.0, "outputs": 1, "digest": "0", "valid": True, "oversubscribed": True,
        "saturated": False, "noisy": False, "peak_rss_bytes": None,
        "state_bytes": None,
    }  # fmt: skip
    monkeypatch.setattr(bench, "ensure_dataset", lambda *given: None)
    monkeypatch.setattr(bench, "measure_each", lambda spec: [dict(result)])
    assert main(["bench", "join", "scale-join"]) == 0
    assert capsys.readouterr().out.startswith("join scale-join, 4 threads, ahead=3\n")
    assert main(["bench", "join", "scale-join", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["family"] == "join"


def test_help_of_bench_has_the_names_and_takes_the_ids(capsys):
    assert main(["bench", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    names = sorted({registry.called(family) for family in discovery.benched()})
    assert "join" in names and "theta_join" not in names
    assert f"one of {', '.join(names)} " in words
    refused(capsys, ["bench", "joins", "x"], "'joins'", "'join'", "'theta_join'")


def test_the_soak_takes_what_is_listed(monkeypatch):
    for name in ("check", "ensure_dataset"):
        monkeypatch.setattr(soak.settings, name, lambda *given: None)
    for name in ("join/scale-join", "theta_join/scale-join"):
        runs = soak._runs(SimpleNamespace(variant=[name], set=["density=9"]))
        assert runs == [("theta_join", "scale-join", {"threads": 2, "density": "9"})]


# --- list, plan and check ------------------------------------------------------------------------


def test_what_is_listed_can_be_given_back(capsys):
    assert main(["list", "variants"]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert ["join", "scale-join"] in rows and ["join", "pim-tree"] in rows
    assert {registry.named(*row).id for row in rows} == {each.id for each in registry.variants()}
    for topic in ("variants", "figures"):
        assert main(["list", topic, "--json"]) == 0
        listed = {each["family"] for each in json.loads(capsys.readouterr().out)}
        assert "join" in listed and "theta_join" not in listed
    assert main(["plan", "--paper", "scalejoin", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert {group["family"] for group in groups} == {"join", "gate"}


def test_check_takes_a_family_by_what_it_is_called_and_by_its_id(capsys):
    scale_join = registry.variant("theta_join", "scale-join")
    for name in ("join/scale-join", "theta_join/scale-join", "scale-join"):
        assert check.chosen(name) == [scale_join]
    assert check.chosen("join/pim-tree") == [registry.variant("join", "pim-tree")]
    with pytest.raises(UsageError, match="unknown variant 'x' of family 'join'; there are: b-ch"):
        check.chosen("join/x")
    with pytest.raises(UsageError, match="'x'; there are: .*join/pim-tree.*join/scale-join") as all:
        check.chosen("x")
    assert "theta_join" not in str(all.value)
    found = suite.Finding("two", "result", "wrong", "two:sc:a1")
    check._show(suite.Report("theta_join", "scale-join", findings=[found]), with_marks=False)
    told = capsys.readouterr().out
    assert told.startswith("join/scale-join ")
    assert "millrace check join/scale-join --schedule two:sc:a1" in told


# --- replay --------------------------------------------------------------------------------------


def test_the_options_of_a_replay_are_those_of_the_variant_s_form(capsys):
    for variant, has, lacks in (("scale-join", "--band", "--key"), ("im-tree", "--key", "--band")):
        for argv in (["join", variant, "--help"], ["join", "--help", variant]):
            assert main(["replay", *argv]) == 0
            told = capsys.readouterr().out
            assert has in told and lacks not in told
    for argv in (["theta_join", "--help"], ["theta_join", "scale-join", "--help"]):
        assert main(["replay", *argv]) == 0
        assert "--band" in capsys.readouterr().out
    refused(capsys, ["replay", "join", "scale-join", "--key", "x"], "--band", "--r", "join --help")
    refused(capsys, ["replay", "join", "im-tree", "--band", "x:a:1"], "--key", "join --help")


def test_help_of_a_replay_says_which_variants_take_which_form(capsys):
    for argv in (["join", "--help"], ["join", "no-such", "--help"]):
        assert main(["replay", *argv]) == 0
        told = capsys.readouterr().out
        first, second = told.split("A theta join of ")
        assert "pim-tree-lock-step" in first and "scale-join" not in first
        assert "handshake, handshake-low-latency, scale-join," in second
        assert "millrace replay join pim-tree --r" in second
        assert "millrace replay join scale-join --r" in second


def test_an_unknown_variant_is_one_line_with_those_of_every_form(capsys):
    for argv in (["no-such"], ["no-such", "--key", "scale-join"]):
        told = refused(capsys, ["replay", "join", *argv], "unknown variant 'no-such'")
        listed = told.strip().split(": ")[-1].split(", ")
        wanted = [each.id for name in ("join", "theta_join") for each in registry.variants(name)]
        assert listed == sorted(wanted)
    refused(capsys, ["replay", "join"], "name the VARIANT behind join", "replay join --help")
    refused(capsys, ["replay", "join", "--key", "x"], "name the VARIANT behind join")
    refused(capsys, ["replay", "theta_join", "im-tree", *THETA], "unknown variant 'im-tree' of fam")


THETA = "--r r.csv --s s.csv --band x:a:1 --window 1 --output o.parquet".split()

FORM = """
ABOUT = "A form of ECHO"
EXAMPLES = "  millrace replay echo ID"

def add_arguments(parser):
    parser.add_argument("--OPTION", required=True)

def run(options):
    print(options.family, options.variant, options.OPTION)
    return 0
"""


def test_families_from_outside_that_are_called_alike(tmp_path):
    """Two families of an external folder, each with a form, and a third without one."""
    written = [p for p in hanging.write_toys(tmp_path) if "echo" in str(p.relative_to(tmp_path))]
    for family, variant in (("reverb", "hall"), ("mirror", "flat")):
        for path in written:
            copy = tmp_path / str(path.relative_to(tmp_path)).replace("echo", family)
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text().replace("echo", family).replace('id="ring"', f'id="{variant}"')
            text = text.replace(f'id="{family}",', f'id="{family}", called="echo",')
            copy.write_text(text)
    for family, variant, option in (("echo", "ring", "length"), ("reverb", "hall", "depth")):
        form = FORM.replace("ECHO", family).replace("ID", variant).replace("OPTION", option)
        file = tmp_path / f"experiments/replay/{family}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(form)

    def told(*argv):
        done = hanging.millrace(tmp_path, *argv)
        return done.returncode, done.stdout.strip() or done.stderr.strip()

    assert told("replay", "echo", "ring", "--length", "5") == (0, "echo ring 5")
    assert told("replay", "echo", "hall", "--depth", "6") == (0, "reverb hall 6")
    assert told("replay", "reverb", "hall", "--depth", "7") == (0, "reverb hall 7")
    status, said = told("replay", "echo", "hall", "--length", "5")
    assert status == 2 and "required: --depth" in said
    status, said = told("replay", "echo", "no")
    assert status == 2 and said.endswith("of family 'echo'; there are: flat, hall, ring")
    status, said = told("replay", "echo", "flat")
    assert status == 2 and "echo flat cannot be replayed" in said
    status, said = told("replay", "echo", "--help")
    assert status == 0 and "A form of echo:\n  ring" in said and "A form of reverb:\n  hall" in said
    status, said = told("bench", "echo", "hall", "--set", "slots=0")
    assert status == 2 and said == "millrace: slots must be between 1 and 1048576, received 0"
    status, said = told("bench", "echo", "hall", "ring")
    assert status == 2 and "hall and ring" in said
    status, said = told("list", "variants")
    listed = [line.split()[:2] for line in said.splitlines()]
    assert all(["echo", each] in listed for each in ("flat", "hall", "ring"))
