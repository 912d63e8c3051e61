"""The findings of a paper on the page, each with the statements that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from experiments.declare import order_of
from experiments.judging.claim_types import RESULT, TIMES
from experiments.judging.findings import parts_text
from experiments.judging.reasons import counts, reading
from figures import page
from figures.page_data import PageData
from figures.statements import designs_of, part_words, shown_by

HEAD = ("pair", "times", "low", "high", "speaks", "states", "note")
SPEAKS = {True: "for it", False: "against it", None: ""}


def section(data: PageData, names: Mapping[str, str]) -> str:
    """Return the section of a paper's findings, in the order of published.yaml.

    Parameters
    ----------
    data : PageData
    names : mapping
        The title of each design by id, for the filter.
    """
    items = "".join(_finding(data, finding, names) for finding in data.verdicts["findings"])
    place, headline = f"findings-{data.paper.id}", escape(data.verdicts["headline"])
    return (
        f'<section id="{place}"><h2>{headline}</h2>'
        f'<ul class="claims findings">{items}</ul></section>'
    )


def _finding(data: PageData, finding: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return a question with the answer; the statements that answer it are folded away."""
    claims = data.claims
    members = [_claim(data, claims[name]) for name in finding["statements"]]
    summary = f"{len(members)} statement{'s' * (len(members) > 1)} of the paper"
    if finding["kind"] != RESULT:
        summary += f": a {finding['kind']}, which is in no headline"
    leading = claims[finding["leading"]]
    facts = {"Shown by": shown_by(leading), **_beside(finding)}
    if leading["unit"] == TIMES:
        # The size is already in the line that shows the answer.
        del facts["Size"]
    listed = page.details(summary, f'<ul class="claims">{"".join(members)}</ul>')
    designs = {each for name in finding["statements"] for each in designs_of(claims[name], names)}
    attributes = page.filtered(finding["direction"], sorted(designs))
    return (
        f'<li id="{escape(data.finding_anchor(finding["id"]))}" {attributes}>'
        f"{page.badge(finding['direction'])}<h3>{escape(finding['finding'])}</h3>"
        f"{page.chips(facts)}{_parts(data, finding)}{_because(finding)}{_scaling(finding)}"
        f"{listed}</li>"
    )


def _because(finding: Mapping[str, Any]) -> str:
    """Return why a finding fails here, if the paper's folder gives a reason."""
    return "".join(f"<p><b>Why here:</b> {escape(text)}.</p>" for text in finding["because"])


def _scaling(finding: Mapping[str, Any]) -> str:
    """Return what the series of a finding gain; sets judged by an earlier version have none."""
    return "".join(f"<p>{escape(text)}.</p>" for text in finding.get("scaling", ()))


def _parts(data: PageData, finding: Mapping[str, Any]) -> str:
    """Return the parts of an answer, each with a mark; empty for an answer of a single part."""
    parts = finding["parts"]
    if len(parts) == 1 and not parts[0]["asked"]:
        return ""
    marks = []
    for part in parts:
        claim = data.claims[part["id"]]
        link = f"#{data.claim_anchor(part['id'])}"
        about = " · ".join(filter(None, [part_words(claim), part["asked"]]))
        marks.append(
            f"<li>{page.badge(part['direction'])}"
            f' <a class="soft" href="{escape(link)}">{escape(about)}</a></li>'
        )
    count = f'<span class="soft">{escape(parts_text(parts))}</span>'
    return f'{count}<ul class="claims">{"".join(marks)}</ul>'


def _beside(told: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the notes to an answer, which do not change it: size, regime, evidence."""
    names = {"Size": "size", "Regime": "regime", "Evidence": "evidence"}
    return {name: told[key] and told[key]["text"] for name, key in names.items()}


def _claim(data: PageData, claim: Mapping[str, Any]) -> str:
    """Return one statement with the answer and the reason; the pairs are folded away."""
    notes = [f"{_place(claim)}, measured there on {claim['paper_hardware']}."]
    if claim["value"] == "lost":
        notes.append("Its number is lost in the text, so it is judged by its order.")
    notes.extend(filter(None, [claim["assumed"]]))
    parts = [
        (p["where"], p["ratio"], p["low"], p["high"], SPEAKS[p["agrees"]], " ".join(p["states"]),
         p["note"])
        for p in claim["parts"]
    ]  # fmt: skip
    folded = f'<p class="soft">{escape(" ".join(notes))}</p>'
    folded += page.table(HEAD, parts) if parts else ""
    quote = f"<blockquote>“{escape(claim['quote'])}”</blockquote>"
    return (
        f'<li id="{escape(data.claim_anchor(claim["id"]))}">{page.badge(claim["direction"])}'
        f' <span class="soft">{escape(_place(claim))}. {_figures(data, claim)}</span>{quote}'
        f"<p>{escape(claim['reason'])}</p>{page.chips(_beside(claim))}{_uncounted(data, claim)}"
        f"{page.details('How it was judged', folded)}</li>"
    )


def _uncounted(data: PageData, claim: Mapping[str, Any]) -> str:
    """Return why a statement is not counted in the answer above it, if so."""
    if claim["repeats"]:
        link = f'<a href="#{escape(data.claim_anchor(claim["repeats"]))}">another statement</a>'
        return f'<p class="soft">Repeats {link} and does not count again.</p>'
    if counts(claim):
        return ""
    why = "Not counted: a value of another machine."
    if claim["kind"] != RESULT:
        why = f"Not counted, a {claim['kind']}. {claim['kind_why'] or ''}".strip()
    return f'<p class="soft">{escape(why)}</p>'


def _figures(data: PageData, claim: Mapping[str, Any]) -> str:
    """Return the figures of a statement; drawn figures are links."""
    drawn = {figure.id for figure in data.drawn}
    links = []
    for figure in sorted(claim["figures"], key=order_of):
        link = f'<a href="#{escape(data.anchor(figure))}">{escape(figure)}</a>'
        links.append(link if figure in drawn else escape(figure))
    return f"Figure{'s' * (len(links) > 1)} {', '.join(links)}"


def _place(claim: Mapping[str, Any]) -> str:
    """Return the position of a statement in the paper: a named part by name, or a section."""
    section = str(claim["section"])
    named = section.isalpha() and not section.isupper()
    return section if named else f"Section {section}"


def of_figure(data: PageData, figure_id: str) -> str:
    """Return the findings on one figure: the reading, and links to the statements."""
    own = [claim for claim in data.verdicts["claims"] if figure_id in claim["figures"]]
    line = reading(data.verdicts, figure_id)
    read = f"<p><b>{escape(line)}</b></p>" if line else ""
    listed = "".join(
        f"<li>{page.badge(claim['direction'])} "
        f'<a href="#{escape(data.claim_anchor(claim["id"]))}">“{escape(claim["quote"])}”</a></li>'
        for claim in own
        if counts(claim)
    )
    return read + (f'<ul class="claims">{listed}</ul>' if listed else "")
