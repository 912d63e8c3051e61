"""Finding a set of results: by label, by folder, by archive, and at a commit."""

from __future__ import annotations

import os

import pytest

from experiments.records import archives, results, sets
from operators.contract import UsageError
from tests.invented import KEY, PROVENANCE, two, write_raw


@pytest.fixture
def folder():
    found = results.root() / "mine"
    write_raw(found / "raw", two(repetitions=2))
    return found


def rates(name):
    with sets.opened(str(name)) as found:
        return sorted(row["throughput_tps"] for row in found.every.rows)


def test_label_folder_and_archive_are_the_same_set(folder, tmp_path):
    archive = tmp_path / "x.tar.xz"
    with sets.opened("mine") as found:
        assert found.label == "mine" and len(found.every.rows) == 8
        archives.pack("mine", found.files, archive)
    assert rates("mine") == rates(folder) == rates(folder / "raw") == rates(archive)
    with sets.opened(str(archive)) as found:
        assert (found.name, found.label) == (str(archive), "mine")


def test_a_name_without_a_set_is_refused_with_those_there_are(folder, tmp_path):
    with pytest.raises(UsageError, match="'yours'.*mine"), sets.opened("yours"):
        pass
    with pytest.raises(UsageError, match="no folder raw"), sets.opened(str(tmp_path)):
        pass


def test_of_several_keys_the_one_with_most_files_counts_and_of_equal_ones_the_newest(folder):
    (group,) = (folder / "raw").iterdir()
    older = group / ("cd" * 8)
    write_raw(folder / "raw", two(mq=3e6, repetitions=2, key=older.name))
    for file in older.iterdir():
        os.utime(file, ns=(1, 1))
    assert max(rates("mine")) < 2.1e6
    write_raw(folder / "raw", two(mq=3e6, repetitions=3, key=older.name))
    assert max(rates("mine")) > 3e6
    every = sorted(group.glob("*/*.jsonl"))
    assert {file.parent.name for file in sets.fullest(every, current=KEY)} == {KEY}


def test_a_label_at_two_commits_is_two_sets(folder):
    commits = {"ab" * 20: 1e6, "cd" * 20: 5e6}
    for commit, rate in commits.items():
        given = PROVENANCE | {"commit": commit}
        write_raw(results.root() / "two" / "raw", two(mq=rate, key=commit[:16]), given)
    assert max(rates("two@cdcdcd")) > 5e6 > max(rates("two@abab"))
    with pytest.raises(UsageError, match=r"its rows are of: abababababab, cdcdcdcdcdcd"):
        rates("two@1234")
    with pytest.raises(UsageError, match="at least 4"):
        rates("two@main")


def test_the_run_before_is_the_one_under_the_key_before(folder):
    with pytest.raises(UsageError, match="no run before; name a second set"):
        sets.last_two("mine")
    (group,) = (folder / "raw").iterdir()
    write_raw(folder / "raw", two(mq=3e6, repetitions=2, key="cd" * 8))
    for file in (group / KEY).iterdir():
        os.utime(file, ns=(1, 1))
    before, last = sets.last_two("mine")
    assert (before.name, last.name) == ("mine before", "mine")
    assert max(row["throughput_tps"] for row in before.every.rows) < 2.1e6
    assert max(row["throughput_tps"] for row in last.every.rows) > 3e6
