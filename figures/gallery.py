"""The gallery: all figures of a set of results on one page, by paper and heading.

Each thumbnail has the figure's one-line reading below it, taken from the verdicts, and links to the
figure's section of the report; below are links to the figure's files. The page refers to the
pictures in the same folder and needs no network.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from experiments import papers
from experiments.declare import Figure, Paper, stem_of
from experiments.judging.claims import read_verdicts
from experiments.judging.points import UsageError
from experiments.judging.reasons import reading
from experiments.records.files import write_file
from figures import page
from figures.files import EXTENDED, forms_of

TITLE = "All figures"
# A figure is shown at the width of a printed column.
STYLE = """<style>
.gallery { display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
.gallery figure { border: 1px solid var(--line); border-radius: .6rem; padding: .7rem;
  background: var(--card); display: flex; flex-direction: column; }
.gallery a.thumb { display: block; background: #fff; border-radius: .3rem; overflow: hidden; }
.gallery img { display: block; width: 100%; height: 17rem; object-fit: contain;
  object-position: top; background: #fff; }
.gallery figcaption { margin-top: .5rem; }
.gallery .reading { margin: .2rem 0; font-weight: 600; }
</style>"""
HINT = (
    "A click on a picture leads to what the paper says of it and what was found here; the line"
    " below it counts the pairs of throughputs, or of what its statements are about, that were"
    " compared."
)


def write_gallery(folder: str | Path) -> Path:
    """Write ``figures/index.html`` of a set of results; return its path.

    Parameters
    ----------
    folder : path
        Holds claims/<paper>.json and figures/<paper>/.

    Raises
    ------
    UsageError
        When no figure of a judged paper is drawn.
    """
    folder = Path(folder)
    output = folder / "figures" / "index.html"
    sections = []
    for file in sorted((folder / "claims").glob("*.json")):
        paper, verdicts = papers.paper(file.stem), read_verdicts(file)
        sections += _paper(paper, verdicts, output.parent)
    if not sections:
        raise UsageError(f"no figures in {output.parent}: draw them with `make figures`")
    header = f'{STYLE}<h1>{escape(TITLE)}</h1><p class="soft">{escape(HINT)}</p>'
    text = page.document(f"{TITLE}: {folder.name}", header, "\n".join(sections), "")
    return write_file(output, text.encode())


def _paper(paper: Paper, verdicts: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the title of a paper and a grid of drawn figures for each heading."""
    parts = []
    for heading in paper.headings:
        members = [
            figure
            for figure in paper.figures
            if figure.heading == heading.id and _file(folder, figure, "png").is_file()
        ]
        if members:
            shown = "".join(_thumbnail(each, verdicts, folder) for each in members)
            parts.append(
                f'<h2 class="group">{escape(heading.title)}</h2><p>{escape(heading.sentence)}</p>'
                f'<div class="gallery">{shown}</div>'
            )
    return [f"<h2>{escape(paper.title)}</h2>", *parts] if parts else []


def _thumbnail(figure: Figure, verdicts: Mapping[str, Any], folder: Path) -> str:
    name = f"Figure {figure.id}: {figure.caption}"
    read = reading(verdicts, figure.id)
    image = _link(folder, _file(folder, figure, "png"))
    anchor = f"{figure.paper}-{figure.id}"
    section = escape(f"../{figure.paper}.html#{anchor}")
    kinds = " ".join(
        f'<a href="{_link(folder, _file(folder, figure, kind))}">{kind}</a>'
        for kind in ("pdf", "svg", "csv")
    )
    line = f'<p class="reading">{escape(read)}</p>' if read else ""
    return (
        f'<figure id="{escape(anchor)}"><a class="thumb" href="{section}">'
        f'<img loading="lazy" src="{image}" alt="{escape(name)}"></a>'
        f"<figcaption>{escape(figure.title)}{line}"
        f'<span class="soft">{kinds}{_wide(figure, folder)}</span></figcaption></figure>'
    )


def _wide(figure: Figure, folder: Path) -> str:
    """Return the link to the extended form, if the figure has one."""
    if EXTENDED not in forms_of(figure):
        return ""
    picture = _link(folder, _file(folder, figure, "svg", EXTENDED))
    return f' <a href="{picture}">all measured variants</a>'


def _file(folder: Path, figure: Figure, kind: str, form: str = "") -> Path:
    return folder / figure.paper / f"{stem_of(figure.id)}{form}.{kind}"


def _link(folder: Path, file: Path) -> str:
    return escape(file.relative_to(folder).as_posix())
