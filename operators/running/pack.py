"""Packs an archive of Millrace for executors without a checkout: code and compiled kernels.

Spark unpacks it in each executor's working folder, and Python there imports from it
(`spark_session(archive=...)`). It contains:

    operators/, datasets/       the source code
    kernel-cache/               kernels compiled here, which executors would compile once each
    site-packages/              the packages that the code imports, if they are asked for

Kernels are looked up by the text of their sources, the versions of the compiler and the kind of
processor (`operators.core.kernel_keys`), and not by path. So they are found wherever the archive is
unpacked, on nodes with a processor of this kind; other nodes compile. The sources are packed as
plain files, not as a zip file, since the keys are computed from them.

The archive is reproducible: equal contents give equal bytes, without times or users.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Collection, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from operators.contract import UsageError
from operators.core.sources import KEPT, ROOT, cache_folder
from operators.running.spark_settings import KERNELS, PACKAGES

CODE = ("operators", "datasets")
# Packages that the code imports on an executor; the packages' dependencies are added. Spark brings
# pyspark itself.
NEEDED = ("numba", "numpy", "pandas", "psutil", "pyarrow", "PyYAML")
# Parts of packages that only serve to build or test the packages.
UNNEEDED = re.compile(r"(^|/)\.\.(/|$)|\.py[co]$|^(numba|pandas|pyarrow)/tests/|^pyarrow/include/")


class Packed(NamedTuple):
    """The size of an archive."""

    files: int
    kernels: int
    bytes: int


def pack(
    output: Path,
    kernels: Collection[Path] = (),
    *,
    environment: bool = False,
    overwrite: bool = False,
) -> Packed:
    """Write the archive.

    Parameters
    ----------
    output
        The archive's path, which ends in .tar.gz. The file appears when it is complete.
    kernels
        Files of the kernel cache to include, such as `operators.core.inside_numba.kept` finds.
    environment
        Whether to include the packages: hundreds of megabytes. Nodes then need a Python of this
        version, and the same kind of system.
    overwrite
        Whether to replace an existing archive.

    Returns
    -------
    Packed

    Raises
    ------
    UsageError
        If the output exists, has another suffix, or cannot be written, or a package is missing.
    """
    output = output.absolute()
    if not output.name.endswith(".tar.gz"):
        raise UsageError(f"{output} does not end in .tar.gz, by which Spark knows how to unpack it")
    if os.path.lexists(output) and not overwrite:
        raise UsageError(f"{output} exists; remove it, name another file, or overwrite it")
    files = dict(_code())
    if environment:
        files |= dict(_packages())
    files |= {f"{KERNELS}/{path.name}": path for path in kernels}
    members: dict[str, Path | bytes] = dict(files)
    if kernels:
        members[f"{KERNELS}/{KEPT}"] = _answers()
    partial = output.with_name(f".{output.name}.partial-{os.getpid()}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        _write(partial, members)
        partial.replace(output)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return Packed(len(members), len(kernels), output.stat().st_size)


def _code() -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file of the code, including data files."""
    for path in (path for package in CODE for path in (ROOT / package).rglob("*")):
        hidden = any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
        if path.is_file() and not hidden:
            yield path.relative_to(ROOT).as_posix(), path


def _packages() -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file of the packages and of their dependencies."""
    seen: set[str] = set()
    waiting = list(NEEDED)
    while waiting:
        name = waiting.pop()
        if name.lower() in seen:
            continue
        seen.add(name.lower())
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError as error:
            raise UsageError(f"the package {name} is not installed; run 'make setup'") from error
        for file in package.files or ():
            if not UNNEEDED.search(file.as_posix()):
                yield f"{PACKAGES}/{file.as_posix()}", Path(package.locate_file(file))
        for wanted in package.requires or ():
            # Skip those for another system, or for an extra.
            needed = re.match(r"[\w.-]+", wanted)
            if needed and ";" not in wanted:
                waiting.append(needed[0])


def _answers() -> bytes:
    """Return the cached facts about source files, which save executors from parsing them again."""
    file = cache_folder() / KEPT
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    whole = {}
    for line in lines:
        try:
            name, answer = json.loads(line)
        except ValueError:
            continue  # Truncated: the writing process was killed.
        whole[name] = json.dumps([name, answer])
    return "".join(f"{whole[name]}\n" for name in sorted(whole)).encode()


def _write(path: Path, members: Mapping[str, Path | bytes]) -> None:
    with (
        open(path, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(members):
            member = tarfile.TarInfo(name)
            # An old date: code newer than the process that runs it would count as edited.
            member.mtime = 1
            content = members[name]
            with io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb") as body:
                member.size = body.seek(0, io.SEEK_END)
                body.seek(0)
                archive.addfile(member, body)
