"""The front page: every set of results there is, each with its machine, verdicts and page.

A set has a folder and a page of its own, by its profile and data, so that no run overwrites what
another has found.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from figures import load, page
from figures.report import write_page
from figures.told import read_told, tally_of

TITLE = "Millrace: what was measured"


def write_front(root: str | Path, output: str | Path) -> Path:
    """Write the page that leads to the report of each set of results below `root`.

    Parameters
    ----------
    root : path
        Holds a folder for each set, with claims/<paper>.json and report.html.
    output : path
        The page to write; it is replaced as a whole.

    Raises
    ------
    UsageError
        When a set is damaged.
    """
    root, output = Path(root), Path(output)
    folders = sorted(file.parent for file in root.glob("*/report.html"))
    sections = [_set(folder, output) for folder in folders if (folder / "claims").is_dir()]
    header = f"<h1>{escape(TITLE)}</h1>"
    return write_page(page.document(TITLE, header, "\n".join(sections), ""), output)


def _set(folder: Path, output: Path) -> str:
    """Return the section of one set of results."""
    told = read_told(folder)
    rows = told[0].results.rows
    papers = "; ".join(each.paper.title for each in told)
    link = escape((folder / "report.html").relative_to(output.parent).as_posix())
    return (
        f'<section id="{escape(folder.name)}"><h2><a href="{link}">{escape(folder.name)}</a></h2>'
        f"<p>{escape(load.machine_of(told[0].results, rows))}</p>"
        f'<p class="soft">{escape(papers)}</p>{page.tally(tally_of(told))}</section>'
    )
