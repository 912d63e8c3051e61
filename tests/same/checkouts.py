"""The two sides of a comparison: sources in a folder, and the interpreter that runs them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ("-m", "experiments.cli")
# Prefixes of the environment variables that neither side inherits. They set where results lie and
# how kernels are compiled; a switch that only one side knows would change that side alone.
CLEARED = ("MILLRACE_", "NUMBA_", "PYTHONSTARTUP")


class CannotCompare(Exception):
    """The reason why no comparison can be made, in one line."""


@dataclass(frozen=True)
class Checkout:
    """A folder of sources, with a name for reports.

    Attributes
    ----------
    name : str
    folder : Path
    """

    name: str
    folder: Path

    @property
    def python(self) -> str:
        """The checkout's interpreter; else ours, provided that both require the same packages."""
        python = self.folder / ".venv" / "bin" / "python"
        if python.exists():
            return str(python)
        lock = "requirements.lock"
        if (self.folder / lock).read_bytes() != (ROOT / lock).read_bytes():
            raise CannotCompare(
                f"{self.name} needs other packages than those here: give a folder with its .venv"
            )
        return sys.executable

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess:
        """Run Python with `arguments` in `cwd`; the modules are those of this checkout."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(CLEARED)}
        return subprocess.run(
            [self.python, *map(str, arguments)],
            cwd=cwd,
            env={**kept, "PYTHONPATH": str(self.folder), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )

    def millrace(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess:
        """Run the command ``millrace``."""
        return self.run((*COMMAND, *arguments), cwd, environment)

    def python_files(self) -> list[str]:
        """Return the Python files that git tracks or would add; without git, all in the folder."""
        listed = ["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.py"]
        if (self.folder / ".git").exists():
            names = _git(self.folder, *listed).decode().splitlines()
            return sorted(name for name in set(names) if (self.folder / name).is_file())
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*.py"))
        return sorted(path.as_posix() for path in found)


def _git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    if done.returncode != 0:
        raise CannotCompare(" ".join(done.stderr.decode().split()))
    return done.stdout


@contextmanager
def opened(name: str, source: str | Path) -> Iterator[Checkout]:
    """Yield a checkout; a git revision is unpacked into a temporary folder for the duration.

    Raises
    ------
    CannotCompare
        When `source` is neither the folder of a checkout nor a revision of this one.
    """
    folder = Path(source).resolve()
    if (folder / "operators").is_dir():
        yield Checkout(name, folder)
        return
    packed = _git(ROOT, "archive", "--format=tar", str(source))
    with TemporaryDirectory(prefix="millrace-") as unpacked:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(unpacked, filter="data")
        yield Checkout(name, Path(unpacked))
