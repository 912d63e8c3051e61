"""The answers to the questions about designs, as the front pages and a file show them.

The answers of a set are computed once (``figures.which_design``) and written into a file of the
set, which the front page over all sets reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from experiments import summaries
from experiments.declare import SIZES, Figure, Sweep
from experiments.judging.badges import with_ends
from experiments.judging.pool import Pool
from experiments.records.files import write_file
from experiments.records.quantities import quantity
from experiments.records.statistics import PROCESSES_FOR_AN_INTERVAL
from figures import page
from figures.files import ANSWERS
from figures.load import apart_words
from figures.page_data import PageData, questions_of
from figures.statements import BRACKETS, joined_words
from figures.style import look_of
from figures.which_design import Answer, Question, answer_of, gain, nearest_value

PLACE, TITLE = "which-design", "Which design for what, on this machine"
INTRODUCTION = (
    "Answers are of this set's rows: of the designs that the figures named at the end of the row"
    " compare, the one with the best value in most settings, over the next best one. Factors are"
    " pooled over the settings. Two designs are alike where they cannot be told apart."
)
HEAD = ("the job", "pick", "by how much", "at what cost", "in", "how far to trust it",
        "figures and rows")  # fmt: skip
ASKED = "First questions"
# Before designs of which neither is ahead, where the question is whether one is.
OPEN = "Cannot be told here: "
_COMMAND = re.compile(r"make figures(?: [A-Z]+=\w+)+")
_NOISE = f"{BRACKETS} That is in the column on trust."


def answers_of(pages: Sequence[PageData]) -> list[dict[str, Any]]:
    """Return the answers to the questions of all papers of a set, as JSON objects.

    Each has ``id``, ``paper``, ``asked``, ``best``, the cells of a row by the names in ``HEAD``,
    ``links``, and ``names``: what the designs in it are.
    """
    return [_record(question, data) for data in pages for question in questions_of(data.paper.id)]


def write_answers(records: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Write the answers of a set into its folder; return the file."""
    text = json.dumps(records, indent=1, ensure_ascii=False)
    return write_file(folder / ANSWERS, f"{text}\n".encode())


def read_answers(folder: Path) -> list[dict[str, Any]]:
    """Return the answers of a set; none where an earlier version of Millrace wrote the set."""
    file = folder / ANSWERS
    return json.loads(file.read_text("utf-8")) if file.is_file() else []


