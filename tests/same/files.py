"""Two folders, compared byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.same.report import Difference, shown

NEWLINE = b"\n"


def files_below(folder: Path) -> dict[str, Path]:
    """Return the files below a folder by their paths in it."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def differences(
    base: Path, new: Path, compared: Callable[[str], bool] = lambda name: True
) -> Iterator[Difference]:
    """Yield each file that is not in both folders with equal bytes.

    Parameters
    ----------
    base, new : Path
    compared : callable
        Returns whether the file of a path counts.
    """
    olds = {name: path for name, path in files_below(base).items() if compared(name)}
    news = {name: path for name, path in files_below(new).items() if compared(name)}
    for name in sorted(olds.keys() | news.keys()):
        if name not in news:
            yield Difference(name, "only BASE makes it")
        elif name not in olds:
            yield Difference(name, "only NEW makes it")
        else:
            before, after = olds[name].read_bytes(), news[name].read_bytes()
            if before != after:
                yield Difference(name, first_difference(before, after))


def first_difference(before: bytes, after: bytes) -> str:
    """Return the position of the first difference and, for texts, how each continues there."""
    shorter = min(len(before), len(after))
    at = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    try:
        texts = before.decode(), after.decode()
    except UnicodeDecodeError:
        return f"byte {at} of {len(before)}"
    return f"line {before.count(NEWLINE, 0, at) + 1}: {shown(*texts)}"
