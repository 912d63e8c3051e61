"""The other parts of the comparison, on toy checkouts: a changed byte, word or digest is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.same import checkouts, digests, outputs, replay, throughput
from tests.same.__main__ import main
from tests.same.checkouts import CannotCompare, opened
from tests.same.files import differences
from tests.same.report import Difference, Finding, names, show
from tests.same.throughput import Run
from tests.same.toys import checkout, commanding


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_one_byte_is_a_difference(tmp_path):
    same = {"a/b.csv": b"1,2\n3,4\n", "c.svg": b"<svg/>"}
    base = written(tmp_path / "base", same | {"gone": b""})
    new = written(tmp_path / "new", same | {"a/b.csv": b"1,2\n3,5\n", "added": b""})
    assert list(differences(base, new)) == [
        Difference("a/b.csv", r"line 2: '1,2\n3,4\n' -> '1,2\n3,5\n'"),
        Difference("added", "only NEW makes it"),
        Difference("gone", "only BASE makes it"),
    ]
    assert not list(differences(base, base))
    assert not list(differences(base, new, lambda name: name.endswith(".svg")))


def test_a_content_that_goes_on_is_a_difference(tmp_path):
    base, new = written(tmp_path / "base", {"a": b"1"}), written(tmp_path / "new", {"a": b"12"})
    assert [each.what for each in differences(base, new)] == ["line 1: '1' -> '12'"]


def test_of_what_is_no_text_the_byte_is_shown(tmp_path):
    base = written(tmp_path / "base", {"a.png": b"\x89PNG\xff1"})
    new = written(tmp_path / "new", {"a.png": b"\x89PNG\xff2"})
    assert [each.what for each in differences(base, new)] == ["byte 5 of 6"]


# --- outputs -------------------------------------------------------------------------------------

SNAKEFILE = """
rule plots:
    input: "results/same/raw/gate/1/repetition-1.jsonl"
    output: "results/same/figures/fig_1.csv", "results/same/claims/paper.json"
    shell: "sed s/x/LETTER/ {input} > {output[0]}; echo {config[profile]} > {output[1]}"
"""


def drawing(folder: Path, letter: str, name: str):
    return checkout(folder, {"Snakefile": SNAKEFILE.replace("LETTER", letter)}, name)


def test_a_byte_of_a_table_that_is_drawn_of_the_same_rows_is_noticed(tmp_path):
    rows = written(tmp_path / "quick", {"raw/gate/1/repetition-1.jsonl": b"row x\n"})
    base, new = drawing(tmp_path, "x", "BASE"), drawing(tmp_path, "y", "NEW")
    (finding,) = outputs.compare(base, new, [(rows, "quick")])
    assert "1 json, 1 csv, 0 svg" in finding.summary
    assert list(finding.differences) == [
        Difference("same/figures/fig_1.csv", r"line 1: 'row x\n' -> 'row y\n'")
    ]


def test_a_workflow_that_fails_is_no_comparison(tmp_path):
    rows = written(tmp_path / "quick", {"raw/gate/1/other.jsonl": b"row x\n"})
    base = drawing(tmp_path, "x", "BASE")
    with pytest.raises(CannotCompare, match="(?s)BASE cannot draw.*repetition-1.jsonl"):
        list(outputs.compare(base, base, [(rows, "quick")]))


def test_without_rows_nothing_is_drawn(tmp_path):
    with pytest.raises(CannotCompare, match="no raw rows at"):
        outputs.take_rows(tmp_path / "absent", tmp_path / "raw")
    (tmp_path / "empty" / "raw").mkdir(parents=True)
    with pytest.raises(CannotCompare, match="no raw rows in"):
        outputs.take_rows(tmp_path / "empty", tmp_path / "raw")


def test_rows_of_which_nothing_is_drawn_are_no_comparison(tmp_path):
    rows = written(tmp_path / "quick", {"raw/gate/1/repetition-1.jsonl": b"row x\n"})
    snakefile = 'rule plots:\n    output: "results/done"\n    shell: "touch {output}"\n'
    base = checkout(tmp_path, {"Snakefile": snakefile})
    with pytest.raises(CannotCompare, match="nothing is drawn from"):
        list(outputs.compare(base, base, [(rows, "quick")]))


# --- replay --------------------------------------------------------------------------------------

REPLAYING = """
import sys
from pathlib import Path

