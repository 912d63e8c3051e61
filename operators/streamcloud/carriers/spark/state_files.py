"""States of instances as files, on a path that all executors see.

::

    root/2/0/17.head       the state of instance 0 of the stage numbered 2, behind batch 17,
    root/2/0/17.segment    and the tuples that the batch added to logs
                           (`operators.streamcloud.segments`)

A batch writes only new data. A file is written whole under a hidden name and then renamed, the head
last. Spark repeats a batch that it did not commit, so the state before it must stay until the next
one has begun: a few versions are kept, with the segments that they need. Every batch has a version,
so that a lost one is noticed. A head begins with a digest of the rest, and has those of the
segments: nearly any word of a state is valid, so that a damaged state would silently lead to wrong
rows.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from operators.contract import UsageError
from operators.running.whole import why, write_whole
from operators.streamcloud.saved import Saved
from operators.streamcloud.segments import Head, cut, pack_head, unpack_head, whole

HEAD, SEGMENT = ".head", ".segment"
_DIGEST_BYTES = sha256().digest_size


class StateFiles:
    """A store of states as files.

    Parameters
    ----------
    root : Path
    keep : int
        Versions that are kept of each instance; 2 at least.
    """

    def __init__(self, root: Path, keep: int = 3) -> None:
        self.root, self.keep = root, keep

    def read(self, place: int, number: int, batch: int) -> Saved | None:
        """Return the state with which a batch begins; None for the first batch, 0.

        Raises
        ------
        UsageError
            When a file is missing or damaged.
        """
        folder = self._folder(place, number)
        head = _before(folder, batch)
        if head is None:
            return None
        try:
            return whole(head, lambda segment: _read(folder / f"{segment}{SEGMENT}"))
        except ValueError as error:
            raise _damaged(folder, str(error)) from error

    def write(self, place: int, number: int, batch: int, saved: Saved) -> None:
        """Keep the state behind a batch, and delete old ones.

        Raises
        ------
        UsageError
            When the state before it is missing or damaged, it cannot be written, or a repeated
            batch has led to another state.
        """
        folder = self._folder(place, number)
        self._write(place, number, *cut(saved, batch, _before(folder, batch)))
        self._let_go(folder, batch)

    def begin(self, place: int, number: int, batch: int, saved: Saved) -> None:
        """Keep a state as the first one, as if it were behind a batch; errors as in `write`."""
        self._write(place, number, *cut(saved, batch))

    def largest_bytes(self) -> int:
        """Return the bytes of all instances' states behind one batch, the largest that are kept.

        The last batch closes the streams, and leaves next to nothing; those before it are kept.
        """
        found: dict[int, int] = {}
        for path in self.root.glob(f"*/*/*{HEAD}"):
            batch = int(path.stem)
            segments = {*_head_of(path.parent, batch).needed}
            files = [path, *(path.with_name(f"{each}{SEGMENT}") for each in segments)]
            found[batch] = found.get(batch, 0) + sum(each.stat().st_size for each in files)
        return max(found.values(), default=0)

    def _write(self, place: int, number: int, head: Head, segment: bytes | None) -> None:
        folder, batch, body = self._folder(place, number), head.number, pack_head(head)
        what = f"batch {batch}, instance {number} of stage {place}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if segment is not None:
                _put(folder / f"{batch}{SEGMENT}", segment, what)
            _put(folder / f"{batch}{HEAD}", sha256(body).digest() + body, what)
        except OSError as error:
            raise UsageError(f"{folder}: the state cannot be written: {why(error)}") from error

    def _let_go(self, folder: Path, batch: int) -> None:
        """Remove the heads before those that are kept, and the segments that these do not need."""
        heads = _numbers(folder, HEAD)
        oldest = min(each for each in heads if each > batch - self.keep)
        if heads[0] == oldest:
            return
        # A segment that a version does not need is not needed by any later one.
        needed = {*_head_of(folder, oldest).needed}
        for suffix in (HEAD, SEGMENT):
            for old in _numbers(folder, suffix):
                if old < oldest and (suffix == HEAD or old not in needed):
                    (folder / f"{old}{suffix}").unlink(missing_ok=True)

    def _folder(self, place: int, number: int) -> Path:
        return self.root / str(place) / str(number)


def _numbers(folder: Path, suffix: str) -> list[int]:
    """Return the batches of which a folder has files of a kind, ascending."""
    names = [path.stem for path in folder.glob(f"*{suffix}")]
    return sorted(int(name) for name in names if name.isdigit())


def _before(folder: Path, batch: int) -> Head | None:
    return _head_of(folder, batch - 1) if batch else None


def _head_of(folder: Path, batch: int) -> Head:
    path = folder / f"{batch}{HEAD}"
    body = memoryview(_read(path))
    digest, rest = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:]
    # A copy of another version has a valid digest, and is wrong here.
    if sha256(rest).digest() != digest or (head := unpack_head(rest)).number != batch:
        raise _damaged(folder, f"{path.name} is not what was written")
    return head


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _damaged(folder: Path, what: str) -> UsageError:
    return UsageError(f"{folder}: the state in it is damaged: {what}; begin anew in a new folder")


def _put(path: Path, body: bytes, what: str) -> None:
    """Write a file, unless it is there already.

    Raises
    ------
    UsageError
        When it is there with another body.
    """
    if path.exists():
        if _read(path) != body:
            raise UsageError(
                f"{what}: it was repeated, and has led to another state: functions of a query must"
                " give the same for the same tuple"
            )
        return
    write_whole(path, body)
