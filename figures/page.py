"""The frame of every page, and the few building blocks of the sections.

Everything is inline, so that the page is one file that needs no network. Colour never carries
meaning alone: each answer also has an icon and a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import repeat

from experiments.judging.badges import in_digits
from figures.page_script import SCRIPT
from figures.page_style import STYLE

# Icon and class of each answer; what was not judged has none.
BADGES = {
    "holds": ("✓", "yes"),
    "does not hold": ("✕", "no"),
    "mixed": ("◐", "part"),
    "cannot tell": ("–", "open"),
    "not measured here": ("○", "away"),
}


# The browser itself refuses anything that is not in the page or in a file of this folder.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
    " img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)


def document(title: str, header: str, body: str, footer: str) -> str:
    """Return a whole page of HTML from its parts."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f'<header>\n{header}\n</header>\n<main id="content">\n{body}\n</main>\n'
        f"<footer>\n{footer}\n</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def section(place: str, title: str, content: str) -> str:
    """Return a section with an id and a heading; `title` and `content` are markup."""
    return f'<section id="{escape(place)}"><h2>{title}</h2>{content}</section>'


def mark(answer: str) -> str:
    """Return the icon of an answer in its colour, with the word for those who hear the page."""
    icon, look = BADGES.get(answer, ("?", "open"))
    return (
        f'<span class="mark {look}" aria-hidden="true">{icon}</span>'
        f'<span class="read-aloud">{escape(answer)}: </span>'
    )


def filters(choices: Mapping[str, tuple[str, Mapping[str, str]]], counted: str) -> str:
    """Return the form of the filters, which the script of the page shows.

    Parameters
    ----------
    choices : mapping
        By the name in the address: the attribute of the items that are filtered, and the text of
        each value. The first choice is everything.
    counted : str
        Selector of the items whose number is shown.
    """
    controls = []
    for name, (attribute, texts) in choices.items():
        options = "".join(
            f'<option value="{escape(value)}">{escape(text)}</option>'
            for value, text in texts.items()
        )
        controls.append(
            f'<label>{escape(name.capitalize())} <select name="{escape(name)}"'
            f' data-filter="{escape(attribute)}"><option value="">all</option>{options}</select>'
            "</label>"
        )
    return (
        f'<form class="filter" hidden>{"".join(controls)}<button type="reset">Show all</button>'
        f'<output data-count="{escape(counted)}"></output></form>'
    )


def filtered(answer: str, designs: Iterable[str]) -> str:
    """Return the attributes of an item by which the script of the page filters."""
    return f'data-answer="{escape(answer)}" data-designs="{escape("|".join(designs))}"'


def badge(answer: str | None) -> str:
    """Return an answer as icon and word on the answer's colour."""
    icon, look = BADGES.get(answer or "", ("?", "open"))
    return f'<span class="badge {look}"><span aria-hidden="true">{icon}</span> ' + (
        f"{escape(answer or 'not judged')}</span>"
    )


def chips(texts: Mapping[str, str | None]) -> str:
    """Return named short facts to show next to an answer; omit those without a text."""
    told = [
        f'<span class="chip"><b>{escape(name)}</b> {escape(text)}</span>'
        for name, text in texts.items()
        if text
    ]
    return f"<p>{' '.join(told)}</p>" if told else ""


def tally(counts: Mapping[str, int]) -> str:
    """Return the number of findings with each answer, as a row of tiles."""
    tiles = []
    for answer, (icon, look) in BADGES.items():
        word = f'<span aria-hidden="true">{icon}</span> {answer}'
        tiles.append(f'<li class="{look}"><b>{counts.get(answer, 0)}</b>{word}</li>')
    return f'<ul class="tally">{"".join(tiles)}</ul>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], ids: Iterable[str] | None = None
) -> str:
    """Return a table; numbers are aligned right.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequence
    ids : iterable of str, optional
        The id of each row on the page.
    """
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    names = repeat("") if ids is None else (f' id="{escape(each)}"' for each in ids)
    lines = []
    for row, name in zip(rows, names, strict=False):
        lines.append(f"<tr{name}>{''.join(_cell(value) for value in row)}</tr>")
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape('' if value is None else str(value))}</td>"
    text = f"{value:,}" if isinstance(value, int) else in_digits(value, 4)
    return f'<td class="number">{"" if value != value else text}</td>'


def points(texts: Iterable[str]) -> str:
    """Return statements as a list."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def details(summary: str, content: str) -> str:
    """Return `content` folded away under `summary`."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"
