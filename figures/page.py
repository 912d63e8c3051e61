"""The look of the report: one style sheet and the few pieces that its sections are made of.

Everything is inline, so that the page is one file that needs no network. Colour never stands alone:
each answer has an icon and its word beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

# Icon and class of each answer; what was not judged has none.
BADGES = {
    "holds": ("✓", "yes"),
    "does not hold": ("✕", "no"),
    "mixed": ("◐", "part"),
    "cannot tell": ("–", "open"),
}

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6570; --paper: #fbfbfa;
  --card: #ffffff; --line: #dfe3e6; --yes: #00694d; --part: #8a5a00; --no: #a33b00;
  --open: #4c5660; --yes-bg: #e0f3ec; --part-bg: #fcefd3; --no-bg: #fbe3d8; --open-bg: #e9ecef; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a0a9b1; --paper: #15181b;
  --card: #1e2226; --line: #343a40; --yes: #62d3ae; --part: #f2b84b; --no: #ff9a6b;
  --open: #b4bcc4; --yes-bg: #12352b; --part-bg: #3a2c0d; --no-bg: #43210f;
  --open-bg: #2b3035; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main, header, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: clamp(1.6rem, 4vw, 2.3rem); line-height: 1.15; margin: 0 0 .4rem;
  letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 0 0 .6rem; line-height: 1.25; }
h2.group { margin: 2.4rem 0 .2rem; }
h3 { font-size: 1.05rem; margin: 1.2rem 0 .4rem; }
section > h3:first-child { margin-top: 0; }
ul { margin: .4rem 0; padding-left: 1.2rem; max-width: 46rem; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: inherit; text-underline-offset: .15em; }
.soft { color: var(--soft); font-size: .9rem; }
.tally { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1.4rem 0; padding: 0; list-style: none; }
.tally li { border-radius: .6rem; padding: .7rem .9rem; }
.tally b { display: block; font-size: 1.9rem; line-height: 1.1;
  font-variant-numeric: tabular-nums; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: 1rem 0 0; font-size: .95rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .8rem;
  padding: 1.3rem; margin: 1.4rem 0; }
.pair { display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
@media (min-width: 60rem) { .pair { grid-template-columns: 25rem minmax(0, 1fr); }
  .stay { position: sticky; top: 1rem; } }
.stay > p { margin: .6rem 0; }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; background: #fff; border-radius: .4rem;
  padding: .5rem; border: 1px solid var(--line); }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
.letters { position: absolute; width: 0; height: 0; }
.claims { list-style: none; margin: 0; padding: 0; }
.claims > li { padding: .7rem 0; border-top: 1px solid var(--line); }
.claims > li:first-child { border-top: 0; padding-top: 0; }
blockquote { margin: .35rem 0; font-family: Georgia, "Times New Roman", serif; font-size: 1.02rem; }
.badge { display: inline-block; border-radius: 1rem; padding: .05rem .65rem; font-size: .85rem;
  font-weight: 600; white-space: nowrap; }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: .4rem;
  padding: 0 .45rem; margin: .1rem .35rem .1rem 0; font-size: .82rem; color: var(--soft); }
.findings h3 { display: inline; margin: 0 0 0 .4rem; font-size: 1.02rem; }
.yes { color: var(--yes); background: var(--yes-bg); }
.part { color: var(--part); background: var(--part-bg); }
.no { color: var(--no); background: var(--no-bg); }
.open { color: var(--open); background: var(--open-bg); }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; }
code { font: .86em ui-monospace, "Cascadia Mono", Menlo, monospace; }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 3rem; }
@media print { body { background: #fff; color: #000; font-size: 10.5pt; }
  section { break-inside: auto; border: 0; padding: 0; } .pair { display: block; }
  .stay { position: static; }
  figure { max-width: 11cm; break-inside: avoid; } .claims > li { break-inside: avoid; }
  nav { display: none; } }
"""


def document(title: str, header: str, body: str, footer: str) -> str:
    """Return a whole page of HTML from its parts."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n{header}\n</header>\n<main>\n{body}\n</main>\n"
        f"<footer>\n{footer}\n</footer>\n</body>\n</html>\n"
    )


def badge(answer: str | None) -> str:
    """Return an answer as icon and word on its colour."""
    icon, look = BADGES.get(answer or "", ("?", "open"))
    return f'<span class="badge {look}"><span aria-hidden="true">{icon}</span> ' + (
        f"{escape(answer or 'not judged')}</span>"
    )


def chips(texts: Mapping[str, str | None]) -> str:
    """Return short facts beside an answer, each with its name; those without a text left out."""
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


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; numbers are set to the right."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = []
    for row in rows:
        lines.append("<tr>" + "".join(_cell(value) for value in row) + "</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape('' if value is None else str(value))}</td>"
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f'<td class="number">{"" if value != value else text}</td>'


def details(summary: str, content: str) -> str:
    """Return `content` folded away under `summary`."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"