if sys.argv[2] == "no-such":
    sys.exit("millrace: REFUSED")
Path(sys.argv[-1]).write_text("WRITTEN" + Path("r.csv").read_text())
print("SAID")
"""


def replayed(tmp_path, **changed: str) -> Finding:
    text = REPLAYING
    for word, other in changed.items():
        text = text.replace(word, other)
    base, new = commanding(tmp_path, REPLAYING), commanding(tmp_path, text, "NEW")
    (finding,) = replay.compare(base, new, "--window-count 64 --threads 4")
    return finding


def test_replays_that_are_alike_are_alike(tmp_path):
    finding = replayed(tmp_path)
    assert finding == Finding("replay: 1 commands, 0 of them refused by BASE", [])


@pytest.mark.parametrize(
    ("word", "ending"), [("WRITTEN", "parquet: line 1"), ("SAID", "said: line 3")]
)
def test_what_a_replay_writes_and_says_is_compared(tmp_path, word, ending):
    (difference,) = replayed(tmp_path, **{word: "other"}).differences
    assert difference.where.startswith("replay join round-robin --r r.csv --s s.csv.gz")
    assert difference.what.startswith(ending)


def test_the_status_of_a_replay_is_compared(tmp_path):
    (difference,) = replayed(
        tmp_path, **{'print("SAID")': 'sys.exit(print("SAID") or 1)'}
    ).differences
    assert "status 0" in difference.what and "status 1" in difference.what


def test_a_refused_replay_is_compared_by_its_words(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "COMMANDS", "no-such --output-of {two}")
    monkeypatch.setattr(replay, "REFUSED", "")
    base = commanding(tmp_path, REPLAYING.replace("argv[2]", "argv[2][:7]"))
    new = commanding(tmp_path, base.folder.joinpath("experiments/cli.py").read_text()
                     .replace("REFUSED", "no"), "NEW")  # fmt: skip
    (finding,) = replay.compare(base, new, "no-such")
    assert finding.summary == "replay: 1 commands, 1 of them refused by BASE"
    assert len(finding.differences) == 1


def test_a_text_that_no_replay_has_is_no_comparison(tmp_path):
    base = commanding(tmp_path, REPLAYING)
    with pytest.raises(CannotCompare, match="no replay command has 'typo' in it"):
        list(replay.compare(base, base, "typo"))


# --- digests -------------------------------------------------------------------------------------

BENCHING = """
import json
import sys

if sys.argv[1] == "list":
    gate = {"family": "gate", "settings": [], "queries": []}
    print(json.dumps([{"id": "one", **gate}, {"id": "two", **gate}]))
    sys.exit()
variants = sys.argv[3 : sys.argv.index("--set")]
if "two" in variants and "readers=3" in sys.argv:
    print("millrace: two has one reader", file=sys.stderr)
    sys.exit(2)
