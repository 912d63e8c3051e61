"""The front page of a set of results: each paper as one small forest plot, and its designs.

A paper has a page of its own, which this one leads to. The boxes say how near each design of a
paper comes to the best one over all settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from experiments.judging.findings import headline
from experiments.records.files import write_file
from figures import answers, design_boxes, forest_page, machine_state, names, page, run_before
from figures.files import FOREST, MACHINE
from figures.first_screen import banner_text
from figures.forest_rows import groups_of
from figures.page_data import PageData, read_pages, recommendations_of, rows_of, tally_of
from figures.settings_table import tables_of

Row = Mapping[str, Any]

TITLE = "What the papers say, and what this machine shows"
HINT = (
    "Each small plot has the statements of a paper as ratios on a logarithmic axis: right of the"
    " line at 1 the first side of a comparison is larger. The paper's page says which."
)
MACHINE_HINT = (
    "A dot is a run. A fixed loop before and after it says how fast a core was, a cache line that"
    " went from one core to the other how far apart the two were; both change with what the host of"
    " a virtual machine does. No run is left out for either: verdicts compare runs of one state."
)
MACHINE_ALT = "Speed of a core, and transfer time of a cache line between cores, over time"


def write_set_page(folder: str | Path, output: str | Path) -> Path:
    """Write the front page of a set of results, and its answers as a file; return the page.

    Parameters
    ----------
    folder : path
        Holds claims/<paper>.json, the raw results they name, and the page of each paper.
    output : path
        The page to write, in `folder`; an existing file is replaced.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    folder, output = Path(folder), Path(output)
    pages = read_pages(folder)
    papers = "".join(_paper(each, folder) for each in pages)
    boxes = [_boxes(each) for each in pages]
    rows = rows_of(pages)
    machine = _machine(pages, rows, folder)
    records = answers.answers_of(pages)
    answers.write_answers(records, folder)
    picks, since = answers.section(records), run_before.section(folder)
    parts = [picks, names.HERE, f'<div class="papers">{papers}</div>', since, *boxes, machine]
    content = "\n".join(filter(None, parts))
    text = page.document(f"{TITLE}: {folder.name}", _header(pages, rows, folder), content, "")
    return write_file(output, names.explained(text, answers.names_in(records)).encode())


def _header(pages: Sequence[PageData], rows: Sequence[Row], folder: Path) -> str:
    answers = tally_of(each.verdicts for each in pages)
    machines = {f"{each.verdicts['processor']}, {each.verdicts['cores']} cores" for each in pages}
    about = f"{' and '.join(sorted(machines))}; {len(rows):,} runs."
    titles = {each.paper.id: each.paper.title for each in pages}
    answer_of = {answer: answer for answer in page.BADGES}
    form = page.filters(
        {"paper": ("paper", titles), "answer": ("answers", answer_of)}, "section[data-answers]"
    )
    gallery = folder / "figures" / "index.html"
    every = ' · <a href="figures/index.html">All figures</a>' if gallery.is_file() else ""
    return (
        f'<p class="soft"><a href="../report.html">Millrace</a> · set {escape(folder.name)}{every}'
        f"</p>\n<h1>{escape(TITLE)}</h1>\n<p><b>{escape(headline(answers))}</b></p>\n"
        f"<p>{escape(about)}</p>\n{page.tally(answers)}\n"
        f'<p class="soft">{escape(HINT)}</p>{form}'
    )


def _paper(data: PageData, folder: Path) -> str:
    """Return the section of a paper: title, noise, small forest plot, and links."""
    verdicts, paper = data.verdicts, data.paper
    link = escape(f"{paper.id}.html")
    groups = groups_of(verdicts)
    answers = "|".join(answer for answer, count in verdicts["answers"].items() if count)
    own = recommendations_of(paper.id)
    links = [f'<a href="{link}">The page of the paper</a>']
    if own is not None and own.section(data.results):
        links.append(
            f'<a href="{link}#pick-{escape(paper.id)}">{escape(own.heading(data.results))}</a>'
        )
    for kind in ("pdf", "csv"):
        file = data.folder / f"{FOREST}.{kind}"
        if file.is_file():
            address = escape(file.relative_to(folder).as_posix())
            links.append(f'<a href="{address}">{kind.upper()} of the plot</a>')
    small = f'<a href="{link}#forest-{escape(paper.id)}">{forest_page.small(groups)}</a>'
    return (
        f'<section id="paper-{escape(paper.id)}" data-paper="{escape(paper.id)}"'
        f' data-answers="{escape(answers)}"><h2><a href="{link}">{escape(paper.title)}</a></h2>'
        f"<p><b>{escape(verdicts['headline'])}</b></p>"
        f'<p class="soft">{escape(banner_text(verdicts))}</p>{small if groups else ""}'
        f"<p>{' · '.join(links)}</p></section>"
    )


def _machine(pages: Sequence[PageData], rows: Sequence[Row], folder: Path) -> str:
    """Draw the machine during the runs, and return its section."""
    verdicts = pages[0].verdicts
    machine = f"{verdicts['processor'] or 'unknown processor'}, {verdicts['cores']} cores"
    files = machine_state.write_machine(rows, machine, folder / "figures")
    links = " ".join(
        f'<a href="figures/{each.name}">{each.suffix[1:].upper()}</a>' for each in files
    )
    look = "max-width: 100%"
    picture = f'<img src="figures/{MACHINE}.png" style="{look}" alt="{escape(MACHINE_ALT)}">'
    return page.section(
        MACHINE, machine_state.TITLE, f"<p>{escape(MACHINE_HINT)}</p>{picture}<p>Files: {links}</p>"
    )


def _boxes(data: PageData) -> str:
    """Return the boxes of a paper's designs; empty where it compares none."""
    content = design_boxes.of_tables(tables_of(data))
    if not content:
        return ""
    title = f"Designs over all settings: {escape(data.paper.title)}"
    text = page.section(f"designs-{data.paper.id}", title, content)
    return text.replace("<section ", f'<section data-paper="{escape(data.paper.id)}" ', 1)
