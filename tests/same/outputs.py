"""Verdicts, tables and pictures that two checkouts make of the same raw rows.

Each checkout runs its workflow, ``snakemake plots``, in a folder that contains only the rows. A
run that only draws takes the rows as they are, whatever sources they were measured with: it selects
by variant, setting and phase, and ignores the keys. So the rows need no rewriting, although a moved
file changes every key. If NEW cannot read them, there is no comparison.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.same.checkouts import CannotCompare, Checkout
from tests.same.files import differences, files_below
from tests.same.report import Finding

LABEL = "same"
# Sets of rows, as paths in BASE, each with its profile.
ROWS = (("results/quick", "quick"), ("docs/sixteen-cores/raw.tar.xz", "paper"))
COMPARED = (".json", ".csv", ".svg", ".html", ".png", ".pdf")


def is_compared(name: str) -> bool:
    """Return whether a file of a run is one that is made of the rows."""
    return name.endswith(COMPARED) and not name.startswith(("logs/", f"{LABEL}/raw/"))


def take_rows(source: Path, folder: Path) -> None:
    """Copy the raw files of a set of results, or of an archive of one.

    Raises
    ------
    CannotCompare
        When there are none.
    """
    if not source.exists():
        raise CannotCompare(f"no raw rows at {source}: measure them first, or name others (--rows)")
    with TemporaryDirectory() as unpacked:
        if source.is_file():
            shutil.unpack_archive(source, unpacked)
            source = next(Path(unpacked).rglob("raw"), source)
        elif (source / "raw").is_dir():
            source = source / "raw"
        shutil.copytree(source, folder)
    if not any(name.endswith(".jsonl") for name in files_below(folder)):
        raise CannotCompare(f"no raw rows in {source}")


def draw(checkout: Checkout, source: Path, profile: str, papers: str, folder: Path) -> None:
    """Judge and draw rows with the workflow of a checkout, into ``results`` of a folder.

    Raises
    ------
    CannotCompare
        When the workflow fails: its last lines.
    """
    take_rows(source, folder / "results" / LABEL / "raw")
    choice = [f"profile={profile}", f"label={LABEL}", "measure=False"]
    choice += [f"paper={papers}"] if papers else []
    where = ["--snakefile", checkout.folder / "Snakefile", "--directory", folder]
    done = checkout.run(
        ["-m", "snakemake", "plots", "--cores", "all", *where, "--config", *choice], cwd=folder
    )
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-15:]
        raise CannotCompare(f"{checkout.name} cannot draw {source}:\n" + "\n".join(last))


def compare(
    base: Checkout, new: Checkout, rows: Iterable[tuple[Path, str]], papers: str = ""
) -> Iterator[Finding]:
    """Yield the finding for each set of rows.

    Parameters
    ----------
    base, new : Checkout
    rows : iterable of (path, profile)
        Folders of results, or archives of one.
    papers : str
        Separated by commas; all by default.

    Raises
    ------
    CannotCompare
        When the workflow of one fails, or neither makes a file of the rows.
    """
    for source, profile in rows:
        with TemporaryDirectory(prefix="millrace-same-") as made:
            before, after = (Path(made, name) for name in ("base", "new"))
            for checkout, folder in ((base, before), (new, after)):
                folder.mkdir()
                draw(checkout, source, profile, papers, folder)
            found = list(differences(before / "results", after / "results", is_compared))
            names = [name for name in files_below(before / "results") if is_compared(name)]
        if not names and not found:
            raise CannotCompare(f"nothing is drawn from {source}")
        kinds = ", ".join(f"{sum(n.endswith(kind) for n in names)} {kind[1:]}" for kind in COMPARED)
        yield Finding(f"outputs: {source} as {profile}: BASE makes {kinds}", found)