def section(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the section with the questions of all papers of a set; empty where none has any."""
    if not records:
        return ""
    content = f"<p>{escape(INTRODUCTION)} {_NOISE}</p>{_table(HEAD, records)}"
    return page.section(PLACE, TITLE, content)


def first_questions(records: Sequence[Mapping[str, Any]], folder: str) -> str:
    """Return the table of the questions that a newcomer asks; empty without any.

    Parameters
    ----------
    records : sequence of mapping
    folder : str
        The folder of the set, as seen from the page.
    """
    asked = [{**each, HEAD[0]: each["asked"]} for each in records if each["asked"]]
    table = _table(("question", *HEAD[1:]), asked, f"{folder}/") if asked else ""
    return f'<h3>{ASKED}</h3><p class="soft">{_NOISE}</p>{table}' if asked else ""


def names_in(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return what each design in some answers is."""
    return {name: told for each in records for name, told in each["names"].items()}


def _table(head: Sequence[str], records: Sequence[Mapping[str, Any]], folder: str = "") -> str:
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    rows = "".join(_row(each, folder) for each in records)
    return (
        f'<div class="scroll" tabindex="0"><table class="answers"><thead><tr>{cells}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(record: Mapping[str, Any], folder: str) -> str:
    """Return a row; a page over several sets links to the set's, and has no id for it."""
    links = " ".join(
        f'<a href="{escape(folder + link)}">{escape(name)}</a>' for name, link in record["links"]
    )
    cells = [escape(record[HEAD[0]])]
    # On a phone the cells of a row stand below each other, each with the name of its column.
    for name in HEAD[1:-1]:
        label = f'<span class="label">{escape(name)}: </span>'
        cells.append(f"{label}{escape(record[name])}" if record[name] else "")
    best = escape(record["best"])
    cells[1] = cells[1].replace(best, f"<b>{best}</b>", 1) if best else cells[1]
    cells[1] = _COMMAND.sub(r"<code>\g<0></code>", cells[1])
    cells.append(links)
    content = "".join(f"<td>{each}</td>" if each else "<td></td>" for each in cells)
    ident = "" if folder else f' id="{escape(record["id"])}"'
    return f'<tr{ident} data-paper="{escape(record["paper"])}">{content}</tr>'


def _record(question: Question, data: PageData) -> dict[str, Any]:
    answer = answer_of(question, data)
    family = next(f.family for f in data.paper.figures if f.id in question.figures)
    absent = "" if answer.best else _not_measured(question, data)
    if absent and (near := nearest_value(question, data)) is not None:
        answer = answer_of(question, data, near)
    titles = {
        line: look_of(family, line).title
        for line in (answer.best, *answer.alike, *answer.over_all, answer.next, answer.ours)
        if line
    }
    asked_at = answer.at if not absent else question.at
    cells = (
        question.words.format(at=_value_words(asked_at)),
        " ".join(filter(None, [absent, _near(question, data, answer, absent),
                               _pick(answer, titles, question)])),
        _factor(question, answer, titles),
        _cost(answer, titles),
        _many(answer.leads, answer.of) if answer.best else "",
        _trust(question, answer),
    )  # fmt: skip
    known = summaries.names_of(data.paper)
    return {
        "id": f"{PLACE}-{data.paper.id}-{question.id}",
        "paper": data.paper.id,
        "asked": question.asked,
        "best": titles.get(answer.best, ""),
        **dict(zip(HEAD, cells, strict=False)),
        "links": _links(question, data, answer),
        "names": {title: known[title] for title in titles.values() if title in known},
    }


def _value_words(at: Any) -> str:
    if isinstance(at, int | float):
        return f"{at:,}"
    return "…"


def _many(leads: int, of: int) -> str:
    return f"{leads} of {of} setting{'' if of == 1 else 's'}"


def _not_measured(question: Question, data: PageData) -> str:
    """Return that there is no answer, what the set measures in its place, and which command does.

    For example "Not measured here (profile quick has 1, 4 and 20 inputs); `make figures
    PAPER=multiway_aggregation PROFILE=laptop` measures it."
    """
    figures = [figure for figure in data.paper.figures if figure.id in question.figures]
    sizes = set(data.results.rows["size"])
    here = next((size for size in SIZES if size in sizes), SIZES[0])
    able = [size for size in SIZES if any(_measures(f, size, question) for f in figures)]
    told = "Not measured here"
    sweep = next((s for f in figures for s in f.free if s.setting == question.setting), None)
    if sweep is not None and here not in able:
        told += f" (profile {here} has {_values(sweep, here)})"
    if not able:
        return f"{told}; no profile does."
    return f"{told}; make figures PAPER={data.paper.id} PROFILE={able[0]} measures it."


def _measures(figure: Figure, size: str, question: Question) -> bool:
    """Return whether a profile of a size measures a figure where a question asks."""
    swept = [sweep for sweep in figure.free if sweep.setting == question.setting]
    declared = all(question.at in sweep.values[size] for sweep in swept)
    return size not in figure.absent_from and (declared or isinstance(question.at, str))


def _values(sweep: Sweep, size: str) -> str:
    words = [_value_words(value) for value in sweep.values[size] if isinstance(value, int)]
    return f"{joined_words(words)} {sweep.words}"


def _near(question: Question, data: PageData, answer: Answer, absent: str) -> str:
    """Return the words before an answer at another value than the asked one."""
    if not (absent and answer.best):
        return ""
    figure = next(f for f in data.paper.figures if f.id in question.figures)
    return f"With {figure.setting_text(question.setting, answer.at)}, the nearest measured:"


def _pick(answer: Answer, titles: Mapping[str, str], question: Question) -> str:
    if not answer.best:
        return ""
    alike, over_all = (
        [titles[line] for line in lines] for lines in (answer.alike, answer.over_all)
    )
    meaning = question.meaning.get(answer.best, "")
    told = f"{OPEN if meaning and answer.alike else meaning}{titles[answer.best]}"
    told += f", alike with {joined_words(alike)}" if alike else ""
    told += f"; over all settings together {joined_words(over_all)}" if over_all else ""
    if answer.ours_pool is not None:
        better, words = quantity(question.quantity).better, quantity(question.quantity).words
        gained = _times(answer.ours_pool, better, words, titles[answer.best])
        settings = _many(len(answer.ours_pool.ratios), answer.of)
        told += f". Of ours, which no paper has, {titles[answer.ours]}: {gained}, in {settings}"
    return told


def _factor(question: Question, answer: Answer, titles: Mapping[str, str]) -> str:
    if answer.pool is None:
        return ""
    one = quantity(question.quantity)
    return _times(answer.pool, one.better, one.words, titles[answer.next])


def _times(pool: Pool, better: str, words: str, other: str) -> str:
    """Return a ratio in words: "throughput 2.9 times that of MQLF [2.5, 3.3]".

    A latency is "so many times lower" than that of the other.
    """
    spread = pool.spread
    low, high = (None if end is None else gain(end, better) for end in (spread.low, spread.high))
    ends = (low, high) if better == "higher" else (high, low)
    number, brackets = with_ends(gain(spread.value, better), *ends)
    if better == "higher":
        return f"{words} {number} times that of {other}{brackets}"
    return f"{words} {number} times lower than that of {other}{brackets}"


def _cost(answer: Answer, titles: Mapping[str, str]) -> str:
    """Return what an answer is paid with, in latency or rate, and the threads of both sides."""
    told = []
    if answer.paid is not None:
        words = quantity(answer.cost).words
        told.append(_times(answer.paid, "higher", words, titles[answer.next]))
        if answer.fractions:
            shares = joined_words(f"{100 * each:.0f} %" for each in answer.fractions)
            told[-1] += f", each at {shares} of its own throughput"
    elif answer.next:
        words = quantity(answer.cost).words if answer.cost else "latency"
        told.append(f"{words} not measured of both")
    if answer.best:
        told.append(_threads(answer, titles))
    return "; ".join(told)


def _threads(answer: Answer, titles: Mapping[str, str]) -> str:
    """Return the threads of the pick and of the next one: "3 threads each"."""
    counts = {
        line: _span({there[line].threads for there in answer.places if line in there})
        for line in dict.fromkeys((answer.best, answer.next))
        if line
    }
    if len(set(counts.values())) == 1:
        (count,) = set(counts.values())
        each = " each" if len(counts) > 1 else ""
        return f"{count} thread{'' if count == '1' else 's'}{each}"
    return "threads: " + ", ".join(f"{titles[line]} {count}" for line, count in counts.items())


def _span(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"


def _trust(question: Question, answer: Answer) -> str:
    """Return processes, noise, the share of oversubscribed settings, and the caveat."""
    points = [point for there in answer.places for point in there.values()]
    told = []
    if points:
        fewest = min(len({process for process, _ in p.values}) for p in points)
        told.append(
            f"{fewest} processes"
            if fewest >= PROCESSES_FOR_AN_INTERVAL
            else f"{fewest} of {PROCESSES_FOR_AN_INTERVAL} processes that an interval needs"
        )
        if answer.pool is not None:
            floor = answer.pool.floor
            told.append(
                "too few equal runs to know this machine's noise" if floor is None
                else f"equal runs, pooled alike, differ by up to {apart_words(floor)} here"
            )  # fmt: skip
        crowded = sum(any(p.oversubscribed for p in there.values()) for there in answer.places)
        if crowded:
            told.append(f"more threads than cores in {crowded} of {len(answer.places)}")
    if question.caveat:
        told.append(question.caveat)
    return "; ".join(told)


def _links(question: Question, data: PageData, answer: Answer) -> list[tuple[str, str]]:
    """Return name and address of each drawn figure of a question, and of the rows of the pick."""
    file = f"{data.paper.id}.html"
    drawn = {figure.id: figure for figure in data.drawn}
    found = [(name, f"{file}#{data.anchor(name)}") for name in question.figures if name in drawn]
    points = [there[answer.best] for there in answer.places if answer.best in there]
    point = next((each for each in points if each.figure in drawn), None)
    if point is not None:
        anchor = data.run_anchor(drawn[point.figure], point.variant, point.settings)
        found.append(("rows", f"{file}#{anchor}"))
    return found
