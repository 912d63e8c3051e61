"""An external family and paper, through plan, measure, judge, draw and report.

The files are those that CONTRIBUTING.md shows. A copy of the family under another name is added, to
show which results a change leaves alone. No file of the repository is touched.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests import hanging

# One after the other, on one worker: the tests share a folder and depend on their order.
pytestmark = [pytest.mark.xdist_group("toys"), pytest.mark.timeout(600)]

PAPERS = "toy_paper,other_paper"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Write both toys and run the whole workflow on their papers once."""
    folder = tmp_path_factory.mktemp("toys")
    for path in hanging.write_toys(folder):
        other = str(path.relative_to(folder)).replace("echo", "reverb").replace("toy_", "other_")
        copy = folder / other
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text().replace("echo", "reverb").replace("toy_paper", "other_paper")
        copy.write_text(text.replace("Echo", "Reverb"))
    assert_made(run(folder))
    return folder


def run(folder: Path, *arguments: str):
    return hanging.snakemake(folder, *arguments, papers=PAPERS)


def assert_made(done) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def jobs(folder: Path) -> dict[str, int]:
    """Return the jobs of a run in the present state: rule to number of jobs."""
    done = run(folder, "--dry-run")
    assert_made(done)
    table = done.stdout.partition("Job stats:\n")[2].partition("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: int(line.split()[1]) for line in table}


def measured(folder: Path) -> list[str]:
    """Return the groups that a run would measure now."""
    done = run(folder, "--dry-run")
    assert_made(done)
    return sorted(re.findall(r"Measuring ([\w-]+),", done.stdout))


def edit(path: Path, old: str, new: str) -> str:
    """Change a file and the file's length, and return the old content.

    Python recognizes stale bytecode by the second of the file's last change and by the length: a
    run takes less than a second here.
    """
    text = path.read_text()
    assert text.count(old) == 1 and len(old) != len(new)
    path.write_text(text.replace(old, new))
    return text


def raw_files(folder: Path, group: str) -> list[Path]:
    return sorted((folder / "results" / "tiny" / "raw" / group).glob("*/*.jsonl"))


def rows_of(file: Path, reference: bool = False) -> list[dict]:
    """Return the regular rows of a file, or those of the setting that every process measures."""
    rows = [line for line in map(json.loads, file.read_text().splitlines()) if "family" in line]
    return [row for row in rows if (row["phase"] == "reference") is reference]


def test_every_setting_is_measured_once_and_is_right(folder):
    (file,) = raw_files(folder, "echo")
    rows = rows_of(file)
    # A machine that is busy with other tests may take the core of an input: such a row says so.
    reasons = {row["invalid_reason"] for row in rows} - {None}
    assert all("not given its core" in reason for reason in reasons), reasons
    places = [
        (row["variant"], row["settings"]["slots"], row["phase"], row["round"]) for row in rows
    ]
    assert len(places) == len(set(places))
    assert {number for *_, number in places} == {1, 2}
    # Figure 8 shows two settings of figure 1a, and adds a run of one of them to the group.
    closed = {(variant, slots) for variant, slots, phase, _ in places if phase == "closed"}
    assert closed == {("ring", 16), ("ring", 64), ("ring", 256)}


def test_the_setting_of_all_processes_has_one_key_in_all_groups(folder):
    files = [*raw_files(folder, "echo"), *raw_files(folder, "reverb")]
    rows = [row for file in files for row in rows_of(file, reference=True)]
    assert len(rows) == 2 and len({row["key"] for row in rows}) == 1


def test_both_papers_are_judged_on_their_own(folder):
    for paper in ("toy_paper", "other_paper"):
        verdicts = json.loads((folder / f"results/tiny/claims/{paper}.json").read_text())
        assert verdicts["paper"] == paper
        assert [claim["parts"] != [] for claim in verdicts["claims"]] == [True, True]
        assert {claim["paper"] for claim in verdicts["claims"]} == {paper}


def test_panels_are_drawn_and_the_page_has_a_section_for_each(folder):
    drawn = folder / "results/tiny/figures/toy_paper"
    for stem in ("fig_01a", "fig_08"):
        for kind in ("pdf", "svg", "png", "csv"):
            assert (drawn / f"{stem}.{kind}").stat().st_size > 0
    pages = [
        (folder / f"results/tiny/{paper}.html").read_text()
        for paper in ("toy_paper", "other_paper")
    ]
    for anchor in ("toy_paper-1a", "toy_paper-8", "other_paper-1a", "other_paper-8"):
        assert "".join(pages).count(f'id="{anchor}"') == 1
    front = (folder / "results/report.html").read_text()
    assert 'href="tiny/report.html"' in front


def test_the_command_knows_them(folder):
    listed = json.loads(hanging.millrace(folder, "list", "--json").stdout)
    assert ("echo", "ring") in {(v["family"], v["id"]) for v in listed["variants"]}
    ids = {(figure["paper"], figure["id"]) for figure in listed["figures"]}
    assert {("toy_paper", "1a"), ("toy_paper", "8")} <= ids
    planned = hanging.millrace(
        folder, "plan", "--json", "--profile", str(folder / "tiny.yaml"), "--paper", "toy_paper"
    )
    (group,) = json.loads(planned.stdout)["groups"]
    assert (group["id"], group["settings"]) == ("echo", 3)
    refused = hanging.millrace(folder, "bench", "echo", "ring", "--set", "slots=0")
    assert refused.returncode == 2
    told = "millrace: slots must be between 1 and 1048576, received 0\n"
    assert refused.stderr == told


def test_a_second_run_does_nothing(folder):
    done = run(folder)
    assert_made(done)
    assert "Nothing to be done" in done.stdout + done.stderr


def test_words_for_people_measure_nothing_and_a_title_is_drawn_again(folder):
    ring = folder / "operators/echo/ring.py"
    before = edit(ring, '"""Send a value: ACCEPTED or FULL."""', '"""Send it."""  # at once')
    assert jobs(folder) == {}
    ring.write_text(before)
    before = edit(ring, 'title="Ring",', 'title="The ring",')
    found = jobs(folder)
    ring.write_text(before)
    assert "measure" not in found
    assert {"figures_toy_paper_1", "figures_toy_paper_2"} < found.keys()
    assert not [rule for rule in found if rule.startswith("figures_other_paper")]


EDIT = ("return EchoState(make_rings(1, slots),", "return EchoState(make_rings(1, 1 * slots),")


def test_a_misspelt_field_of_a_claim_ends_a_run_before_its_first_job(folder):
    file = folder / "experiments" / "toy_paper" / "published.yaml"
    before = edit(file, "direction: rises", "directon: rises")
    done = run(folder)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert (
        f"millrace: {file}: claim 'more-slots-more-throughput': unknown field 'directon' of"
        " comparator 'monotone'; did you mean 'direction'?\n"
    ) in done.stderr
    assert "Judging" not in done.stdout + done.stderr
    file.write_text(before)


def test_an_edited_operator_measures_its_groups_again_and_no_others(folder):
    ring = folder / "operators/echo/ring.py"
    before = edit(ring, *EDIT)
    assert measured(folder) == ["echo"]
    # The next edit shows that everything is restored: it measures one other group.
    ring.write_text(before)


# In each run of the tests, the runner's tests show that rows are kept aside and not mixed.
@pytest.mark.full
def test_what_was_measured_before_an_edit_is_kept_aside(folder):
    ring = folder / "operators/echo/ring.py"
    (old,) = raw_files(folder, "echo")
    before, unedited = old.read_bytes(), edit(ring, *EDIT)
    # Up to the verdicts: an earlier test covers drawing everything.
    assert_made(run(folder, "results/tiny/claims/toy_paper.json"))
    # Complete, and not mixed in.
    assert old.read_bytes() == before
    (new,) = [file for file in raw_files(folder, "echo") if file != old]
    keys = [{row["key"] for row in rows_of(file)} for file in (old, new)]
    assert len(rows_of(new)) == len(rows_of(old)) and not keys[0] & keys[1]
    verdicts = json.loads((folder / "results/tiny/claims/toy_paper.json").read_text())
    named = {(folder / "results/tiny/claims" / name).resolve() for name in verdicts["raw_files"]}
    assert named == {new.resolve()}
    ring.write_text(unedited)


def test_a_changed_declaration_measures_its_group_again(folder):
    figures = folder / "experiments/other_paper/figures.py"
    before = edit(figures, "SLOTS = (16, 64, 256)", "SLOTS = (16, 128, 256)")
    assert measured(folder) == ["reverb"]
    figures.write_text(before)
    assert measured(folder) == []


def test_a_changed_dependency_of_the_bench_measures_again(folder):
    bench = folder / "experiments/families/reverb/bench.py"
    before = edit(bench, "ROWS = 1 << 12", "ROWS = 2_048")
    assert measured(folder) == ["reverb"]
    bench.write_text(before)


def test_results_of_another_label_have_a_page_of_their_own(folder):
    page = (folder / "results/tiny/report.html").read_bytes()
    shutil.copytree(folder / "results/tiny/raw", folder / "results/elsewhere/raw")
    done = hanging.snakemake(
        folder, "plots", papers="toy_paper", label="elsewhere", measure="False"
    )
    assert_made(done)
    assert (folder / "results/tiny/report.html").read_bytes() == page
    front = (folder / "results/report.html").read_text()
    assert 'href="tiny/report.html"' in front and 'href="elsewhere/report.html"' in front
    assert "Measuring" not in done.stdout
