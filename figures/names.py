"""The names on a page: each is explained where a reader meets it first, and in a list of names.

A name in the text is a link to the list, which works by keyboard and on a phone; a mouse shows the
sentence. The list is printed with the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape, unescape

from figures import page

PLACE, TITLE = "names", "Names"
# Marks at which a page gets the list, and a link to it: the names are those of all its text.
HERE, LINK = "<!-- names -->", "<!-- link to names -->"
# Text in these elements is no prose, or may hold no link.
_CLOSED = ("a", "button", "code", "dfn", "h1", "h2", "h3", "option", "pre", "script", "style",
           "summary", "svg", "title")  # fmt: skip
_TAG = re.compile(r"(<[^>]*>)")
# One word in plain letters, such as "Stream", is in sentences that mean something else.
_PLAIN = re.compile(r"[A-Za-z][a-z]*")


def explained(text: str, sentences: Mapping[str, str]) -> str:
    """Return a page with its names explained, the list of them at ``HERE``, and ``LINK`` to it.

    Parameters
    ----------
    text : str
        The markup of the page.
    sentences : mapping of str to str
        What each known name is. Those that the text lacks are not listed.
    """
    known = {name: told for name, told in sentences.items() if not _PLAIN.fullmatch(name)}
    # The longest first, so that "MQLF, rings" is not read as "MQLF".
    longest = sorted(known, key=lambda name: (-len(name), name))
    words = re.compile(rf"(?<![\w-])({'|'.join(re.escape(escape(n)) for n in longest)})(?![\w-])")
    parts, met, linked = _TAG.split(text), set(), set()
    for number, is_open in _texts(parts) if known else ():
        found = {unescape(each[0]) for each in words.finditer(parts[number])}
        met |= found
        if is_open and found - linked:
            parts[number] = words.sub(lambda each: _first(each[0], known, linked), parts[number])
    own = {name: told for name, told in known.items() if name in met}
    link = f'<a href="#{PLACE}">{TITLE}</a>' if own else ""
    return "".join(parts).replace(HERE, _list(own)).replace(LINK, link)


def _texts(parts: list[str]) -> Iterator[tuple[int, bool]]:
    """Yield the numbers of the parts that are text, and whether a link may be put there."""
    inside = 0
    for number, part in enumerate(parts):
        if not number % 2:
            if part.strip():
                yield number, inside == 0
            continue
        element = re.match(r"</?(\w+)", part)
        if element and element[1] in _CLOSED:
            inside += -1 if part.startswith("</") else not part.endswith("/>")


def _first(shown: str, known: Mapping[str, str], linked: set[str]) -> str:
    """Return a name as a link with the sentence, the first time; otherwise as it is."""
    name = unescape(shown)
    if name in linked:
        return shown
    linked.add(name)
    return (
        f'<a class="name" href="#{escape(anchor(name))}">'
        f'<abbr title="{escape(_plain(known[name]))}">{shown}</abbr></a>'
    )


def anchor(name: str) -> str:
    """Return the id of a name in the list.

    Examples
    --------
    >>> anchor("B+-Tree, OLC"), anchor("k-OS") == anchor("K-OS")
    ('name-B--Tree--OLC', False)
    """
    return f"name-{re.sub(r'[^0-9A-Za-z]', '-', name)}"


def _list(sentences: Mapping[str, str]) -> str:
    """Return the list of names; empty without any."""
    if not sentences:
        return ""
    items = [
        f'<li id="{escape(anchor(name))}">{_defined(name, _plain(sentences[name]))}</li>'
        for name in sorted(sentences, key=lambda each: (each.lower(), each))
    ]
    return page.section(PLACE, TITLE, f'<ul class="names">{"".join(items)}</ul>')


def _defined(name: str, sentence: str) -> str:
    """Return the entry of a name; a sentence that begins with the name does not repeat it."""
    rest = sentence.removeprefix(name)
    between = "" if rest != sentence else ": "
    return f"<dfn>{escape(name)}</dfn>{between}{escape(rest)}"


def _plain(sentence: str) -> str:
    """Return the sentence of a docstring without the marks of code."""
    return sentence.replace("`", "")
