"""The command ``make test-changed``: the commit it compares with, and the exit status."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.changes import __main__ as command
from tests.changes.selection import Selection


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Return a function that runs git in a new repository, which the command then uses."""

    def run(*arguments):
        identity = ("-c", "user.name=t", "-c", "user.email=t@t")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    monkeypatch.setattr(command, "ROOT", tmp_path)
    run("init", "-b", "main")
    return run


@pytest.mark.parametrize(
    ("statuses", "status"),
    [([], 0), ([5, 0], 0), ([-9, 0], 137), ([0, -15], 143), ([-9, 1], 137), ([5, 2, -9], 2)],
)
def test_the_first_run_that_fails_or_is_killed_decides(statuses, status):
    assert command.status_of(statuses) == status


def test_a_run_that_is_killed_fails(monkeypatch):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(command, "PYTEST", (sys.executable, "-c", kill))
    assert command.run(Selection(files={"tests/test_any.py"}), []) == 137


def test_the_base_is_where_a_branch_left_main(git, capsys):
    for number in "123":
        git("commit", "--allow-empty", "-m", number)
    first, second, third = git("rev-list", "--reverse", "HEAD").split()
    assert command.default_base() == "HEAD~1"
    assert "compared with HEAD~1" in capsys.readouterr().err
    git("update-ref", "refs/remotes/origin/main", first)
    assert command.default_base() == first
    git("switch", "-c", "branch")
    git("commit", "--allow-empty", "-m", "4")
    assert command.default_base() == third
    git("branch", "-D", "main")
    git("update-ref", "refs/remotes/origin/main", second)
    assert command.default_base() == second
    git("update-ref", "-d", "refs/remotes/origin/main")
    with pytest.raises(SystemExit, match="give BASE="):
        command.default_base()


def test_a_file_with_a_syntax_error_is_said_in_one_line(git, tmp_path, monkeypatch):
    git("commit", "--allow-empty", "-m", "one")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_tidy.py").write_text("")
    (tmp_path / "tests" / "test_broken.py").write_text("\ndef test(:\n")
    monkeypatch.setattr(sys, "argv", ["make test-changed", "--base", "HEAD"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == "millrace: tests/test_broken.py:2: invalid syntax"


def test_a_change_is_what_commits_the_working_tree_and_new_files_differ_in(git, tmp_path):
    for name in ("kept", "edited", "deleted", "committed"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "one")
    git("switch", "-c", "branch")
    (tmp_path / "committed").write_text("other")
    git("commit", "-am", "three")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").write_text("new")
    base = command.default_base()
    assert command.changed_since(base) == {"committed", "edited", "deleted", "new"}
    assert command.text_at(base, "committed") == "committed"
    assert command.text_at(base, "new") is None
