"""The first screen of a paper's page: banner, main figure, headline sentences, and answers.

The figure and the statements are those that ``first_screen`` of published.yaml names. The banner
says how noisy the machine was and how many statements that leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import ceil
from typing import Any

from experiments.declare import Figure
from experiments.judging.badges import shortened
from experiments.judging.claim_types import LOST
from experiments.judging.floors import (
    ENOUGH,
    LATENCY,
    PROCESSING,
    THROUGHPUT,
    Floors,
)
from experiments.judging.pool import CANNOT_TELL, NOT_MEASURED
from experiments.judging.reasons import counts
from experiments.judging.settling import MOST
from figures import page
from figures.load import apart_words
from figures.page_data import PageData
from figures.statements import BRACKETS, joined_words, label_of, paper_ratio, ratio_of, sides_of

# Without a declaration the page opens with the leading statements of this many findings.
HEADLINES = 4


def main_figure(data: PageData) -> Figure | None:
    """Return the main figure of a paper, or the first drawn one where it is not drawn."""
    first = data.verdicts.get("first_screen")
    wanted = first["figure"] if first else None
    drawn = data.drawn
    return next((each for each in drawn if each.id == wanted), drawn[0] if drawn else None)


def headline_claims(verdicts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the statements that the page opens with, in order."""
    claims = {claim["id"]: claim for claim in verdicts["claims"]}
    first = verdicts.get("first_screen")
    if first:
        return [claims[name] for name in first["statements"]]
    leading = [claims[finding["leading"]] for finding in verdicts["findings"]]
    return [claim for claim in leading if claim["ratio"] is not None][:HEADLINES]


def sentence_of(claim: Mapping[str, Any]) -> str:
    """Return a statement as a sentence with the number here, and the paper's number or words.

    For example "throughput: TuMLSC 3.2 times MQ [2.6, 3.9]; the paper 4 on 24 logical cores".
    """
    return f"{_here(claim)}; {_there(claim)}"


def _here(claim: Mapping[str, Any]) -> str:
    if claim["direction"] == NOT_MEASURED:
        return f"{label_of(claim)} is not measured here"
    if claim["ratio"] is None:
        signs = claim["pairs"]
        return f"{label_of(claim)}: {signs['for']} of {signs['of']} pairs for it"
    number, ends = ratio_of(claim)
    times = f"{number} times"
    sides = sides_of(claim)
    if not sides:
        return f"{label_of(claim)}: {times}{ends}"
    above, below = sides
    # "TuMLSC on 2 cores: 3 times", and "0.9 of 2 times that".
    above += ":" * above[-1].isdigit()
    times = times.replace("times", "of") if below[0].isdigit() else times
    return f"{claim['compared']}: {above} {times} {below}{ends}"


def _there(claim: Mapping[str, Any]) -> str:
    cores = claim["paper_hardware"].rpartition(", ")[2]
    there = paper_ratio(claim)
    if there is not None:
        return f"the paper {shortened(there)} on {cores}"
    if claim["value"] == LOST:
        return f"the number of the paper, on {cores}, is lost in its text"
    quote = f"“{claim['quote']}”"
    # Without names for the two sides the quote is the label, and is not repeated.
    return (
        f"measured there on {cores}"
        if quote == label_of(claim)
        else f"the paper, on {cores}: {quote}"
    )


def banner_text(verdicts: Mapping[str, Any]) -> str:
    """Return one sentence on the noise of the machine, and on the statements it leaves open.

    For example "On these 2 cores 19 of 20 pairs of equal runs differ by less than 12 % in
    throughput (40 % with more threads than cores) and 2.1 times in latency, which leaves 9 of 40
    measured statements open; 31 of the 40 rest on runs with more threads than cores."
    """
    measured = [
        claim for claim in verdicts["claims"]
        if counts(claim) and claim["direction"] != NOT_MEASURED
    ]  # fmt: skip
    cores = verdicts["cores"]
    here = f"On {'this core' if cores == 1 else f'these {cores} cores'}"
    if not measured:
        return f"{here} no statement was measured in this set of results."
    count = len(measured)
    open_ones = sum(claim["direction"] == CANNOT_TELL for claim in measured)
    crowded = sum(bool(claim["regime"] and claim["regime"]["oversubscribed"]) for claim in measured)
    told = (
        f"{here} {_noise(verdicts)}, which leaves {open_ones} of {count} measured statements open"
    )
    if crowded:
        told += f"; {crowded} of the {count} rest on runs with more threads than cores"
    return f"{told}."


