"""The page of a paper: the findings, and the figures and runs that support them.

The page reads the verdicts of one set of results, the raw results behind them, and the drawn
figures; it measures and judges nothing. A paper may add sections with two modules in
``figures/<paper>``: ``recommendations``, written from the results, and ``explained``, pictures of
the paper's subject.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from experiments import summaries
from experiments.declare import Figure
from experiments.judging.pool import PRACTICALLY_EQUAL
from experiments.records.columns import every
from experiments.records.files import write_file
from figures import (
    fidelity,
    figure_section,
    findings,
    first_screen,
    forest_page,
    how_to_read,
    load,
    matrix,
    measured_rows,
    names,
    page,
    peers_section,
    trade_off,
)
from figures.draw import saved
from figures.files import FOREST
from figures.inline_svg import Pictures
from figures.page_data import (
    PageData,
    explained_of,
    grouped,
    read_page,
    recommendations_of,
)
from figures.settings_table import SettingsTable, tables_of
from figures.style import look_of


def write_page(
    folder: str | Path,
    paper: str,
    output: str | Path,
    notebook: str = "",
    *,
    peers: bool = False,
) -> Path:
    """Write the page on one paper of a set of results, as one self-contained file; return its path.

    Parameters
    ----------
    folder : path
        Holds claims/<paper>.json, the raw results it names, and figures/<paper>/*.svg and *.csv.
    paper : str
    output : path
        The page to write, in `folder`; an existing file is replaced.
    notebook : str
        The executed notebook, as seen from the page; empty where there is none.
    peers : bool
        Whether the page shows the paper's figure of peers, which lies beside the other figures.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    folder, output = Path(folder), Path(output)
    data = read_page(folder, paper)
    tables = tables_of(data)
    pictures = Pictures()
    sections = [
        *_sections(data, tables, pictures),
        peers_section.section(data, pictures) if peers else "",
        how_to_read.section(data),
        _invalid(data.results),
        _data(folder, data.results),
        measured_rows.provenances(data),
        _glossary(),
        pictures.sheet(),
    ]
    body = "\n".join(filter(None, sections))
    title = f"{data.paper.title}: Millrace"
    header = _header(data, tables, notebook, peers)
    text = page.document(title, header, body, _footer(data.results))
    return write_file(output, names.explained(text, summaries.names_of(data.paper)).encode())


def _header(data: PageData, tables: list[SettingsTable], notebook: str, peers: bool) -> str:
    rows = data.results.rows
    machine = load.machine_of(data.results, rows)
    began = datetime.fromtimestamp(rows["started_at"].min() / 1e9, UTC)
    processes = data.verdicts["processes"]
    forked = "forked " * (load.are_forked(rows) and processes > 1)
    many = f"{processes} {forked}process{'es' * (processes > 1)} a group"
    about = (
        f"{machine}. Profile {', '.join(data.verdicts['profiles'])}, {many},"
        f" measured {began:%d %B %Y} in {_minutes(rows)}."
        f" What lies within {PRACTICALLY_EQUAL:g} times is practically equal, and called neither"
        " higher nor lower."
    )
    links = _links(data, tables, notebook, peers)
    return (
        '<p class="soft"><a href="../report.html">Millrace</a> ·'
        f' <a href="report.html">set {escape(data.label)}</a></p>\n'
        f"<h1>{escape(data.paper.title)}</h1>\n"
        f'<p class="soft">{escape(about)}</p>\n<nav aria-label="Sections">{links}</nav>'
    )


def _links(data: PageData, tables: list[SettingsTable], notebook: str, peers: bool) -> str:
    """Return links to the sections of the page."""
    paper = escape(data.paper.id)
    lines = [f'<a href="#forest-{paper}">Ratios</a>']
    if tables:
        lines.append(f'<a href="#matrix-{paper}">Designs by settings</a>')
    lines.append(f'<a href="#findings-{paper}">Findings</a>')
    own = recommendations_of(data.paper.id)
    if own is not None and own.section(data.results):
        lines.append(f'<a href="#pick-{paper}">{escape(own.heading(data.results))}</a>')
    pictured = explained_of(data.paper.id)
    if pictured is not None:
        lines.append(f'<a href="#explained-{paper}">{escape(pictured.HEADING)}</a>')
    for title, _, members in grouped(data):
        links = [f'<a href="#{data.anchor(f.id)}">{escape(f.id)}</a>' for f in members]
        lines.append(f"<span>{escape(title)}: {' '.join(links)}</span>")
    if peers:
        lines.append(f'<a href="#{peers_section.anchor(data)}">{escape(peers_section.TITLE)}</a>')
    lines.append(f'{names.LINK}<a href="#read">How to read</a>')
    lines.append('<a href="#data">Data</a><a href="#words">Glossary</a>')
    if notebook:
        lines.append(f'<a href="{escape(notebook)}">Notebook</a>')
    return "".join(lines)


def _sections(data: PageData, tables: list[SettingsTable], pictures: Pictures) -> Iterator[str]:
    """Yield the sections of the paper, the first screen at the top."""
    designs = designs_of(data)
    yield first_screen.section(data, _main(data, pictures))
    yield names.HERE
    yield page.filters(
        {
            "answer": ("answer", {answer: answer for answer in page.BADGES}),
            "design": ("designs", designs),
        },
        f"#forest-{data.paper.id} li[data-answer]",
    )
    yield forest_page.section(data, designs, _forest_links(data))
    yield matrix.section(data, tables)
    yield trade_off.section(data)
    yield findings.section(data, designs)
    yield fidelity.section(data)
    own = recommendations_of(data.paper.id)
    content = "" if own is None else own.section(data.results)
    if content:
        heading = escape(own.heading(data.results))
        yield page.section(f"pick-{data.paper.id}", heading, content)
    pictured = explained_of(data.paper.id)
    if pictured is not None:
        content = _explained(data, pictured, pictures)
        yield page.section(f"explained-{data.paper.id}", escape(pictured.HEADING), content)
    for title, sentence, members in grouped(data):
        yield f'<h2 class="group">{escape(title)}</h2><p>{escape(sentence)}</p>'
        for figure in members:
            yield figure_section.section(data, figure, pictures)


def designs_of(data: PageData) -> dict[str, str]:
    """Return the title of each design that the paper's figures show, by series."""
    lines = {line: figure.family for figure in data.paper.figures for line in figure.lines}
    return {line: look_of(family, line).title for line, family in lines.items()}


def _main(data: PageData, pictures: Pictures) -> str:
    """Return the main figure with links to its section and its files; empty where none is drawn."""
    figure: Figure | None = first_screen.main_figure(data)
    if figure is None:
        return ""
    svg = data.svg(figure)
    named = pictures.add(
        svg.read_text("utf-8"), f"first-{svg.stem}", f"{figure_section.title_of(figure)}, as below"
    )
    link = f'<a href="#{escape(data.anchor(figure.id))}">what it shows, and its rows</a>'
    about = figure_section.about(data, figure)
    return (
        f'<div><figure>{named}</figure><p class="soft">{about} {link}</p>'
        f"{figure_section.links(data, svg)}</div>"
    )


def _forest_links(data: PageData) -> str:
    """Return links to the files of the forest plot, where it is drawn."""
    file = data.folder / f"{FOREST}.svg"
    return figure_section.links(data, file) if file.is_file() else ""


def _explained(data: PageData, pictured: ModuleType, pictures: Pictures) -> str:
    """Return sentences about a paper's subject, each above a picture."""
    parts = []
    for number, (sentence, picture) in enumerate(pictured.explained()):
        svg = saved(picture.figure, "svg").decode()
        name = f"svg-{data.paper.id}-explained-{number}"
        parts.append(f"<p>{escape(sentence)}</p>")
        parts.append(f"<figure>{pictures.add(svg, name, sentence)}</figure>")
    return "".join(parts)


def _minutes(rows: pd.DataFrame) -> str:
    """Return the time from the first run to the last, summed over processes, as text."""
    spans = rows.groupby(["group", "repetition"])[["started_at", "ended_at"]]
    seconds = float((spans.max()["ended_at"] - spans.min()["started_at"]).sum()) / 1e9
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.1f} s"


def _invalid(results: load.Results) -> str:
    """Return the table of runs that are no points, with the reason of each."""
    rows = [row for row in results.raw.rows if not row["valid"]]
    if not rows:
        content = f"<p>None: all {len(results.raw.rows)} runs gave the right output.</p>"
    else:
        head = ("group", "variant", "settings", "phase", "repetition", "reason")
        told = (
            (row["group"], row["variant"], _settings(row), row["phase"], row["repetition"],
             row["invalid_reason"])
            for row in rows
        )  # fmt: skip
        content = f"<p>{len(rows)} of {len(results.raw.rows)} runs are drawn nowhere.</p>"
        content += page.table(head, told)
    return page.section("invalid", "Runs that are not valid", content)


def _settings(row: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(row["settings"].items()))


def _data(folder: Path, results: load.Results) -> str:
    """Return the data sets used, with their descriptions where the data sets are kept."""
    known = {}
    for path in sorted(folder.parent.glob("data/*/*/dataset.json")):
        info = json.loads(path.read_text(encoding="utf-8"))
        known[info.get("digest")] = info
    names = ["dataset", "dataset_source", "dataset_digest"]
    used = results.rows[names].dropna().drop_duplicates().sort_values(names)
    rows = []
    for name, source, digest in used.itertuples(index=False):
        info = known.get(digest, {})
        keys = info.get("tables", {}).get(info.get("main_table"), {}).get("keys")
        rows.append((name, source, info.get("title"), info.get("rows"), keys, digest))
    head = ("dataset", "source", "title", "rows", "keys", "digest")
    return page.section("data", "Data", page.table(head, rows))


def _glossary() -> str:
    rows = [(column.name, column.unit, column.meaning) for column in every()]
    content = page.table(("column", "unit", "meaning"), rows)
    return page.section(
        "words", "Glossary", page.details("Every column of the raw results", content)
    )


def _footer(results: load.Results) -> str:
    told = []
    for name, given in sorted(results.raw.provenances.items()):
        changed = ", changed since" if given.get("dirty") else ""
        told.append(
            f"results {name}: {given.get('kernel', 'unknown system')}, commit"
            f" {str(given.get('commit', 'unknown'))[:12]}{changed}"
        )
    return f"<p>{escape('; '.join(told))}</p>"
