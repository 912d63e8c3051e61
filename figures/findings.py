"""The findings of a paper on the page, with the statements that answer each under it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from experiments.declare import order_of
from experiments.judging.badges import shortened, told_interval
from experiments.judging.claim_types import RESULT
from experiments.judging.pool import CANNOT_TELL
from experiments.judging.reasons import counts, reading
from figures import page
from figures.told import Told

HEAD = ("pair", "times", "low", "high", "speaks", "states", "note")
SPEAKS = {True: "for it", False: "against it", None: ""}


def section(told: Told) -> str:
    """Return the section of a paper's findings, in the order of its published.yaml."""
    items = "".join(_finding(told, finding) for finding in told.verdicts["findings"])
    place, headline = f"findings-{told.paper.id}", escape(told.verdicts["headline"])
    return (
        f'<section id="{place}"><h2>{headline}</h2>'
        f'<ul class="claims findings">{items}</ul></section>'
    )


def _finding(told: Told, finding: Mapping[str, Any]) -> str:
    """Return a question with its answer; folded away, the statements that it was answered from."""
    claims = told.claims
    members = [_claim(told, claims[name]) for name in finding["statements"]]
    told = sum(claims[name]["direction"] != CANNOT_TELL for name in finding["counted"])
    summary = f"{len(members)} statement{'s' * (len(members) > 1)}, {len(finding['counted'])}"
    summary += f" counted, {told} of them told"
    if finding["kind"] != RESULT:
        summary += f": a {finding['kind']}, which is in no headline"
    leading = claims[finding["leading"]]
    facts = {"Shown by": _pairs(finding, leading), **_beside(finding)}
    listed = page.details(summary, f'<ul class="claims">{"".join(members)}</ul>')
    return (
        f"<li>{page.badge(finding['direction'])}<h3>{escape(finding['finding'])}</h3>"
        f"{page.chips(facts)}{listed}</li>"
    )


def _pairs(told: Mapping[str, Any], claim: Mapping[str, Any]) -> str | None:
    """Return ratio, ends and signs in a few words."""
    if told["ratio"] is None:
        return None
    signs = told["pairs"]
    ends = told_interval(*(told["interval"] or (None, None)))
    kind = f" ({told['interval_kind']})" if told["interval_kind"] else ""
    pairs = f", {signs['for']} of {signs['of']} pairs" if signs["of"] > 1 else ""
    about = claim["quantity"].rpartition("_")[0].replace("_", " ")
    return f"{about} {shortened(told['ratio'])} times{ends}{kind}{pairs}"


def _beside(told: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what stands beside an answer and changes none: size, regime, evidence."""
    names = {"Size": "size", "Regime": "regime", "Evidence": "evidence"}
    return {name: told[key] and told[key]["text"] for name, key in names.items()}


def _claim(told: Told, claim: Mapping[str, Any]) -> str:
    """Return one statement with its answer and the reason; folded away, pair by pair."""
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
        f'<li id="{escape(told.claim_anchor(claim["id"]))}">{page.badge(claim["direction"])}'
        f' <span class="soft">{escape(_place(claim))}. {_figures(told, claim)}</span>{quote}'
        f"<p>{escape(claim['reason'])}</p>{page.chips(_beside(claim))}{_uncounted(told, claim)}"
        f"{page.details('How it was judged', folded)}</li>"
    )


def _uncounted(told: Told, claim: Mapping[str, Any]) -> str:
    """Return why a statement does not count in the answer above it, if it does not."""
    if claim["repeats"]:
        link = f'<a href="#{escape(told.claim_anchor(claim["repeats"]))}">another statement</a>'
        return f'<p class="soft">Repeats {link} and does not count again.</p>'
    if counts(claim):
        return ""
    why = "Not counted: another machine's value."
    if claim["kind"] != RESULT:
        why = f"Not counted, a {claim['kind']}. {claim['kind_why'] or ''}".strip()
    return f'<p class="soft">{escape(why)}</p>'


def _figures(told: Told, claim: Mapping[str, Any]) -> str:
    """Return the figures of a statement, those that are drawn as links."""
    drawn = {figure.id for figure in told.drawn}
    links = []
    for figure in sorted(claim["figures"], key=order_of):
        link = f'<a href="#{escape(told.anchor(figure))}">{escape(figure)}</a>'
        links.append(link if figure in drawn else escape(figure))
    return f"Figure{'s' * (len(links) > 1)} {', '.join(links)}"


def _place(claim: Mapping[str, Any]) -> str:
    """Return where a statement stands: a part that has a name has that alone."""
    section = str(claim["section"])
    named = section.isalpha() and not section.isupper()
    return section if named else f"Section {section}"


def of_figure(told: Told, figure_id: str) -> str:
    """Return what is found on one figure: its reading, and its statements, which lead to theirs."""
    own = [claim for claim in told.verdicts["claims"] if figure_id in claim["figures"]]
    line = reading(told.verdicts, figure_id)
    read = f"<p><b>{escape(line)}</b></p>" if line else ""
    listed = "".join(
        f"<li>{page.badge(claim['direction'])} "
        f'<a href="#{escape(told.claim_anchor(claim["id"]))}">“{escape(claim["quote"])}”</a></li>'
        for claim in own
        if counts(claim)
    )
    return read + (f'<ul class="claims">{listed}</ul>' if listed else "")
