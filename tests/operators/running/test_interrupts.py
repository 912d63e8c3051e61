"""A Ctrl-C during a C callback, such as LLVM's: Python drops it, and it is raised again."""

from __future__ import annotations

import ctypes
import sys
import threading

import pytest

from operators.running.interrupts import interrupts_kept


def drop(error: BaseException) -> None:
    """Raise `error` in a C callback, where it cannot be caught."""

    def fail():
        raise error

    ctypes.CFUNCTYPE(None)(fail)()


def test_a_dropped_interrupt_is_raised_again(capsys):
    with pytest.raises(KeyboardInterrupt), interrupts_kept():
        drop(KeyboardInterrupt())
        threading.Event().wait(20)
    assert capsys.readouterr().err == ""


def test_it_is_raised_as_often_as_it_is_dropped():
    with interrupts_kept():
        drop(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            threading.Event().wait(20)
        drop(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            threading.Event().wait(20)


def test_what_else_is_dropped_is_shown_as_ever(monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: shown.append(dropped.exc_type))
    with interrupts_kept():
        drop(ZeroDivisionError())
    assert shown == [ZeroDivisionError]
    drop(KeyboardInterrupt())
    assert shown == [ZeroDivisionError, KeyboardInterrupt]
