"""One Spark session makes the datasets of a run, and each job takes one of them."""

from __future__ import annotations

import threading

import pytest

from datasets.ahead import FOLDER, Wanted, take

WANTED = {"one": Wanted(10, "ab"), "two": Wanted(20, "cd"), "three": Wanted(30, "ef")}


@pytest.fixture
def made(tmp_path):
    """The datasets made at once, in order; each one is a folder with a file."""

    def make(sets):
        if sets:
            make.calls.append({name: rows for name, (rows, _) in sets.items()})
        for name, (rows, folder) in sets.items():
            folder.mkdir()
            (folder / "rows").write_text(f"{name} {rows}")

    make.calls = []
    make.home = tmp_path / "quick"
    return make


def taken(made, name, wanted=WANTED):
    take(name, made.home / name, wanted, made)
    return (made.home / name / "rows").read_text()


def test_the_first_makes_all_and_the_others_take_theirs(made):
    assert taken(made, "two") == "two 20"
    assert made.calls == [{"one": 10, "two": 20, "three": 30}]
    assert (taken(made, "one"), taken(made, "three")) == ("one 10", "three 30")
    assert len(made.calls) == 1
    assert [each.name for each in (made.home / FOLDER).iterdir()] == ["lock"]


def test_what_is_there_is_not_made_again_and_what_shall_be_is(made):
    taken(made, "one")
    for name in ("two", "three"):
        taken(made, name)
    # Snakemake has removed one, whose generator has changed.
    (made.home / "one" / "rows").unlink()
    (made.home / "one").rmdir()
    changed = WANTED | {"one": Wanted(11, "xy")}
    assert taken(made, "one", changed) == "one 11"
    assert made.calls[1:] == [{"one": 11}]


def test_what_an_interrupted_run_has_left_is_used_or_removed(made):
    taken(made, "one")
    assert taken(made, "two", {"two": Wanted(21, "new")}) == "two 21"
    assert made.calls[1:] == [{"two": 21}]
    # The old rows of the third one are gone, and those of two as well.
    assert [each.name for each in (made.home / FOLDER).iterdir()] == ["lock"]


def test_two_jobs_at_once_make_them_once(made):
    jobs = [threading.Thread(target=taken, args=(made, name)) for name in WANTED]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert len(made.calls) == 1
    assert sorted(each.name for each in made.home.iterdir() if each.name != FOLDER) == [
        "one", "three", "two",
    ]  # fmt: skip
