"""Which of this project's files a module is made of, and what is read out of a file, once.

Keys of kernels and of rows are made of what source files say, and parsing three hundred files three
times took each process of a workflow three seconds of its eight. What is read out of a text depends
on the text alone: it is kept on disk, beside the compiled kernels, and found again by the text.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("operators", "datasets", "experiments", "figures", "tests")
KEPT = "sources.jsonl"
# Answers about texts that are no more stay until there are so many of them.
MOST_KEPT_BYTES = 1 << 23
STARTED_NS = time.time_ns()


def cache_folder() -> Path:
    """Return the folder of compiled kernels: ``NUMBA_CACHE_DIR``, or one beside the sources."""
    return Path(os.environ.get("NUMBA_CACHE_DIR") or ROOT / ".kernel-cache")


# --- what is read out of a text ------------------------------------------------------------------


def by_text(read: Callable[[str], Any]) -> Callable[[Path], Any]:
    """Return `read`, a function of a source file's text, as one of the file that does it once.

    Parameters
    ----------
    read : callable
        Its answer has a form in JSON, and depends on nothing but the text, the module that `read`
        stands in, and the version of Python.
    """
    module = Path(read.__code__.co_filename)
    asked = hashlib.sha256(f"{read.__qualname__} {sys.version}".encode())
    asked.update(module.read_bytes())
    # Else `read` may be what the module was before, and its answers would be kept as those of now.
    unedited = module.stat().st_mtime_ns < STARTED_NS

    @cache
    def of_version(file: Path, changed_ns: int) -> Any:
        text = file.read_bytes()
        if not unedited:
            return read(text.decode())
        key = asked.copy()
        key.update(text)
        name, folder = key.hexdigest(), cache_folder()
        known = _known(folder)
        if name not in known:
            known[name] = read(text.decode())
            _keep(folder, name, known[name])
        return known[name]

    @wraps(read)
    def answer(file: Path) -> Any:
        return of_version(file, file.stat().st_mtime_ns)

    return answer


@cache
def _known(folder: Path) -> dict[str, Any]:
    """Return the answers that a folder had when it was first asked, and those given since."""
    found: dict[str, Any] = {}
    file = folder / KEPT
    with suppress(OSError):
        if file.stat().st_size > MOST_KEPT_BYTES:
            file.unlink()
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            # Of a process that was killed in the middle of it.
            with suppress(ValueError):
                name, answer = json.loads(line)
                found[name] = answer
    return found


def _keep(folder: Path, name: str, answer: Any) -> None:
    """Append an answer in one piece: other processes do the same."""
    # Where nothing can be written everything is read each time; ``millrace doctor`` says so.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / KEPT, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, f"{json.dumps([name, answer])}\n".encode())
        finally:
            os.close(file)


# --- imports -------------------------------------------------------------------------------------


def _module_file(name: str) -> Path | None:
    """Return the source file of the project's module `name`, or None where it is not one."""
    package, *rest = name.split(".")
    if package not in PACKAGES:
        return None
    # A folder elsewhere on Python's path may have joined the package.
    for folder in getattr(sys.modules.get(package), "__path__", (ROOT / package,)):
        base = Path(folder, *rest)
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


@by_text
def _imported_names(text: str) -> list[str]:
    """Return what a text imports, by full name; a name imported from a package may be a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
            found.add(node.module)
    return sorted(name for name in found if name.partition(".")[0] in PACKAGES)


@cache
def imported_files(file: Path) -> frozenset[Path]:
    """Return the project's files that `file` imports itself."""
    return frozenset(f for f in map(_module_file, _imported_names(file)) if f is not None)


def import_closure(file: Path) -> list[Path]:
    """Return `file` and every file of the project it imports, directly or not, sorted."""
    seen: set[Path] = set()
    waiting = [Path(file).resolve()]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting.extend(imported_files(current))
    return sorted(seen)
