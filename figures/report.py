"""The report: one page with the findings on each paper, and each figure beside what it shows.

It reads the verdicts of one set of results, the raw results they were made from, and the drawn
figures, and measures and judges nothing itself. A paper may add sections of its own: modules
``picks``, told from the results, and ``explained``, pictures of its subject, in
``figures/<paper>``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from experiments.declare import Figure
from experiments.judging.findings import headline
from experiments.records.columns import every
from experiments.records.results import write_whole
from figures import cells, findings, load, page
from figures.draw import saved
from figures.inline import Pictures
from figures.told import Told, explained_of, grouped, picks_of, read_told, tally_of, together
from figures.view import View

TITLE = "What the papers say, and what this machine shows"
HOW_TO_READ = """
<p>A <b>finding</b> is a question that a reader of the paper has. Under it stand the paper's own
statements, word for word, each with the answer that was measured here:</p>
<p>{holds} here. {does not hold} here: the opposite was seen. {mixed} it holds in some places and
not in others. {cannot tell} what was measured leaves it open. A finding holds when all of its
statements that were told hold, and does not when none of them does. Only results count, each once:
no expectation, purpose or definition of the paper, and nothing that our own data make true.</p>
<p>A statement is answered from all of its <b>pairs</b>: one variant over another, on the same query
with the same inputs, process by process and round by round. Their ratios are pooled as a geometric
mean. From six processes on, its 95 % interval must lie on one side of 1. With fewer there is no
interval: every process (every round, of a single one) must lie on that side, and the ratio beyond
what means of so many equal runs differ by, within a process and from one to the next. The count of
signs stands beside it; with under two thirds of them on the side of a clear ratio it is mixed.
Where a best is asked for, some rounds choose it and others judge it.</p>
<p><b>Size</b> is how large it is here and in the paper. <b>Regime</b> is how many threads ran on
how many cores: with more threads than cores a run times the work of all threads together, and not
what they gain side by side. <b>Evidence</b> is what stands behind it. A setting <b>kept up</b> when
it could take 70 % of its own closed-loop throughput, offered at a steady rate. A pair of which
neither did is left out; where one alone did, the sign is its, and there is no ratio. None of the
three changes an answer.</p>
<p>In figures, a grey background stands where threads are more than cores, a pale point is noisy,
not steady or did not keep up, a caret at the edge is a latency at saturation, and a red cross is a
run that failed. <b>Grey dashes</b> are predicted and not measured. Variants of ours, which no paper
has, are in the wide form under each figure.</p>
<p>Compare the variants with each other and not with the papers' absolute values, which other
machines and other languages gave: each statement names the machine it was made on. A number that
the paper's text has lost is never filled in: its statement is judged by its order.</p>
"""


def write_report(folder: str | Path, output: str | Path) -> Path:
    """Write the report on a set of results as one self-contained page; return its path.

    Parameters
    ----------
    folder : path
        Holds claims/<paper>.json, the raw results these name, and figures/<paper>/*.svg and *.csv.
    output : path
        The page to write; it is replaced as a whole.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    folder, output = Path(folder), Path(output)
    told = read_told(folder)
    results = together(told)
    pictures = Pictures()
    sections = [
        *(section for each in told for section in _paper(each, pictures, len(told) > 1)),
        _how_to_read(told),
        _invalid(results),
        _data(folder, results),
        _glossary(),
        pictures.sheet(),
    ]
    text = page.document(
        TITLE,
        _header(told, results),
        "\n".join(filter(None, sections)),
        _footer(results),
    )
    return write_whole(output, text.encode())


def _header(told: Sequence[Told], results: load.Results) -> str:
    rows = results.rows
    machine = load.machine_of(results, rows)
    began = datetime.fromtimestamp(rows["started_at"].min() / 1e9, UTC)
    profiles = sorted({profile for each in told for profile in each.verdicts["profiles"]})
    processes = max(each.verdicts["processes"] for each in told)
    many = f"{processes} process{'es' * (processes > 1)} a group"
    about = (
        f"{machine}. Profile {', '.join(profiles)}, {many},"
        f" measured {began:%d %B %Y} in {_minutes(rows)}."
    )
    answers = tally_of(each.verdicts for each in told)
    lines = []
    for each in told:
        own = picks_of(each.paper.id)
        if own is not None and own.section(each.results):
            link = f"#pick-{each.paper.id}"
            lines.append(f'<a href="{link}">{escape(own.heading(each.results))}</a>')
        lines.append(f'<a href="#findings-{each.paper.id}">Findings</a>')
        pictured = explained_of(each.paper.id)
        if pictured is not None:
            link = f"#explained-{each.paper.id}"
            lines.append(f'<a href="{link}">{escape(pictured.HEADING)}</a>')
        for title, _, members in grouped(each):
            links = [f'<a href="#{each.anchor(f.id)}">{escape(f.id)}</a>' for f in members]
            lines.append(f"<span>{escape(title)}: {' '.join(links)}</span>")
    rest = '<a href="#read">How to read</a><a href="#data">Data</a><a href="#words">Glossary</a>'
    return (
        f'<p class="soft">Millrace</p>\n<h1>{escape(TITLE)}</h1>\n'
        f"<p><b>{escape(headline(answers))}</b></p>\n<p>{escape(about)}</p>\n"
        f"{page.tally(answers)}\n<nav>{''.join(lines)}{rest}</nav>"
    )


def _paper(told: Told, pictures: Pictures, named: bool) -> list[str]:
    """Return the sections of a paper; its title stands above where the page has several."""
    parts = [f'<h2 class="group">{escape(told.paper.title)}</h2>'] if named else []
    own = picks_of(told.paper.id)
    parts.append(findings.section(told))
    content = "" if own is None else own.section(told.results)
    if content:
        parts.append(_section(f"pick-{told.paper.id}", escape(own.heading(told.results)), content))
    pictured = explained_of(told.paper.id)
    if pictured is not None:
        content = _explained(told, pictured, pictures)
        parts.append(_section(f"explained-{told.paper.id}", escape(pictured.HEADING), content))
    for title, sentence, members in grouped(told):
        parts.append(f'<h2 class="group">{escape(title)}</h2><p>{escape(sentence)}</p>')
        parts += [_figure(told, figure, pictures) for figure in members]
    return parts


def _explained(told: Told, pictured: ModuleType, pictures: Pictures) -> str:
    """Return sentences of a paper's subject, each above its picture."""
    parts = []
    for number, (sentence, picture) in enumerate(pictured.explained()):
        svg = saved(picture.figure, "svg").decode()
        name = f"svg-{told.paper.id}-explained-{number}"
        parts.append(f"<p>{escape(sentence)}</p>")
        parts.append(f"<figure>{pictures.add(svg, name, sentence)}</figure>")
    return "".join(parts)


def _title(figure: str) -> str:
    return f"Figure {figure}"


def _minutes(rows: pd.DataFrame) -> str:
    """Return how long the runs took from the first to the last of each process, in words."""
    spans = rows.groupby(["group", "repetition"])[["started_at", "ended_at"]]
    seconds = float((spans.max()["ended_at"] - spans.min()["started_at"]).sum()) / 1e9
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.1f} s"


def _figure(told: Told, figure: Figure, pictures: Pictures) -> str:
    """Return the section of one figure: picture, machine, statements."""
    footer = load.footer_of(told.results, View(figure), None)
    about = escape("; ".join(footer))
    extended = told.svg(figure, extended=True)
    # One that would repeat the paper's form is not drawn twice, and not shown.
    more = ""
    if extended.is_file() and cells.has_rows(extended.with_suffix(".csv")):
        picture = _picture(told, figure, pictures, extended=True)
        more = page.details("All measured variants, wide", picture)
    note = f'<p class="soft">{escape(figure.about)}</p>' if figure.about else ""
    heading = f"{_title(figure.id)}: {figure.subject}"
    return (
        f'<section id="{escape(told.anchor(figure.id))}"><h3>{escape(heading)}</h3>\n'
        f'<div class="pair"><div class="stay">{_picture(told, figure, pictures)}'
        f'<p class="soft">{about}.</p>{note}{_drawn(told.svg(figure))}</div>\n'
        f"<div>{findings.of_figure(told, figure.id)}</div></div>\n{more}</section>"
    )


def _section(place: str, title: str, content: str) -> str:
    return f'<section id="{place}"><h2>{title}</h2>{content}</section>'


def _picture(told: Told, figure: Figure, pictures: Pictures, extended: bool = False) -> str:
    path = told.svg(figure, extended)
    wide = ", extended" if extended else ""
    alternative = f"{_title(figure.id)}{wide}; its values stand in the table of drawn values"
    name = f"svg-{told.paper.id}-{path.stem}"
    return f"<figure>{pictures.add(path.read_text('utf-8'), name, alternative)}</figure>"


def _drawn(path: Path) -> str:
    """Return the table of the values that a figure draws."""
    csv = path.with_suffix(".csv")
    if not csv.is_file():
        return ""
    drawn = cells.read_csv(csv)
    names = ["panel", "line", "x", "value", "low", "high", "n", "state"]
    rows = drawn[names].astype(object).where(drawn[names].notna(), None)
    return page.details("Drawn values", page.table(names, rows.itertuples(index=False)))


def _how_to_read(told: Sequence[Told]) -> str:
    text = HOW_TO_READ
    for answer in page.BADGES:
        text = text.replace(f"{{{answer}}}", page.badge(answer))
    return _section("read", "How to read this page", text + _floors(told))


def _floors(told: Sequence[Told]) -> str:
    """Return what equal runs of each paper's groups differ by, as its verdicts have it."""
    rows = []
    for each in told:
        for floor in each.verdicts["floors"]:
            threads = "more threads than cores" if floor["crowded"] else "a core for every thread"
            apart = (f"{floor['factor']:.3f}", floor["pairs"])
            rows.append((each.verdicts["title"], floor["of"], threads, *apart))
    if not rows:
        return "<p>No equal runs were made, so nothing says how far two of them lie apart.</p>"
    head = ("paper", "equal runs", "threads", "times apart, at most 95 of 100", "pairs of runs")
    return page.table(head, rows)


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
    return _section("invalid", "Runs that are not valid", content)


def _settings(row: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(row["settings"].items()))


def _data(folder: Path, results: load.Results) -> str:
    """Return which datasets were used, with what their descriptions say where they are kept."""
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
    return _section("data", "Data", page.table(head, rows))


def _glossary() -> str:
    rows = [(column.name, column.unit, column.meaning) for column in every()]
    content = page.table(("column", "unit", "meaning"), rows)
    return _section("words", "Glossary", page.details("Every column of the raw results", content))


def _footer(results: load.Results) -> str:
    told = []
    for name, given in sorted(results.raw.provenances.items()):
        changed = ", changed since" if given.get("dirty") else ""
        told.append(
            f"results {name}: {given.get('kernel', 'unknown system')}, commit"
            f" {str(given.get('commit', 'unknown'))[:12]}{changed}"
        )
    return f"<p>{escape('; '.join(told))}</p>"
