"""The workflow as a user starts it, planned only: the jobs it would run, and refusals."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from functools import cache
from pathlib import Path

import pytest

from experiments import papers, plan, profiles
from tests import snakemaking
from tests.figures.peers_rows import write_rows
from tests.invented import two, write_raw

ROOT = Path(__file__).resolve().parents[2]

# On one worker, so that a plan is made once.
pytestmark = pytest.mark.xdist_group("plans")


@cache
def planned(*arguments: str) -> subprocess.CompletedProcess[str]:
    return snakemaking.run(["--cores", "2", "--dry-run", *arguments], ROOT)


def jobs(*arguments: str) -> dict[str, int]:
    """Return rule to number of jobs, from the table that Snakemake prints first."""
    done = planned(*arguments)
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("Job stats:\n")[2].partition("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: int(line.split()[1]) for line in table}


def test_all_figures_are_measured_judged_drawn_and_told():
    # Forced, so that the plan is the same with and without results; nothing is run.
    found = jobs("--forceall", "--config", "profile=quick")
    groups = plan.groups(profiles.load("quick"))
    assert found["generate"] == len({group.role for group in groups} - {None})
    assert found["measure"] == len(groups)
    # Two jobs draw the figures of a paper.
    for paper in papers.papers():
        assert [found[f"figures_{paper.id}_{part}"] for part in (1, 2)] == [1, 1]
    assert found["claims"] == len(papers.papers())
    once = {rule: found[rule] for rule in ("audit", "report", "gallery", "front", "default")}
    assert set(once.values()) == {1}


def test_each_repetition_is_a_job_of_its_own():
    asked = ("--forceall", "--config", "profile=laptop", "paper=scalejoin")
    groups = len(plan.groups(profiles.load("laptop"), ["scalejoin"]))
    found = jobs(*asked)
    assert found["measure"] == 6 * groups > 6
    assert found["kernels"] == 1
    assert jobs(*asked, "repetitions=8")["measure"] == 8 * groups


def test_peers_add_their_jobs_and_change_no_other():
    asked = ("--forceall", "--config", "profile=laptop", "paper=pim_tree,ordered_processing")
    without, beside = jobs(*asked), jobs(*asked, "peers=arrow")
    more = {rule: count for rule, count in beside.items() if rule not in without}
    # A paper whose work none of the peers can do has no figure of them.
    repetitions = profiles.load("laptop").repetitions
    assert more == {"measure_peers_pim_tree": repetitions, "peers_pim_tree": 1}
    assert {rule: count for rule, count in beside.items() if rule in without} == {
        **without, "total": without["total"] + repetitions + 1,
    }  # fmt: skip


def test_an_unknown_peer_is_refused():
    refused(
        "peers=duckbd",
        "there is no peer 'duckbd'; the peers are: arrow, chdb, duckdb, polars, spark",
    )


def test_a_run_whose_papers_compare_nothing_with_peers_is_refused():
    done = planned("--config", "paper=ordered_processing", "peers=arrow")
    lines = [line for line in done.stderr.splitlines() if line.startswith("millrace: ")]
    assert done.returncode == 2 and len(lines) == 1
    assert "ordered_processing has nothing to compare with arrow; leave PEERS out" in lines[0]


def test_what_was_interrupted_as_its_data_were_made_is_measured_all_the_same(tmp_path):
    # A killed job leaves the folder, and Snakemake's mark.
    folder = "results/data/quick/band_join_keys"
    marks = tmp_path / ".snakemake" / "incomplete"
    for each in (tmp_path / folder, marks):
        each.mkdir(parents=True)
    (marks / b64encode(folder.encode()).decode()).touch()
    asked = ("--directory", str(tmp_path), "--config", "profile=quick", "paper=pim_tree")
    found = jobs(*asked)
    assert found["generate"] == found["default"] == 1
    assert found["measure"] == len(plan.groups(profiles.load("quick"), ["pim_tree"]))


def test_a_message_says_what_is_measured_and_how_long_it_takes():
    shown = planned("--forceall", "--config", "profile=quick").stdout
    assert "Measuring aggregation-few-keys-os, repetition 1 of 1, profile quick" in shown
    assert "min of measuring left" in shown


def mapping_of(folder: Path, content: str) -> Path:
    """Write recorded readings, and a mapping of them; return the mapping."""
    (folder / "meters.csv").write_text(content)
    mapping = folder / "mapping.yaml"
    mapping.write_text(
        "name: few\nrole: meters\nformat: table\nfiles: meters.csv\ntime_format: epoch\n"
        "time_unit: s\ncolumns: {time: time, key: key, value: value}\n"
    )
    return mapping


def test_a_mapping_replaces_the_dataset_of_its_role(tmp_path):
    mapping = mapping_of(tmp_path, "time,key,value\n0,1,2.5\n")
    found = jobs("--forceall", "--config", f"data={mapping}")
    assert found["import_recorded"] == 1
    assert found["generate"] == jobs("--forceall", "--config", "profile=quick")["generate"] - 1


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("profile=fast", "unknown profile 'fast'"),
        (
            "label=report.html",
            "label=report.html is a file or folder that all sets of results have",
        ),
        ("label=laptop", "label=laptop is the set of results of that profile; this one is quick"),
        pytest.param("paper=moby_dick", "unknown paper 'moby_dick'", marks=pytest.mark.full),
        pytest.param(
            "data=no/such.yaml", "mapping no/such.yaml does not exist", marks=pytest.mark.full
        ),
    ],
)
def test_a_wrong_setting_is_one_line_and_status_2(setting, told):
    refused(setting, told)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(
            "", "meters.csv is empty (0 bytes): fetch the file again", marks=pytest.mark.full
        ),
        ("time,key,kwh\n0,1,2.5\n", "meters.csv has no column named 'value'"),
    ],
)
def test_recorded_files_are_looked_at_before_any_job(tmp_path, content, told):
    refused(f"data={mapping_of(tmp_path, content)}", told)


def refused(setting: str, told: str) -> None:
    done = planned("--config", setting)
    lines = [line for line in done.stderr.splitlines() if line.startswith("millrace: ")]
    assert done.returncode == 2
    assert len(lines) == 1 and told in lines[0] and "Traceback" not in done.stderr


def test_an_unknown_setting_is_refused():
    refused("profil=quick", "there is no option 'profil'; the options are profile, paper, ")


def test_drawing_what_was_never_measured_is_refused_in_one_line():
    done = planned("plots", "--config", "label=never", "measure=False")
    told = [line for line in done.stderr.splitlines() if line.startswith("millrace: ")]
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert len(told) == 1 and "no raw results in results/never/raw" in told[0]


def test_what_a_set_has_of_peers_is_drawn_without_their_engines(tmp_path):
    # As of an import: nobody names peers, and none needs to be installed.
    folder = tmp_path / "results" / "theirs"
    write_raw(folder / "raw", two())
    asked = ("plots", "--directory", str(tmp_path), "--config", "profile=quick", "label=theirs",
             "paper=multiway_aggregation", "measure=False")  # fmt: skip
    without = jobs(*asked)
    write_rows(folder / "peers" / "multiway_aggregation" / "key" / "repetition-1.jsonl")
    planned.cache_clear()
    beside = jobs(*asked)
    assert "peers_multiway_aggregation" not in without
    assert beside == without | {
        "peers_multiway_aggregation": 1, "total": without["total"] + 1,
    }  # fmt: skip


def test_a_timed_job_takes_the_whole_machine_and_every_other_a_part():
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    assert 'register_resource("machine", 100)' in rules
    measure = rules.partition("rule measure:")[2].partition("rule ")[0]
    assert "machine=100," in measure
    peers = rules.partition('f"measure_peers_{paper}"')[2].partition("rule:")[0]
    assert "machine=100," in peers
    assert rules.count("machine=100,") == 2
    assert 'setdefault("machine", 1)' in (ROOT / "workflow" / "Snakefile").read_text()
