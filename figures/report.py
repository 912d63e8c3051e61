"""The report: one page with each figure beside what the paper says of it and what was found here.

It reads the verdicts, the raw results they were made from, and the drawn figures, and measures and
judges nothing itself.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.claims import UsageError, read_verdicts
from experiments.harness.columns import COLUMNS
from figures import load, page

TITLE = "What the papers say, and what this machine shows"
EXTENDED = "_extended"

HOW_TO_READ = """
<p>Each figure is a figure of a paper, measured again on the machine named here. Beside it stand the
paper's own statements about it, word for word, each with a verdict on what was measured:</p>
<p>{reproduced} every comparison that the statement consists of holds, from three or more
repetitions, with a core for every thread. {partial} some of it holds, or all of it does and
something limits what that means; the reason says what. {contradicted} half of the comparisons or
more say the opposite, and none holds. {not testable here} this machine, or what is built so far,
cannot tell.</p>
<p><b>Hollow markers</b> are points with more threads than cores. They time the work of all threads
together and not what threads gain side by side: a statement about 20 inputs is never called
reproduced on such points, nor a trend over the inputs contradicted. <b>Coarse</b> points are short
single runs, good for seeing that the line works. Differences count only above a bound: with fewer
than three repetitions 1.3 times for throughput and twice for latency, then 5 and 10 %, with the
95 % interval on one side; never less than what two runs of the same variant differ by. A value in
brackets is that interval. A number that the paper's text has lost is never filled in: its statement
is judged by its order.</p>
<p>Compare the variants with each other and not with the paper's absolute values: its machine had 24
logical cores and its programs ran on Java.</p>
"""


def write_report(results_folder: str | Path, output: str | Path) -> Path:
    """Write the report on a folder of results as one self-contained page; return its path.

    Parameters
    ----------
    results_folder : path
        Holds claims.json, the raw results it names, and figures/<paper>/*.svg and *.csv.
    output : path
        The page to write; it is replaced as a whole.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    folder, output = Path(results_folder), Path(output)
    verdicts = read_verdicts(folder / "claims.json")
    results = load.read(load.judged_files(folder))
    if results.rows.empty:
        raise UsageError(f"no raw results below {folder}: measure with `make figures`")
    figures = sorted(folder.glob("figures/*/*.svg"))
    sections = [
        _figure(path, results, verdicts) for path in figures if not path.stem.endswith(EXTENDED)
    ]
    sections += [
        _others(figures, verdicts),
        _how_to_read(),
        _invalid(results),
        _data(folder, results),
    ]
    sections.append(_glossary())
    text = page.document(
        TITLE,
        _header(figures, results, verdicts),
        "\n".join(filter(None, sections)),
        _footer(results),
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_name(f".{output.name}.partial")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, output)
    return output


def _header(figures: list[Path], results: load.Results, verdicts: Mapping[str, Any]) -> str:
    rows = results.rows
    machine = load.machine_of(results, rows)
    began = datetime.fromtimestamp(rows["started_at"].min() / 1e9, UTC)
    told = (
        f"{machine}. Profile {', '.join(verdicts['profiles'])}, repetitions"
        f" {verdicts['repetitions']}, measured {began:%d %B %Y} in {_minutes(rows)}."
    )
    links = [
        f'<a href="#{escape(path.stem)}">{_title(path.stem)}</a>'
        for path in figures
        if not path.stem.endswith(EXTENDED)
    ]
    rest = '<a href="#read">How to read</a><a href="#data">Data</a><a href="#words">Glossary</a>'
    return (
        f'<p class="soft">Millrace</p>\n<h1>{escape(TITLE)}</h1>\n<p>{escape(told)}</p>\n'
        f"{page.tally(verdicts['verdicts'])}\n<nav>{''.join(links)}{rest}</nav>"
    )


def _title(figure: str) -> str:
    number = figure.removesuffix(EXTENDED).removeprefix("fig_").lstrip("0")
    return f"Figure {number}"


def _minutes(rows: pd.DataFrame) -> str:
    """Return how long the runs took from the first to the last of each process, in words."""
    spans = rows.groupby(["figure", "repetition"])[["started_at", "ended_at"]]
    seconds = float((spans.max()["ended_at"] - spans.min()["started_at"]).sum()) / 1e9
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.1f} s"


