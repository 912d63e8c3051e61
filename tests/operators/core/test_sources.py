"""Files of a module, and answers derived from each file's text once for all processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from operators.core import sources
from operators.core.sources import ROOT, by_text, cache_folder, import_closure

READ = []


def lines(text: str) -> list[str]:
    READ.append(text)
    return text.splitlines()


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    """Return an empty folder of answers, and forget the answers read so far."""
    READ.clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path


def as_another_process() -> Callable[[Path], list[str]]:
    """Forget this process's answers, and return `lines` by the text."""
    sources._known.cache_clear()
    return by_text(lines)


def test_the_closure_of_a_file_is_itself_and_what_it_imports_from_the_project():
    names = {str(path.relative_to(ROOT)) for path in import_closure(Path(__file__))}
    assert {"operators/core/sources.py", "tests/operators/core/test_sources.py"} <= names
    # Indirectly, through the queue's imports.
    queue = import_closure(ROOT / "operators/core/michael_scott_queue.py")
    names = {str(path.relative_to(ROOT)) for path in queue}
    assert {"operators/core/atomics.py", "operators/contract.py"} <= names
    assert not any(name.startswith("tests") for name in names)


def test_the_cache_is_where_numba_is_told_to_keep_it(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert cache_folder() == ROOT / ".kernel-cache"


def test_a_text_is_read_once_whoever_asks_and_wherever_it_stands(folder):
    one, other = folder / "one.py", folder / "other.py"
    one.write_text("a\nb")
    other.write_text("a\nb")
    lines_of = as_another_process()
    assert lines_of(one) == lines_of(other) == ["a", "b"]
    assert as_another_process()(one) == ["a", "b"]
    assert READ == ["a\nb"]


def test_an_edited_file_is_read_again_and_the_old_text_is_still_known(folder):
    file, lines_of = folder / "one.py", as_another_process()
    for second, text in enumerate(("a", "b", "a")):
        file.write_text(text)
        # Faster edits than a file system can distinguish.
        os.utime(file, (second, second))
        assert lines_of(file) == [text]
    assert READ == ["a", "b"]


def test_two_readers_of_a_text_have_answers_of_their_own(folder):
    file = folder / "one.py"
    file.write_text("a")
    assert as_another_process()(file) == ["a"]
    assert by_text(how_long)(file) == 1


def how_long(text: str) -> int:
    return len(text)


def test_answers_of_a_reader_that_was_edited_meanwhile_are_not_kept(folder, monkeypatch):
    file = folder / "one.py"
    file.write_text("a")
    monkeypatch.setattr(sources, "STARTED_NS", 0)
    assert as_another_process()(file) == as_another_process()(file) == ["a"]
    assert READ == ["a", "a"] and not (folder / "kept").exists()


def test_a_line_that_was_cut_off_is_read_again(folder):
    file = folder / "one.py"
    file.write_text("a")
    as_another_process()(file)
    kept = folder / "kept" / sources.KEPT
    whole = kept.read_text()
    assert json.loads(whole)[1] == ["a"]
    kept.write_text(whole[:-6])
    assert as_another_process()(file) == ["a"] and READ == ["a", "a"]


def test_where_nothing_can_be_kept_it_is_read_each_time(folder):
    (folder / "kept").write_text("no folder")
    file = folder / "one.py"
    file.write_text("a")
    for _ in range(2):
        assert as_another_process()(file) == ["a"]
    assert READ == ["a", "a"]


def test_answers_that_have_become_too_many_begin_anew(folder, monkeypatch):
    file = folder / "one.py"
    file.write_text("a")
    as_another_process()(file)
    monkeypatch.setattr(sources, "MOST_KEPT_BYTES", 0)
    assert as_another_process()(file) == ["a"] and READ == ["a", "a"]
    assert len((folder / "kept" / sources.KEPT).read_text().splitlines()) == 1
