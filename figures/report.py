"""The report: one page with each figure beside what the paper says of it and what was found here.

It reads the verdicts of one set of results, the raw results they were made from, and the drawn
figures, and measures and judges nothing itself. A paper may add sections of its own: a module
``picks`` in ``figures/<paper>``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.declare import Figure
from experiments.records.columns import every
from experiments.records.results import write_whole
from figures import load, page
from figures.inline import Pictures
from figures.told import Told, first_of, grouped, picks_of, read_told, tally_of, together

TITLE = "What the papers say, and what this machine shows"
HOW_TO_READ = """
<p>Each figure is a figure of a paper, measured again on the machine named here. Beside it stand the
paper's own statements about it, word for word, each with a verdict on what was measured:</p>
<p>{reproduced} every comparison that the statement consists of holds, from three or more
repetitions, with a core for every thread. {partial} some of it holds, or all of it does and
something limits what that means; the reason says what. {contradicted} half of the comparisons or
more say the opposite, and none holds. {not testable here} this machine, or what is built so far,
cannot tell.</p>
<p><b>Hollow markers</b> are points with more threads than cores. They time the work of all threads
together and not what threads gain side by side: no statement is called reproduced on such
points, nor a trend contradicted. <b>Coarse</b> points are short
single runs, good for seeing that the line works. Differences count only above a bound: with fewer
than three repetitions 1.3 times for throughput and twice for latency, then 5 and 10 %, with the
95 % interval on one side; never less than what two runs of the same variant differ by. A value in
brackets is that interval. A number that the paper's text has lost is never filled in: its statement
is judged by its order.</p>
<p><b>A grey equals sign</b> stands beside points that equal runs would lie as far apart as. <b>Grey
dots and dashes</b> are predicted and not measured. Variants of ours, which no paper has, are in the
wide form under each figure; those that were measured at one or two places only have no line.</p>
<p>Compare the variants with each other and not with the papers' absolute values, which other
machines and other languages gave: each statement names the machine it was made on.</p>
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
        _how_to_read(),
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
    repetitions = max(each.verdicts["repetitions"] for each in told)
    about = (
        f"{machine}. Profile {', '.join(profiles)}, repetitions"
        f" {repetitions}, measured {began:%d %B %Y} in {_minutes(rows)}."
    )
    lines = []
    for each in told:
        own = picks_of(each.paper.id)
        if own is not None and own.section(each.results):
            link = f"#pick-{each.paper.id}"
            lines.append(f'<a href="{link}">{escape(own.heading(each.results))}</a>')
        for title, _, members in grouped(each):
            links = [f'<a href="#{each.anchor(f.id)}">{escape(f.id)}</a>' for f in members]
            lines.append(f"<span>{escape(title)}: {' '.join(links)}</span>")
    rest = '<a href="#read">How to read</a><a href="#data">Data</a><a href="#words">Glossary</a>'
    return (
        f'<p class="soft">Millrace</p>\n<h1>{escape(TITLE)}</h1>\n<p>{escape(about)}</p>\n'
        f"{page.tally(tally_of(each.verdicts for each in told))}\n<nav>{''.join(lines)}{rest}</nav>"
    )


def _paper(told: Told, pictures: Pictures, named: bool) -> list[str]:
    """Return the sections of a paper; its title stands above where the page has several."""
    parts = [f'<h2 class="group">{escape(told.paper.title)}</h2>'] if named else []
    own = picks_of(told.paper.id)
    content = "" if own is None else own.section(told.results)
    if content:
        parts.append(_section(f"pick-{told.paper.id}", escape(own.heading(told.results)), content))
    for title, sentence, members in grouped(told):
        parts.append(f'<h2 class="group">{escape(title)}</h2><p>{escape(sentence)}</p>')
        parts += [_figure(told, figure, pictures) for figure in members]
    parts.append(_others(told))
    return parts


def _title(figure: str) -> str:
    return f"Figure {figure}"


def _minutes(rows: pd.DataFrame) -> str:
    """Return how long the runs took from the first to the last of each process, in words."""
    spans = rows.groupby(["group", "repetition"])[["started_at", "ended_at"]]
    seconds = float((spans.max()["ended_at"] - spans.min()["started_at"]).sum()) / 1e9
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.1f} s"


