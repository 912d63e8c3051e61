"""The front page: every set of results, with machine, findings, and answers to first questions.

Each set has a folder and a page, named by profile and data, so that no run overwrites the findings
of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from experiments.judging.claims import UsageError, read_verdicts
from experiments.judging.findings import headline
from experiments.records.files import write_file
from figures import answers, names, page
from figures.forest_page import small
from figures.forest_rows import groups_of
from figures.page_data import tally_of

TITLE = "Millrace: what was measured"


def write_front(root: str | Path, output: str | Path) -> Path:
    """Write the page that links to the report of each set of results below `root`.

    Parameters
    ----------
    root : path
        Holds a folder for each set, with claims/<paper>.json and report.html.
    output : path
        The page to write; an existing file is replaced.
    """
    root, output = Path(root), Path(output)
    folders = sorted(file.parent for file in root.glob("*/report.html"))
    sections = [_set(folder, output) for folder in folders if (folder / "claims").is_dir()]
    header = f"<h1>{escape(TITLE)}</h1>"
    text = page.document(TITLE, header, "\n".join([*sections, names.HERE]), "")
    known = answers.names_in(each for folder in folders for each in answers.read_answers(folder))
    return write_file(output, names.explained(text, known).encode())


def _set(folder: Path, output: Path) -> str:
    """Return the section of one set of results, read from the verdicts alone.

    A set that cannot be read, such as one written by another version of Millrace, is listed with
    the reason and does not affect the others.
    """
    link = escape((folder / "report.html").relative_to(output.parent).as_posix())
    heading = f'<h2><a href="{link}">{escape(folder.name)}</a></h2>'
    gallery = folder / "figures" / "index.html"
    if gallery.is_file():
        there = escape(gallery.relative_to(output.parent).as_posix())
        heading += f'<p><a href="{there}">All figures</a></p>'
    try:
        found = [read_verdicts(file) for file in sorted((folder / "claims").glob("*.json"))]
        counts, records = tally_of(found), answers.read_answers(folder)
        machines = {f"{each['processor']}, {each['cores']} cores" for each in found}
        told = (
            f"<p><b>{escape(headline(counts))}</b></p>"
            f"<p>{escape(' and '.join(sorted(machines)))}</p>"
            f"{page.tally(counts)}{answers.first_questions(records, folder.name)}"
            f'<div class="papers">{_papers(folder, output, found)}</div>'
        )
    except UsageError as error:
        told = f'<p class="soft">{escape(str(error))}</p>'
    except KeyError as error:
        told = (
            f'<p class="soft">Judged by another version of Millrace: its verdicts lack {error}.</p>'
        )
    return f'<section id="{escape(folder.name)}">{heading}{told}</section>'


def _papers(folder: Path, output: Path, found: Sequence[Mapping[str, Any]]) -> str:
    """Return the title and the small forest plot of each paper of a set, with links to its page."""
    parts = []
    for verdicts in found:
        file = folder / f"{verdicts['paper']}.html"
        link = escape(file.relative_to(output.parent).as_posix())
        groups = groups_of(verdicts)
        plot = f'<a href="{link}">{small(groups)}</a>' if groups else ""
        parts.append(f'<div><a href="{link}">{escape(verdicts["title"])}</a>{plot}</div>')
    return "".join(parts)
