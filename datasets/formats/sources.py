"""Finds and opens recorded files: paths, globs, archive members, gzip.

`find_sources` resolves the entries of a mapping to files in a fixed order: the order of the
entries, and alphabetical order within an entry that means several files, so that an archive and the
extracted folder give the same set. `Opener` returns the decompressed bytes of a file and refuses,
in one line, a file that is missing, empty, truncated or inconsistent with its name.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from glob import escape, glob, has_magic
from pathlib import Path
from typing import BinaryIO, NamedTuple

from datasets.formats.mapping import Mapping
from operators.contract import UsageError

TAR_ENDINGS = (".tar.gz", ".tgz", ".tar")
ARCHIVE_ENDINGS = (*TAR_ENDINGS, ".zip")
ENDINGS = {
    "london-smart-meter": (".csv", ".csv.gz"),
    "wide-electricity": (".csv", ".csv.gz", ".txt", ".txt.gz"),
    "stack-exchange-comments": ("comments.xml", "comments.xml.gz"),
    "table": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"),
}
"""The endings of file names for each format, in lower case."""

BEGINNINGS = (
    (b"\x1f\x8b", "gzip"),
    (b"PAR1", "Parquet"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
"""The first bytes that identify the content of a file."""


class Source(NamedTuple):
    """One file of recorded data."""

    label: str
    """The name in messages and `rejected.csv`.

    The path relative to the mapping or to the folder from the environment, with the member of an
    archive.
    """
    path: Path
    member: str | None

    @property
    def folder(self) -> str:
        """Name of the folder of the file; for an archive without folders, the archive's name."""
        if self.member is None:
            return self.path.resolve().parent.name
        parents = self.member.rsplit("/", 2)
        if len(parents) > 1:
            return parents[-2]
        name = self.path.name
        return name[: -len(next(e for e in ARCHIVE_ENDINGS if name.lower().endswith(e)))]


def find_sources(mapping: Mapping) -> list[Source]:
    """Return the files that a mapping names, in order.

    Raises
    ------
    UsageError
        If an entry matches nothing, names a variable that is not set, or has an ending that the
        mapping's format does not support.
    """
    found: dict[tuple[Path, str | None], Source] = {}
    for entry in mapping.files:
        for source in _of_entry(mapping, entry):
            found.setdefault((source.path, source.member), source)
    for source in found.values():
        name = (source.member or source.path.name).lower()
        if not name.endswith(ENDINGS[mapping.format]):
            raise UsageError(
                f"{source.label}: format {mapping.format} reads files that end in "
                f"{', '.join(ENDINGS[mapping.format])} (also inside .tar.gz, .tgz, .tar, .zip)"
            )
    return list(found.values())


def _of_entry(mapping: Mapping, entry: str) -> list[Source]:
    path, root = _expand(mapping, entry)
    path, member = _split_at_archive(path)
    # Brackets in the folder's name, or in the name of an existing file, are not a pattern.
    below = str(path).removeprefix(str(root))
    if has_magic(below) and not path.exists():
        pattern = escape(str(root)) + below if path.is_relative_to(root) else str(path)
        paths = sorted(Path(one) for one in glob(pattern) if not Path(one).is_dir())
        if not paths:
            raise UsageError(f"mapping {mapping.path}: no file matches {entry}")
    else:
        paths = [path]
    sources = []
    for one in paths:
        if not one.exists():
            raise UsageError(f"{one} does not exist: mapping {mapping.path} names it in 'files'")
        if one.is_dir():
            raise UsageError(f"{one} is a folder: name its files, for example {entry}/*.csv")
        label = str(one.relative_to(root)) if one.is_relative_to(root) else str(one)
        if not one.name.lower().endswith(ARCHIVE_ENDINGS):
            sources.append(Source(label, one, None))
            continue
        usual = tuple(f"*{ending}" for ending in ENDINGS[mapping.format])
        members = _members(one, label, (member,) if member else usual)
        sources += [Source(f"{label}/{name}", one, name) for name in members]
    return sources


def _expand(mapping: Mapping, entry: str) -> tuple[Path, Path]:
    """Replace ${NAME}; return the path, and the folder that labels are relative to."""

    def value(match: re.Match) -> str:
        name = match.group(1)
        if not os.environ.get(name):
            raise UsageError(
                f"mapping {mapping.path} uses ${{{name}}}, which is not set: set {name} to the "
                "folder of the recorded files, or write their paths into the mapping"
            )
        return os.environ[name]

    leading = re.match(r"\$\{(\w+)\}(?=/)", entry)
    root = Path(value(leading) if leading else mapping.folder).absolute()
    return root / re.sub(r"\$\{(\w+)\}", value, entry), root


