"""The project files that a module imports, and cached results of reading source files.

Keys of kernels and of rows are made from the text of source files, and parsing three hundred files
three times took each process of a workflow three seconds of its eight. A result depends on the
text alone: it is kept on disk, with the compiled kernels, and looked up by the text.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("operators", "datasets", "experiments", "figures", "tests")
KEPT = "sources.jsonl"
# Set once the message that no kernels are kept has been printed.
NOT_KEPT = "MILLRACE_NOT_KEPT"
# Results for texts that no longer exist stay until the file has this size.
MOST_KEPT_BYTES = 1 << 23
STARTED_NS = time.time_ns()


def cache_folder() -> Path:
    """Return the folder of compiled kernels.

    It is ``NUMBA_CACHE_DIR``, or a folder next to the sources, or where those cannot be written the
    user's cache folder.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named) if named else _own_folder()


@cache
def _own_folder() -> Path:
    beside = ROOT / ".kernel-cache"
    if os.access(beside if beside.exists() else ROOT, os.W_OK):
        return beside
    return user_folder() / "kernels"


def user_folder() -> Path:
    """Return millrace's folder among the user's cache folders; it need not exist.

    A user without a home gets one among temporary files, which no other user shares.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    home = os.path.expanduser("~")
    if os.path.isabs(named):
        return Path(named) / "millrace"
    if os.path.isabs(home):
        return Path(home) / ".cache" / "millrace"
    return Path(tempfile.gettempdir()) / f"millrace-of-{os.getuid()}"


def not_kept(error: OSError) -> None:
    """Say once, in this process and its children, that nothing can be kept and why."""
    if os.environ.get(NOT_KEPT):
        return
    os.environ[NOT_KEPT] = "1"
    print(
        f"millrace: compiled kernels cannot be kept in {cache_folder()} ({error.strerror}), and"
        " each start compiles them anew; name a folder that can be written with NUMBA_CACHE_DIR",
        file=sys.stderr,
    )


# --- results of reading a text -------------------------------------------------------------------


def by_text(read: Callable[[str], Any]) -> Callable[[Path], Any]:
    """Return `read`, a function of a source file's text, as a cached function of the file.

    Parameters
    ----------
    read : callable
        The result must have a form in JSON, and depend only on the text, the module that defines
        `read`, and the version of Python.
    """
    module = Path(read.__code__.co_filename)
    asked = hashlib.sha256(f"{read.__qualname__} {sys.version}".encode())
    asked.update(module.read_bytes())
    # Otherwise `read` may be the module's former version, and would be cached as the current one.
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
    """Return the results that a folder had when it was first asked, and those added since."""
    found: dict[str, Any] = {}
    file = folder / KEPT
    with suppress(OSError):
        if file.stat().st_size > MOST_KEPT_BYTES:
            file.unlink()
    if file.is_file():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            # A line cut off when a process was killed.
            with suppress(ValueError):
                name, answer = json.loads(line)
                found[name] = answer
    return found


def _keep(folder: Path, name: str, answer: Any) -> None:
    """Append a result in one write: other processes do the same."""
    # Where nothing can be written, every text is read each time; ``millrace doctor`` says so.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / KEPT, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, f"{json.dumps([name, answer])}\n".encode())
        finally:
            os.close(file)


# --- imports -------------------------------------------------------------------------------------


def _module_file(name: str) -> Path | None:
    """Return the source file of the project's module `name`, or None where there is none."""
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
    """Return the full names that a text imports; a name imported from a package may be a module."""
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
    """Return the project's files that `file` imports directly."""
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