def _figure(path: Path, results: load.Results, verdicts: Mapping[str, Any]) -> str:
    """Return the section of one figure: picture, machine and time, statements."""
    rows = results.rows[results.rows["figure"] == path.stem]
    query = ", ".join(sorted(rows["query"].dropna().unique()))
    heading = f"{_title(path.stem)}: {query}" if query else _title(path.stem)
    told = load.footer_of(results, path.stem, None)
    time = f"measured in {_minutes(rows)}" if len(rows) else ""
    about = escape("; ".join([*told, time]).strip("; "))
    own = [claim for claim in verdicts["claims"] if path.stem in claim["figures"]]
    extended = path.with_name(f"{path.stem}{EXTENDED}.svg")
    more = ""
    if extended.is_file():
        more = page.details("All measured variants, median and 99th percentile", _picture(extended))
    listed = [(_again if min(c["figures"]) < path.stem else _claim)(c) for c in own]
    return (
        f'<section id="{escape(path.stem)}"><h2>{escape(heading)}</h2>\n<div class="pair">'
        f'<div class="stay">{_picture(path)}<p class="soft">{about}.</p>{_drawn(path)}</div>\n'
        f'<div><ul class="claims">{"".join(listed)}</ul></div></div>\n{more}</section>'
    )


def _section(place: str, title: str, content: str) -> str:
    return f'<section id="{place}"><h2>{title}</h2>{content}</section>'


def _picture(path: Path) -> str:
    code = base64.b64encode(path.read_bytes()).decode()
    extended = ", extended" if path.stem.endswith(EXTENDED) else ""
    alternative = f"{_title(path.stem)}{extended}; its values stand in the table of drawn values"
    return (
        f'<figure><img alt="{escape(alternative)}" src="data:image/svg+xml;base64,{code}"></figure>'
    )


def _drawn(path: Path) -> str:
    """Return the table of the values that a figure draws."""
    csv = path.with_suffix(".csv")
    if not csv.is_file():
        return ""
    drawn = pd.read_csv(csv, keep_default_na=False, na_values={"low": [""], "high": [""]})
    names = ["panel", "variant", "x", "value", "low", "high", "n", "state"]
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


def _again(claim: Mapping[str, Any]) -> str:
    """Return a statement that was told with an earlier figure."""
    first = min(claim["figures"])
    there = f'<a href="#{escape(first)}">{_title(first)}</a>'
    return f'<li>{_said(claim)}<p class="soft">The reason stands with {there}.</p></li>'


def _said(claim: Mapping[str, Any]) -> str:
    place = f'<span class="soft">{escape(_place(claim))}</span>'
    quote = f"<blockquote>“{escape(claim['quote'])}”</blockquote>"
    return f"{page.badge(claim['verdict'])} {place}{quote}"


def _place(claim: Mapping[str, Any]) -> str:
    section = str(claim["section"])
    return section if section.isalpha() else f"Section {section}"


def _others(figures: list[Path], verdicts: Mapping[str, Any]) -> str:
    """Return the statements whose first figure is not drawn, if there are any."""
    there = {path.stem for path in figures}
    rest = [claim for claim in verdicts["claims"] if min(claim["figures"]) not in there]
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
    rows = results.rows[~results.rows["valid"].astype(bool)]
    names = ["figure", "variant", "inputs", "phase", "repetition", "invalid_reason"]
    if rows.empty:
        content = f"<p>None: all {len(results.rows)} runs gave the right output.</p>"
    else:
        content = f"<p>{len(rows)} of {len(results.rows)} runs are drawn nowhere.</p>" + page.table(
            names, rows[names].astype(object).itertuples(index=False)
        )
    return _section("invalid", "Runs that are not valid", content)


def _data(folder: Path, results: load.Results) -> str:
    """Return which datasets were used, with what their descriptions say where they are kept."""
    known = {}
    for path in sorted(folder.glob("data/*/*/dataset.json")):
        info = json.loads(path.read_text(encoding="utf-8"))
        known[info.get("digest")] = info
    names = ["dataset", "dataset_source", "dataset_digest"]
    used = results.rows[names].dropna().drop_duplicates().sort_values(names)
    rows = []
    for name, source, digest in used.itertuples(index=False):
        info = known.get(digest, {})
        rows.append((name, source, info.get("title"), info.get("rows"), info.get("keys"), digest))
    head = ("dataset", "source", "title", "rows", "keys", "digest")
    return _section("data", "Data", page.table(head, rows))


def _glossary() -> str:
    rows = [(column.name, column.unit, column.meaning) for column in COLUMNS]
    content = page.table(("column", "unit", "meaning"), rows)
    return _section("words", "Glossary", page.details("Every column of the raw results", content))


def _footer(results: load.Results) -> str:
    told = []
    for name, given in sorted(results.provenances.items()):
        changed = ", changed since" if given.get("dirty") else ""
        told.append(
            f"results {name}: {given.get('kernel', 'unknown system')}, sources"
            f" {given.get('source_hash', 'unknown')}{changed}"
        )
    return f"<p>{escape('; '.join(told))}</p>"