def _split_at_archive(path: Path) -> tuple[Path, str | None]:
    """Split a/b.tar.gz/c/*.csv into the archive and the pattern of its members."""
    for parent in reversed(path.parents):
        if parent.name.lower().endswith(ARCHIVE_ENDINGS) and not parent.is_dir():
            return parent, path.relative_to(parent).as_posix()
    return path, None


def _members(path: Path, label: str, patterns: tuple[str, ...]) -> list[str]:
    """Return the names of the matching files in an archive, sorted, without hidden ones."""
    with ExitStack() as stack, plain_errors(label):
        _refuse_other_content(path, label)
        if path.name.lower().endswith(TAR_ENDINGS):
            archive = stack.enter_context(tarfile.open(path))
            names = [member.name for member in archive if member.isfile()]
        else:
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    exact = len(patterns) == 1
    chosen = sorted(
        name
        for name in names
        if any(fnmatchcase(name if exact else name.lower(), pattern) for pattern in patterns)
        and not name.rsplit("/", 1)[-1].startswith(".")
    )
    if not chosen:
        raise UsageError(f"{label} holds no file that matches {' or '.join(patterns)}")
    return chosen


def _refuse_other_content(path: Path, label: str) -> None:
    """Refuse an empty archive, and a gzip name without gzip content, which tarfile would open."""
    with open(path, "rb") as handle:
        head = handle.read(6)
    if not head:
        raise UsageError(f"{label} is empty (0 bytes): fetch the file again")
    if path.name.lower().endswith((".gz", ".tgz")) and not head.startswith(b"\x1f\x8b"):
        raise UsageError(f"{label} is named as gzip but is not: {_what_is(head)}; rename it")


def _what_is(head: bytes) -> str:
    for beginning, what in BEGINNINGS:
        if head.startswith(beginning):
            return f"it holds {what}"
    return "it holds plain text" if _is_text(head) else "it holds binary data"


def _is_text(head: bytes) -> bool:
    """Return whether the first bytes of a file, possibly cut within a letter, can be UTF-8 text."""
    try:
        letters = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return all(letter.isprintable() or letter in "\t\r\n\ufeff" for letter in letters)


@contextmanager
def plain_errors(label: str) -> Iterator[None]:
    """Turn exceptions about broken files into one line that names the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(
            f"{label} is broken or cut short ({error}): fetch the file again"
        ) from None
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise UsageError(f"{label} is not an archive of its name ({error})") from None
    except OSError as error:
        why = error.strerror or str(error).splitlines()[0]
        raise UsageError(f"{label} cannot be read: {why}") from None


class Opener(ExitStack):
    """Opens sources; an archive stays open until the last of its members has been read."""

    def __init__(self) -> None:
        super().__init__()
        self._archives: dict[Path, tarfile.TarFile | zipfile.ZipFile] = {}

    @contextmanager
    def open(self, source: Source) -> Iterator[BinaryIO]:
        """Yield a buffered stream of the decompressed bytes of a source, after a content check."""
        name = (source.member or source.path.name).lower()
        with ExitStack() as stack:
            handle = stack.enter_context(self._raw(source))
            head = handle.peek(8)[:8]
            if not head:
                raise UsageError(f"{source.label} is empty (0 bytes): fetch the file again")
            if name.endswith(".gz"):
                if not head.startswith(b"\x1f\x8b"):
                    raise UsageError(
                        f"{source.label} is named .gz but is not gzip: {_what_is(head)}; rename it"
                    )
                unzipped = stack.enter_context(gzip.GzipFile(fileobj=handle))
                handle = stack.enter_context(io.BufferedReader(unzipped))
                head = handle.peek(8)[:8]
                if not head:
                    raise UsageError(f"{source.label} is empty once decompressed")
                name = name.removesuffix(".gz")
            _check_beginning(source.label, name, head)
            yield handle

    def _raw(self, source: Source) -> io.BufferedReader:
        if source.member is None:
            return open(source.path, "rb")
        if source.path not in self._archives:
            is_tar = source.path.name.lower().endswith(TAR_ENDINGS)
            archive = tarfile.open(source.path) if is_tar else zipfile.ZipFile(source.path)
            self._archives[source.path] = self.enter_context(archive)
        archive = self._archives[source.path]
        if isinstance(archive, tarfile.TarFile):
            return archive.extractfile(source.member)
        return io.BufferedReader(archive.open(source.member))


def _check_beginning(label: str, name: str, head: bytes) -> None:
    if name.endswith(".parquet"):
        if not head.startswith(b"PAR1"):
            raise UsageError(
                f"{label} is named .parquet but is not Parquet: {_what_is(head)}; rename it"
            )
        return
    known = [what for beginning, what in BEGINNINGS if head.startswith(beginning)]
    if known or b"\0" in head:
        what = known[0] if known else "binary data"
        raise UsageError(
            f"{label} is named as text but holds {what}: rename it, or convert it to UTF-8"
        )
