"""Atomically written files: the state after a write that ends in the middle."""

from __future__ import annotations

import errno
import os

import pytest

from operators.running.whole import why, write_whole


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, done = tmp_path / "head", []
    sync, replace = os.fsync, os.replace

    def synced(number):
        (hidden,) = tmp_path.iterdir()
        done.append(("on the disk", hidden.name[0], hidden.read_bytes()))
        sync(number)

    def named(partial, to):
        done.append(("named", to.exists()))
        replace(partial, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", named)
    write_whole(path, b"whole", modified_ms=5)
    assert done == [("on the disk", ".", b"whole"), ("named", False)]
    assert path.read_bytes() == b"whole"
    assert path.stat().st_mtime_ns == 5_000_000


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "head"
    write_whole(path, b"before")

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as failed:
        write_whole(path, b"behind")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"head": b"before"}
    assert why(failed.value) == "No space left on device: free some space, and begin again"
    assert why(PermissionError(errno.EACCES, "Permission denied")) == "Permission denied"
