"""The report: one page with each figure beside what the paper says of it and what was found here.

It reads the verdicts, the raw results they were made from, and the drawn figures, and measures and
judges nothing itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.judging.claims import UsageError, read_verdicts
from experiments.records.columns import COLUMNS
from figures import load, multiway_aggregation, page
from figures.inline import Pictures
from figures.multiway_aggregation import pick as multiway_aggregation_pick

TITLE = "What the papers say, and what this machine shows"
EXTENDED = "_extended"
# By paper: its groups of figures, and the section on what a user should pick.
GROUPS = {"multiway_aggregation": multiway_aggregation.GROUPS}
PICKS = {"multiway_aggregation": multiway_aggregation_pick}

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
<p><b>A grey equals sign</b> stands beside points that equal runs would lie as far apart as. <b>Grey
dots and dashes</b> are predicted and not measured. Variants of ours, which no paper has, are in the
wide form under each figure; those that were measured at one or two places only have no line.</p>
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
    pictures = Pictures()
    sections = [
        *(_picked(pick, results) for paper, pick in PICKS.items() if _of(figures, paper)),
        *_groups(figures, results, verdicts, pictures),
        _others(figures, verdicts),
        _how_to_read(),
        _invalid(results),
        _data(folder, results),
        _glossary(),
        pictures.sheet(),
    ]
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
    lines = []
    for paper, pick in PICKS.items():
        if _of(figures, paper) and pick.section(results):
            lines.append(f'<a href="#pick-{paper}">{escape(pick.heading(results))}</a>')
    for title, _, members in grouped(figures):
        links = [f'<a href="#{escape(p.stem)}">{_number(p.stem)}</a>' for p in members]
        lines.append(f"<span>{escape(title)}: {' '.join(links)}</span>")
    rest = '<a href="#read">How to read</a><a href="#data">Data</a><a href="#words">Glossary</a>'
    return (
        f'<p class="soft">Millrace</p>\n<h1>{escape(TITLE)}</h1>\n<p>{escape(told)}</p>\n'
        f"{page.tally(verdicts['verdicts'])}\n<nav>{''.join(lines)}{rest}</nav>"
    )


def _of(figures: Sequence[Path], paper: str) -> list[Path]:
    return [path for path in figures if path.parent.name == paper]


def grouped(figures: Sequence[Path]) -> list[tuple[str, str, list[Path]]]:
    """Return heading, sentence and figures of each group that has figures, in their order.

    Parameters
    ----------
    figures : sequence of path
        Files of figures; extended forms are passed over, they stand with their own.
    """
    own = [path for path in figures if not path.stem.endswith(EXTENDED)]
    found = []
    for paper, groups in GROUPS.items():
        for title, sentence, stems in groups:
            members = [path for path in _of(own, paper) if path.stem in stems]
            own = [path for path in own if path not in members]
            found.append((title, sentence, members))
    found.append(("Other figures", "", own))
    return [group for group in found if group[2]]


def _groups(
    figures: Sequence[Path],
    results: load.Results,
    verdicts: Mapping[str, Any],
    pictures: Pictures,
) -> list[str]:
    """Return heading and figures of each group."""
    first = _first_of(figures, verdicts)
    parts = []
    for title, sentence, members in grouped(figures):
        parts.append(f'<h2 class="group">{escape(title)}</h2><p>{escape(sentence)}</p>')
        parts += [_figure(path, results, first, pictures) for path in members]
    return parts


def _first_of(
    figures: Sequence[Path], verdicts: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], str | None]]:
    """Return each claim with the first of its figures that is drawn, if one is."""
    there = {path.stem for path in figures}
    told = [(claim, sorted(there.intersection(claim["figures"]))) for claim in verdicts["claims"]]
    return [(claim, drawn[0] if drawn else None) for claim, drawn in told]


def _picked(pick: Any, results: load.Results) -> str:
    """Return what a user of this machine should pick; empty when nothing can be said."""
    content = pick.section(results)
    place = f"pick-{pick.PAPER}"
    return _section(place, escape(pick.heading(results)), content) if content else ""


def _title(figure: str) -> str:
    return f"Figure {_number(figure)}"


def _number(figure: str) -> str:
    return figure.removesuffix(EXTENDED).removeprefix("fig_").lstrip("0")


def _minutes(rows: pd.DataFrame) -> str:
    """Return how long the runs took from the first to the last of each process, in words."""
    spans = rows.groupby(["figure", "repetition"])[["started_at", "ended_at"]]
    seconds = float((spans.max()["ended_at"] - spans.min()["started_at"]).sum()) / 1e9
    return f"{seconds / 60:.1f} minutes" if seconds >= 90 else f"{seconds:.1f} s"


def _figure(
    path: Path,
    results: load.Results,
    claims: Sequence[tuple[Mapping[str, Any], str | None]],
    pictures: Pictures,
) -> str:
    """Return the section of one figure: picture, machine and time, statements."""
    rows = results.rows[results.rows["figure"] == path.stem]
    query = ", ".join(sorted(rows["query"].dropna().unique()))
    heading = f"{_title(path.stem)}: {query}" if query else _title(path.stem)
    told = load.footer_of(results, path.stem, None)
    time = f"measured in {_minutes(rows)}" if len(rows) else ""
    about = escape("; ".join([*told, time]).strip("; "))
    extended = path.with_name(f"{path.stem}{EXTENDED}.svg")
    more = ""
    if extended.is_file():
        more = page.details("All measured variants, wide", _picture(extended, pictures))
    first = [_claim(claim) for claim, figure in claims if figure == path.stem]
    again = [
        _again(claim, figure)
        for claim, figure in claims
        if figure not in (path.stem, None) and path.stem in claim["figures"]
    ]
    listed = f'<ul class="claims">{"".join(first)}</ul>' if first else ""
    if again:
        told = f"{len(again)} statement{'s' * (len(again) > 1)} told with earlier figures"
        listed += page.details(told, f'<ul class="claims">{"".join(again)}</ul>')
    return (
        f'<section id="{escape(path.stem)}"><h3>{escape(heading)}</h3>\n<div class="pair">'
        f'<div class="stay">{_picture(path, pictures)}<p class="soft">{about}.</p>'
        f"{_drawn(path)}</div>\n"
        f"<div>{listed}</div></div>\n{more}</section>"
    )


def _section(place: str, title: str, content: str) -> str:
    return f'<section id="{place}"><h2>{title}</h2>{content}</section>'


def _picture(path: Path, pictures: Pictures) -> str:
    extended = ", extended" if path.stem.endswith(EXTENDED) else ""
    alternative = f"{_title(path.stem)}{extended}; its values stand in the table of drawn values"
    drawn = pictures.add(path.read_text("utf-8"), f"svg-{path.stem}", alternative)
    return f"<figure>{drawn}</figure>"


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


def _again(claim: Mapping[str, Any], first: str) -> str:
    """Return a statement that was told with an earlier figure."""
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
    """Return the statements none of whose figures is drawn, if there are any."""
    rest = [claim for claim, first in _first_of(figures, verdicts) if first is None]
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