names = NAMES
rows = [{"variant": each, **dict.fromkeys(names, 1), "digest": "DIGEST"} for each in variants]
print(json.dumps({"results": rows} if len(rows) > 1 else rows[0]))
""".replace("NAMES", repr(digests.COMPARED))


def benched(tmp_path, *edit: str) -> Finding:
    base = commanding(tmp_path, BENCHING)
    new = commanding(tmp_path, BENCHING.replace(*edit) if edit else BENCHING, "NEW")
    (finding,) = digests.compare(base, new, None, ["gate"])
    return finding


def test_equal_digests_are_counted_and_refusals_too(tmp_path):
    assert benched(tmp_path) == Finding(
        "digests: gate: 10 results, 1 of them that BASE refuses to make", []
    )


def test_another_digest_is_noticed_at_each_setting(tmp_path):
    finding = benched(tmp_path, "DIGEST", "OTHER")
    assert len(finding.differences) == 9
    assert finding.differences[0] == Difference("gate one sources=1", "digest DIGEST -> OTHER")


def test_another_refusal_is_noticed(tmp_path):
    (difference,) = benched(tmp_path, "two has one reader", "no").differences
    assert difference.where == "gate two sources=3 readers=3"
    assert difference.what == "refused millrace: two has one reader -> millrace: no"


def test_variants_are_asked_what_they_answer():
    of_all = {"family": "aggregation", "settings": [], "queries": ["k-OS", "k-OI"]}
    of_one, of_none = of_all | {"queries": ["k-OI"]}, of_all | {"queries": []}
    listed = [{"id": "all", **of_all}, {"id": "one", **of_one}, {"id": "none", **of_none}]
    assert digests.taking(listed, "aggregation", "query=k-OS inputs=2") == ["all", "none"]
    assert digests.taking(listed, "aggregation", "inputs=2") == ["all", "one", "none"]
    assert digests.taking(listed, "gate", "inputs=2") == []


def test_a_family_without_variants_is_no_comparison(tmp_path):
    base = commanding(tmp_path, BENCHING)
    with pytest.raises(CannotCompare, match="BASE has no variant of reorder for workers=1"):
        list(digests.compare(base, base, None, ["reorder"]))


def test_a_run_that_fails_is_a_difference(tmp_path):
    (difference,) = benched(tmp_path, "sys.exit(2)", "sys.exit(1)").differences
    assert difference.what == "failed: millrace: two has one reader"


def test_a_setting_that_nothing_takes_proves_nothing():
    refused = {"one": {"refused": "no rate"}, "two": {"refused": "no rate"}}
    (difference,) = digests.finding_of("join", [("window=4", refused, refused)]).differences
    assert difference.where == "join window=4"
    assert difference.what.startswith("BASE runs nothing")
    taken = refused | {"one": {"valid": True}}
    assert not digests.finding_of("join", [("window=4", taken, taken)]).differences


def test_a_wrong_result_of_base_is_reported():
    row = {"valid": False, "invalid_reason": "wrong digest"}
    finding = digests.finding_of("gate", [("sources=1", {"one": row}, {"one": row})])
    assert [each.what for each in finding.differences] == ["wrong in BASE: wrong digest"]


# --- throughput ----------------------------------------------------------------------------------

FAST, SLOW = [Run(1e6, False)] * 6, [Run(0.96e6, False)] * 6


def test_a_ratio_below_the_limit_is_a_difference():
    assert throughput.finding_of("T-Gate", SLOW, FAST, 0.0).differences == []
    (difference,) = throughput.finding_of("T-Gate", FAST, SLOW, 0.0).differences
    assert difference.where == "T-Gate" and "0.960 [0.960, 0.960]" in difference.what


def test_an_interval_that_reaches_below_the_limit_cannot_tell():
    news = [Run(each * 1e6, False) for each in (0.9, 1.1, 0.9, 1.1, 0.9, 1.1)]
    (difference,) = throughput.finding_of("T-Gate", FAST, news, 0.0).differences
    assert difference.what.startswith("0.995 [0.887") and "cannot tell" in difference.what


def test_no_turn_is_no_comparison():
    with pytest.raises(CannotCompare, match="T-Gate: no turn"):
        throughput.finding_of("T-Gate", [], [], 0.0)


def test_each_turn_is_a_ratio():
    # The machine slows down steadily; each turn still has the same ratio.
    base = [Run(1e6 / turn, False) for turn in range(1, 7)]
    new = [Run(0.99e6 / turn, turn == 1) for turn in range(1, 7)]
    finding = throughput.finding_of("T-Gate", base, new, 0.0)
    assert "0.990 [0.990, 0.990], 95 % interval, 6 turns, 1 of 12 runs noisy" in finding.summary


def test_a_busy_machine_is_refused_or_marked(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0 * os.cpu_count(), 0.0, 0.0))
    rate = {"throughput_tps": 1e6, "noisy": True}
    command = f"print({json.dumps(json.dumps(rate))})"
    base, new = commanding(tmp_path, command), commanding(tmp_path, command, "NEW")
    with pytest.raises(CannotCompare, match="load 9.00 a core"):
        list(throughput.compare(base, new, None))
    (finding,) = throughput.compare(base, new, None, 2, 0.1, ["T-Gate"], busy=True)
    assert finding.summary.endswith(
        "2 turns, 4 of 4 runs noisy, BUSY at the beginning (9.00 a core)"
    )


# --- the command ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "where", "is_named"),
    [
        ("a.py:f", "a.py:f", True),
        ("a.py:f", "a.py:free", False),
        ("a.py:f", "pack/a.py:f", False),
        ("a.py:State", "a.py:State.size", True),
        ("b.py", "a.py:f (was b.py:f)", True),
        ("pack/", "pack/a.py:f", True),
        ("join pim-tree", "join pim-tree-lock-step window=1024", False),
    ],
)
def test_expected_differences_are_named_as_a_whole(entry, where, is_named):
    assert names(entry, where) == is_named


def test_only_differences_that_are_not_expected_count(capsys):
    findings = [
        Finding("compared", [Difference("a.py:f", "differs"), Difference("b.py:g", "gone")])
    ]
    assert show(findings) == 2
    assert show(findings, ["a.py", "c.py"]) == 1
    assert capsys.readouterr().out.splitlines()[-5:] == [
        "compared",
        "  (expected) a.py:f: differs",
        "  b.py:g: gone",
        "  nothing differs at c.py, which is expected to",
        "1 differences that are not expected",
    ]


def test_the_status_says_whether_anything_differs(tmp_path, capsys):
    for name, value in (("BASE", 1), ("NEW", 2)):
        checkout(tmp_path, {"operators/a.py": f"A = {value}\n"}, name)
    base, new = str(tmp_path / "BASE"), ["--new", str(tmp_path / "NEW")]
    assert main(["syntax", base, "--new", base]) == 0
    assert main(["syntax", base, *new]) == 1
    (tmp_path / "expected").write_text("# meant\noperators/a.py:A\n")
    assert main(["syntax", base, *new, "--expected", str(tmp_path / "expected")]) == 0
    assert main(["syntax", base, "--new", base, "--below", "operators/"]) == 0
    assert main(["syntax", base, "--new", base, "--below", "operator/"]) == 2
    assert main(["replay", base, "--new", base, "--only", "typo"]) == 2
    assert main(["syntax", "no-such-revision"]) == 2
    assert "no-such-revision" in capsys.readouterr().err


def test_a_revision_is_unpacked(tmp_path, monkeypatch):
    repository = checkout(tmp_path, {"operators/a.py": "A = 1\n", ".gitignore": "made.py\n"}).folder
    identity = ("-c", "user.name=Anna", "-c", "user.email=anna@example.org")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "One")):
        subprocess.run(["git", *command], cwd=repository, check=True)
    (repository / "operators" / "b.py").write_text("B = 2\n")
    (repository / "made.py").write_text("")
    monkeypatch.setattr(checkouts, "ROOT", repository)
    with opened("BASE", "HEAD") as base, opened("NEW", repository) as new:
        assert base.python_files() == ["operators/a.py"]
        assert new.python_files() == ["operators/a.py", "operators/b.py"]
        assert base.python == sys.executable
    assert not base.folder.exists()


def test_what_a_user_has_set_changes_neither_side(tmp_path, monkeypatch):
    for name in ("MILLRACE_PLAIN_NUMBA", "MILLRACE_NOISE", "NUMBA_OPT", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LANG", "C")
    base = checkout(tmp_path, {})
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    done = base.run(["-c", program], tmp_path, {"MILLRACE_LOCK": "lock"})
    variables = json.loads(done.stdout)
    ours = {name for name in variables if name.startswith(checkouts.CLEARED)}
    assert ours == {"MILLRACE_LOCK"} and variables["LANG"] == "C"


def test_other_packages_are_no_comparison(tmp_path):
    base = checkout(tmp_path, {})
    assert base.python
    (base.folder / "requirements.lock").write_text("numpy==1\n")
    with pytest.raises(CannotCompare, match="BASE needs other packages"):
        assert base.python
