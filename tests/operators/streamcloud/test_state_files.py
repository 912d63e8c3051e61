"""Files of states: a version is complete or absent, and repetitions change nothing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from operators.contract import UsageError
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.saved import Log, pack_saved

WINDOW, NEW = 50, 20


def state(batch: int) -> list:
    """Return the state after a batch: a number, and a log of the last tuples."""
    end = NEW * (batch + 1)
    places = np.arange(max(0, end - WINDOW), end)
    return [np.array([batch]), Log(int(places[0]), np.array([places, -places]))]


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def written(store: StateFiles, batches: int) -> Path:
    for batch in range(batches):
        store.write(2, 1, batch, state(batch))
    return store.root / "2" / "1"


def test_a_batch_begins_with_the_state_behind_the_one_before(tmp_path):
    store = StateFiles(tmp_path)
    assert store.read(2, 1, 0) is None
    for batch in range(4):
        store.write(2, 1, batch, state(batch))
        assert pack_saved(store.read(2, 1, batch + 1)) == pack_saved(state(batch))
        # Not the batch's result: a repeated batch begins with the same state.
        assert batch == 0 or pack_saved(store.read(2, 1, batch)) == pack_saved(state(batch - 1))


def test_a_state_may_begin_behind_any_batch(tmp_path):
    store = StateFiles(tmp_path, keep=2)
    store.begin(2, 1, 8, state(8))
    for batch in (9, 10, 11):
        assert pack_saved(store.read(2, 1, batch)) == pack_saved(state(batch - 1))
        store.write(2, 1, batch, state(batch))
    assert "8.head" not in files_of(tmp_path / "2" / "1")


@pytest.mark.parametrize("batch", [1, 6, 9])
def test_a_version_that_is_missing_is_named(tmp_path, batch):
    store = StateFiles(tmp_path)
    folder = written(store, 8)
    (folder / "5.head").unlink()
    for use in (lambda: store.read(2, 1, batch), lambda: store.write(2, 1, batch, state(batch))):
        with pytest.raises(UsageError, match=rf"2/1/{batch - 1}\.head: cannot be read: No such"):
            use()


def test_as_many_versions_are_kept_as_one_says_and_what_they_need(tmp_path):
    folder = written(StateFiles(tmp_path, keep=2), 8)
    # The window of version 6 is [90, 140): the tuples of batches 4, 5 and 6.
    heads, segments = ["6.head", "7.head"], [f"{n}.segment" for n in (4, 5, 6, 7)]
    assert files_of(folder) == sorted([*heads, *segments])
    for batch in (6, 7):
        found = StateFiles(tmp_path).read(2, 1, batch + 1)
        assert pack_saved(found) == pack_saved(state(batch))


def test_the_largest_state_is_that_of_all_instances_before_the_streams_closed(tmp_path):
    store = StateFiles(tmp_path)
    assert store.largest_bytes() == 0
    folder = written(store, 8)
    # The window of version 7 is [110, 160): the tuples of batches 5, 6 and 7.
    needed = ("7.head", "5.segment", "6.segment", "7.segment")
    one = sum((folder / name).stat().st_size for name in needed)
    assert store.largest_bytes() == one > 8 * 2 * WINDOW
    for batch in range(8):
        store.write(0, 0, batch, state(batch))
    assert store.largest_bytes() == 2 * one
    for place, number in ((2, 1), (0, 0)):
        store.write(place, number, 8, [np.array([8]), Log(160, np.zeros((2, 0), dtype=np.int64))])
    assert store.largest_bytes() == 2 * one


def test_a_batch_that_is_repeated_writes_nothing_anew(tmp_path):
    store = StateFiles(tmp_path)
    folder = written(store, 5)
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.iterdir()}
    store.write(2, 1, 4, state(4))
    after = {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.iterdir()}
    assert after == before


@pytest.mark.parametrize("other", [
    [np.array([7]), state(4)[1]], [state(4)[0], state(4)[1]._replace(words=state(4)[1].words + 1)],
])  # fmt: skip
def test_a_batch_that_leads_to_another_state_is_named(tmp_path, other):
    store = StateFiles(tmp_path)
    written(store, 5)
    with pytest.raises(UsageError, match="^batch 4, instance 1 of stage 2: it was repeated, and"):
        store.write(2, 1, 4, other)


@pytest.mark.parametrize("name", ["4.segment", "4.head"])
def test_a_batch_that_broke_off_is_done_again(tmp_path, name, monkeypatch):
    store = StateFiles(tmp_path)
    folder = written(store, 4)
    replace = os.replace

    def broken(partial, path):
        if path.name == name:
            raise OSError(28, "No space left on device")
        replace(partial, path)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(UsageError, match="2/1: the state cannot be written: No space left on dev"):
        store.write(2, 1, 4, state(4))
    monkeypatch.undo()
    assert not [each for each in files_of(folder) if each.startswith(".")]
    assert pack_saved(store.read(2, 1, 4)) == pack_saved(state(3))
    store.write(2, 1, 4, state(4))
    assert pack_saved(store.read(2, 1, 5)) == pack_saved(state(4))


@pytest.mark.parametrize("name", ["4.head", "3.segment"])
@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_file_with_a_wrong_bit_is_refused(tmp_path, name, at):
    store = StateFiles(tmp_path)
    path = written(store, 5) / name
    body = bytearray(path.read_bytes())
    body[at] ^= 1
    path.write_bytes(body)
    what = "4.head" if name == "4.head" else "segment 3"
    with pytest.raises(UsageError, match=f"2/1: the state in it is damaged: {what} is not"):
        store.read(2, 1, 5)


def test_a_segment_that_is_gone_is_named(tmp_path):
    store = StateFiles(tmp_path)
    (written(store, 5) / "3.segment").unlink()
    with pytest.raises(UsageError, match=r"3\.segment: cannot be read: No such file"):
        store.read(2, 1, 5)


def test_what_is_no_state_is_left_alone(tmp_path):
    store = StateFiles(tmp_path, keep=2)
    folder = written(store, 2)
    (folder / "notes.head").write_text("mine")
    (folder / ".9.head.part").write_text("broken off")
    store.write(2, 1, 2, state(2))
    assert pack_saved(store.read(2, 1, 3)) == pack_saved(state(2))
    assert {"notes.head", ".9.head.part"} <= set(files_of(folder))
