"""Atomic replacement of files: a file is complete, or as it was before."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from uuid import uuid4

_FULL = (errno.ENOSPC, errno.EDQUOT)


def write_whole(path: Path, body: bytes | memoryview, modified_ms: int | None = None) -> None:
    """Write a file under a hidden name, and rename it when it is complete and on the disk.

    If the process or the machine ends before, the old content remains; so no reader sees half a
    file, not even after a power failure.

    Parameters
    ----------
    path : Path
        A path in an existing folder. Several processes may write it concurrently.
    body : bytes or memoryview
    modified_ms : int, optional
        The file's modification time in milliseconds since 1970; the current time by default.

    Raises
    ------
    OSError
    """
    partial = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(partial, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        if modified_ms is not None:
            os.utime(partial, ns=(modified_ms * 1_000_000,) * 2)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def why(error: OSError) -> str:
    """Return why a file cannot be written, with the remedy for a full disk."""
    remedy = ": free some space, and begin again" if error.errno in _FULL else ""
    return f"{error.strerror}{remedy}"