def _figure(told: Told, figure: Figure, pictures: Pictures) -> str:
    """Return the section of one figure: picture, machine, statements."""
    footer = load.footer_of(told.results, told.paper.id, figure, None)
    about = escape("; ".join(footer))
    extended = told.svg(figure, extended=True)
    more = ""
    if extended.is_file():
        picture = _picture(told, figure, pictures, extended=True)
        more = page.details("All measured variants, wide", picture)
    claims = first_of(told)
    first = [_claim(claim) for claim, at in claims if at == figure.id]
    again = [
        _again(told, claim, at)
        for claim, at in claims
        if at not in (figure.id, None) and figure.id in claim["figures"]
    ]
    listed = f'<ul class="claims">{"".join(first)}</ul>' if first else ""
    if again:
        said = f"{len(again)} statement{'s' * (len(again) > 1)} told with earlier figures"
        listed += page.details(said, f'<ul class="claims">{"".join(again)}</ul>')
    note = f'<p class="soft">{escape(figure.about)}</p>' if figure.about else ""
    heading = f"{_title(figure.id)}: {figure.subject}"
    return (
        f'<section id="{escape(told.anchor(figure.id))}"><h3>{escape(heading)}</h3>\n'
        f'<div class="pair"><div class="stay">{_picture(told, figure, pictures)}'
        f'<p class="soft">{about}.</p>{note}{_drawn(told.svg(figure))}</div>\n'
        f"<div>{listed}</div></div>\n{more}</section>"
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
    drawn = pd.read_csv(csv, keep_default_na=False, na_values={"low": [""], "high": [""]})
    names = ["panel", "line", "x", "value", "low", "high", "n", "state"]
    rows = drawn[names].astype(object).where(drawn[names].notna(), None)
    return page.details("Drawn values", page.table(names, rows.itertuples(index=False)))


def _claim(claim: Mapping[str, Any]) -> str:
    """Return one statement with its verdict and the reason; folded away, how it was judged."""
    notes = [f"{_place(claim)}, measured there on {claim['paper_hardware']}."]
    if claim["value"] == "lost":
        notes.append("Its number is lost in the text, so it is judged by its order.")
    notes.extend(filter(None, [claim["assumed"]]))
    parts = [
        (p["where"], p["value"], p["low"], p["high"], p["outcome"], " ".join(p["states"]))
        for p in claim["parts"]
    ]
    head = ("comparison", "times", "low", "high", "outcome", "states")
    folded = f'<p class="soft">{escape(" ".join(notes))}</p>' + (
        page.table(head, parts) if parts else ""
    )
    return (
        f"<li>{_said(claim)}<p>{escape(claim['reason'])}</p>"
        f"{page.details('How it was judged', folded)}</li>"
    )


def _again(told: Told, claim: Mapping[str, Any], first: str) -> str:
    """Return a statement that was told with an earlier figure."""
    there = f'<a href="#{escape(told.anchor(first))}">{_title(first)}</a>'
    return f'<li>{_said(claim)}<p class="soft">The reason stands with {there}.</p></li>'


def _said(claim: Mapping[str, Any]) -> str:
    place = f'<span class="soft">{escape(_place(claim))}</span>'
    quote = f"<blockquote>“{escape(claim['quote'])}”</blockquote>"
    return f"{page.badge(claim['verdict'])} {place}{quote}"


def _place(claim: Mapping[str, Any]) -> str:
    section = str(claim["section"])
    return section if section.isalpha() else f"Section {section}"


def _others(told: Told) -> str:
    """Return the statements none of whose figures is drawn, if there are any."""
    rest = [claim for claim, first in first_of(told) if first is None]
    if not rest:
        return ""
    listed = "".join(map(_claim, rest))
    return (
        f'<section><h2>Statements without a figure</h2><ul class="claims">{listed}</ul></section>'
    )


def _how_to_read() -> str:
    text = HOW_TO_READ
    for verdict in page.BADGES:
        text = text.replace(f"{{{verdict}}}", page.badge(verdict))
    return _section("read", "How to read this page", text)


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
