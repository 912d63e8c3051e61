"""A child measures in separate memory, and the parent learns how the child ended."""

from __future__ import annotations

import os
import signal
import threading

import psutil
import pytest

from experiments.timing.forks import in_child
from operators.running.run_threads import RunFailed, Stuck


def test_a_child_writes_files_and_leaves_its_parent_s_memory_alone(tmp_path):
    seen = {"before": 1}

    def do():
        seen["inside"] = 2
        (tmp_path / "pid").write_text(f"{os.getpid()} {sorted(seen)}")

    in_child(do)
    told = (tmp_path / "pid").read_text()
    assert told.endswith("['before', 'inside']") and not told.startswith(f"{os.getpid()} ")
    assert seen == {"before": 1}
    assert not psutil.pid_exists(int(told.split()[0]))


@pytest.mark.parametrize("error", [Stuck("still inside"), ValueError("a mistake")])
def test_what_a_child_raises_is_raised_here(error):
    def fail():
        raise error

    with pytest.raises(type(error), match=str(error)):
        in_child(fail)


def test_a_child_that_is_killed_is_told():
    with pytest.raises(RunFailed, match="ended with status -9"):
        in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_thread_that_hangs_in_a_child_holds_nobody_up(tmp_path):
    def hang():
        (tmp_path / "pid").write_text(str(os.getpid()))
        threading.Thread(target=threading.Event().wait).start()
        raise Stuck("still inside")

    with pytest.raises(Stuck):
        in_child(hang)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_the_child_too(tmp_path):
    def interrupt():
        (tmp_path / "pid").write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGINT)
        threading.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        in_child(interrupt)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))