def _noise(verdicts: Mapping[str, Any]) -> str:
    """Return how far equal runs differ, by kind of quantity."""
    floors = Floors.of_records(verdicts["floors"])
    told = []
    for kind in (THROUGHPUT, LATENCY, PROCESSING):
        free, crowded = (floors.known(kind, oversubscribed) for oversubscribed in (False, True))
        if free and crowded:
            grey = f"{apart_words(crowded.factor)} with more threads than cores"
            told.append(f"{apart_words(free.factor)} in {kind} ({grey})")
        elif free or crowded:
            only = "" if free else " with more threads than cores"
            told.append(f"{apart_words((free or crowded).factor)} in {kind}{only}")
    if not told:
        return f"fewer than {ENOUGH} pairs of equal runs were made, so their noise is unknown"
    return f"19 of 20 pairs of equal runs differ by less than {joined_words(told)}"


def settling_text(data: PageData) -> str:
    """Return how many processes would settle half of the open statements, and the command.

    For example "About 12 processes would settle 5 of the 9 open statements: `make figures ...`".
    Empty where no statement is open.
    """
    open_ones = [
        claim for claim in data.verdicts["claims"]
        if counts(claim) and claim["direction"] == CANNOT_TELL
    ]  # fmt: skip
    if not open_ones:
        return ""
    needed = sorted(claim["processes_needed"] or MOST + 1 for claim in open_ones)
    possible = [count for count in needed if count <= MOST]
    if not possible:
        return f"At this spread {MOST} processes would settle none of the open statements."
    wanted = possible[(len(possible) - 1) // 2]
    settled = sum(count <= wanted for count in possible)
    command = (
        f"make figures PAPER={data.paper.id} PROFILE={data.profile}"
        f" REPETITIONS={ceil(wanted / _forks(data))}"
    )
    command += f" LABEL={data.label_option}" if data.label_option else ""
    return (
        f"About {wanted} processes would settle {settled} of the {len(open_ones)} open"
        f" statements: {command}"
    )


def _forks(data: PageData) -> int:
    """Return how many processes measure for each that is started."""
    started = data.results.rows["started"].nunique()
    return max(1, data.verdicts["processes"] // max(started, 1)) if started else 1


def section(data: PageData, figure: str) -> str:
    """Return the first screen below the title.

    Parameters
    ----------
    data : PageData
    figure : str
        The markup of the main figure with its links; may be empty.
    """
    verdicts = data.verdicts
    settling = settling_text(data)
    told, _, command = settling.partition(": ")
    shown = f"{escape(told)}: <code>{escape(command)}</code>." if command else escape(told)
    claims = "".join(_headline(data, claim) for claim in headline_claims(verdicts))
    return (
        f'<div class="banner" role="note"><b>Read with care.</b> {escape(banner_text(verdicts))}'
        f' {shown} <a href="#read">How to read this page</a></div>'
        f'<div class="first">{figure}<div>{page.tally(verdicts["answers"])}'
        f'<ul class="headlines">{claims}</ul><p class="soft">{BRACKETS}</p></div></div>'
    )


def _headline(data: PageData, claim: Mapping[str, Any]) -> str:
    here, there = _here(claim), _there(claim)
    link = escape(f"#{data.claim_anchor(claim['id'])}")
    return (
        f'<li>{page.badge(claim["direction"])} <a href="{link}"><b>{escape(here)}</b></a>;'
        f' <span class="soft">{escape(there)}.</span></li>'
    )
