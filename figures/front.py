"""The front page: every set of results there is, each with its machine, findings and page.

A set has a folder and a page of its own, by its profile and data, so that no run overwrites what
another has found.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from experiments.judging.claims import UsageError, read_verdicts
from experiments.judging.findings import headline
from experiments.records.results import write_whole
from figures import page
from figures.told import tally_of

TITLE = "Millrace: what was measured"


def write_front(root: str | Path, output: str | Path) -> Path:
    """Write the page that leads to the report of each set of results below `root`.

    Parameters
    ----------
    root : path
        Holds a folder for each set, with claims/<paper>.json and report.html.
    output : path
        The page to write; it is replaced as a whole.
    """
    root, output = Path(root), Path(output)
    folders = sorted(file.parent for file in root.glob("*/report.html"))
    sections = [_set(folder, output) for folder in folders if (folder / "claims").is_dir()]
    header = f"<h1>{escape(TITLE)}</h1>"
    text = page.document(TITLE, header, "\n".join(sections), "")
    return write_whole(output, text.encode())


def _set(folder: Path, output: Path) -> str:
    """Return the section of one set of results, read from its verdicts alone.

    A set that cannot be told, as one that another version of Millrace made, is listed with the
    reason and is in no other's way.
    """
    link = escape((folder / "report.html").relative_to(output.parent).as_posix())
    heading = f'<h2><a href="{link}">{escape(folder.name)}</a></h2>'
    gallery = folder / "figures" / "index.html"
    if gallery.is_file():
        there = escape(gallery.relative_to(output.parent).as_posix())
        heading += f'<p><a href="{there}">All figures</a></p>'
    try:
        found = [read_verdicts(file) for file in sorted((folder / "claims").glob("*.json"))]
        answers = tally_of(found)
        machines = {f"{each['processor']}, {each['cores']} cores" for each in found}
        told = (
            f"<p><b>{escape(headline(answers))}</b></p>"
            f"<p>{escape(' and '.join(sorted(machines)))}</p>"
            f'<p class="soft">{escape("; ".join(each["title"] for each in found))}</p>'
            f"{page.tally(answers)}"
        )
    except UsageError as error:
        told = f'<p class="soft">{escape(str(error))}</p>'
    except KeyError as error:
        told = (
            f'<p class="soft">Judged by another version of Millrace: its verdicts lack {error}.</p>'
        )
    return f'<section id="{escape(folder.name)}">{heading}{told}</section>'
