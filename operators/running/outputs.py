"""Outputs that appear atomically, complete, and are written by one run at a time.

A run writes to a hidden file next to the output, ``.NAME.partial-PID``, which is renamed to the
output's name at the end. Another hidden file, ``.NAME.claim-PID``, is locked for as long as the run
lasts; the system releases the lock when the process ends, however it ends. A second run can
therefore distinguish a working run from the remains of a killed one, and removes the latter.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from operators.contract import UsageError

PARTIAL, CLAIM = ".partial-", ".claim-"


def led_to(path: Path) -> Path:
    """Return the file to write: `path`, or the target if it is a link."""
    return Path(os.path.realpath(path))


def partial_of(path: Path) -> Path:
    """Return the hidden name under which this process writes the output `path`."""
    return _hidden(led_to(path), PARTIAL, os.getpid())


def _hidden(target: Path, kind: str, process: int) -> Path:
    return target.with_name(f".{target.name}{kind}{process}")


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Yield a hidden name next to `path`; the file of that name is renamed to `path` at the end.

    After an exception, including Ctrl-C, it is removed and `path` is unchanged. A link remains a
    link, and the target is written.
    """
    partial = partial_of(path)
    try:
        yield partial
        os.replace(partial, led_to(path))
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def claimed(path: Path, called: str | None = None) -> Iterator[None]:
    """Keep other processes from writing `path` within the context.

    Parameters
    ----------
    path : Path
        A file, in an existing folder.
    called : str, optional
        The output's name in messages; the path by default.

    Raises
    ------
    UsageError
        When another process is writing it; the message names that process.
    """
    target = led_to(path)
    claim = _hidden(target, CLAIM, os.getpid())
    with _alone_in(target.parent):
        _look_for_others(called or str(path), target)
        try:
            descriptor = os.open(claim, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            # The folder exists: /proc and similar file systems refuse in this way.
            raise UsageError(
                f"{called or path}: no file can be made in {target.parent}; write elsewhere"
            ) from None
        _is_locked(descriptor)
    try:
        yield
    finally:
        claim.unlink(missing_ok=True)
        os.close(descriptor)


@contextlib.contextmanager
def to_be_made(path: Path) -> Iterator[Path]:
    """Yield the file or folder that `path` leads to, and keep other processes from making it.

    Parameters
    ----------
    path : Path
        The output. If the parent folder does not exist yet, no other process can be at work in it.

    Raises
    ------
    UsageError
        As for `claimed`.
    """
    target = led_to(path)
    with claimed(path) if target.parent.is_dir() else contextlib.nullcontext():
        yield target if path.is_symlink() else path


def _look_for_others(called: str, target: Path) -> None:
    """Refuse if another process holds `target`, and remove the remains of killed ones."""
    beginning = f".{target.name}{CLAIM}"
    with os.scandir(target.parent) as entries:
        others = [each for each in entries if each.name.startswith(beginning)]
    for each in others:
        number = each.name.removeprefix(beginning)
        if not number.isdecimal() or not each.is_file(follow_symlinks=False):
            continue
        if _is_held(each.path):
            raise UsageError(
                f"{called} is being written by {named(int(number))}; wait until that has ended, or"
                " write elsewhere"
            )
        if not _runs(int(number)):
            for left in (Path(each.path), _hidden(target, PARTIAL, int(number))):
                _remove(left)


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        left.unlink()


def named(process: int) -> str:
    """Return a description of a process: the number, and the command if it is visible."""
    # The import takes 10 ms, and only a refused process needs it.
    import psutil

    try:
        command = " ".join(psutil.Process(process).cmdline())
    except psutil.Error:
        return f"process {process}"
    return f"process {process} ({command:.120})"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # It is another user's.
    return True


def _is_held(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False  # It has ended, or it is another user's: writing would then fail.
    try:
        return not _is_locked(descriptor)
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Lock an open file until it is closed; return whether no other process had it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # A file system without locks: every process may write.
    return True


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Exclude other processes while this one looks for others and claims."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield  # A folder that is writable and not readable.
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
