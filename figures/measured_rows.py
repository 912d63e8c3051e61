"""The runs behind a figure: rows by setting, their raw files, and the commands that measure again.

The address of a raw file is relative to the page, so that a folder of results can be moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from experiments.declare import Figure, Series
from experiments.judging.points import everywhere
from figures import page, style
from figures.page_data import PageData

COMMAND = ".venv/bin/millrace bench"
WORKFLOW = ".venv/bin/snakemake --cores all"


class RunsOfSetting(NamedTuple):
    """The rows of one series at one setting of a figure.

    Attributes
    ----------
    line : Series
    settings : mapping
        Every setting by name.
    words : str
        The swept settings in words.
    rows : tuple of mapping
    """

    line: Series
    settings: Mapping[str, Any]
    words: str
    rows: tuple[Mapping[str, Any], ...]


def runs_of(data: PageData, figure: Figure) -> list[RunsOfSetting]:
    """Return the rows that a figure shows, sorted by series and setting."""
    placed = data.results.placed_rows(figure)
    asked = [row["settings"] for _, row in placed]
    alike: dict[tuple, list[Mapping[str, Any]]] = {}
    for line, row in placed:
        alike.setdefault((line, *sorted(row["settings"].items())), []).append(row)
    found: dict[tuple, RunsOfSetting] = {}
    for (line, *_), rows in alike.items():
        # A setting that does not concern a series is shown at each value of the sweep.
        for settings in everywhere(line, rows[0]["settings"], figure, asked):
            swept = [(each.setting, settings[each.setting]) for each in figure.free
                     if each.setting in settings]  # fmt: skip
            words = ", ".join(figure.setting_text(*each) for each in swept)
            before = found.get((line, *swept))
            every = (*(before.rows if before else ()), *rows)
            found[line, *swept] = RunsOfSetting(line, settings, words, every)

    def order(each: RunsOfSetting) -> tuple:
        places = [
            sweep.sort_key(each.settings[sweep.setting])
            for sweep in figure.free
            if sweep.setting in each.settings
        ]
        return each.line, len(places), places

    return sorted(found.values(), key=order)


def of_figure(data: PageData, figure: Figure) -> str:
    """Return the runs behind a figure, folded: empty where none was made."""
    runs = runs_of(data, figure)
    if not runs:
        return ""
    items = "".join(_setting(data, figure, each) for each in runs)
    again = "".join(_group(data, name) for name in _groups(runs))
    content = (
        "<p>Raw rows, one file a process, with the command that adds another process of the"
        f' group:</p><ul>{again}</ul><div class="scroll" tabindex="0"><table><thead><tr>'
        "<th>line</th><th>setting</th><th>rows</th><th>provenance</th>"
        "<th>one run again</th></tr></thead>"
        f"<tbody>{items}</tbody></table></div>"
    )
    return page.details(f"Rows, and how to measure again: {len(runs)} settings", content)


def _groups(runs: Sequence[RunsOfSetting]) -> list[str]:
    return list(dict.fromkeys(row["group"] for each in runs for row in each.rows))


def _group(data: PageData, group: str) -> str:
    """Return the raw files of a group as links, and the command that measures it again."""
    files = raw_files_of(data, group)
    links = " ".join(
        f'<a href="{escape(file.as_posix())}">{escape(file.stem)}</a>' for file in files
    )
    command = measure_again(data, files)
    shown = f"<br><code>{escape(command)}</code>" if command else ""
    return f"<li>{escape(group)}: {links}{shown}</li>"


def raw_files_of(data: PageData, group: str) -> list[PurePosixPath]:
    """Return the raw files of a group, relative to the folder of the page."""
    files = [PurePosixPath(each) for each in data.verdicts["raw_files"]]
    return [
        PurePosixPath(*file.parts[1:]) if file.parts[0] == ".." else file
        for file in files
        if group in file.parts
    ]


def measure_again(data: PageData, files: Sequence[PurePosixPath]) -> str:
    """Return the command that measures a group in one more process; empty without files."""
    if not files:
        return ""
    file = f"repetition-{len(files) + 1}.jsonl"
    target = PurePosixPath("results", data.label, files[0].parent, file)
    named = f" label={data.label_option}" if data.label_option else ""
    return f"{WORKFLOW} --config profile={data.profile} paper={data.paper.id}{named} -- {target}"


def _setting(data: PageData, figure: Figure, each: RunsOfSetting) -> str:
    rows = Counter(row["phase"] for row in each.rows)
    told = ", ".join(f"{count} {phase}" for phase, count in rows.items())
    wrong = sum(not row["valid"] for row in each.rows)
    told += f"; {wrong} invalid" if wrong else ""
    links = " ".join(
        f'<a href="#{escape(provenance_anchor(name))}">{escape(name[:8])}</a>'
        for name in dict.fromkeys(row["provenance"] for row in each.rows)
    )
    title = style.look_of(figure.family, each.line).title
    place = escape(data.run_anchor(figure, each.line, each.settings))
    return (
        f'<tr id="{place}"><td>{escape(title)}</td><td>{escape(each.words)}</td>'
        f"<td>{escape(told)}</td><td>{links}</td>"
        f"<td><code>{escape(bench_command(figure, each))}</code></td></tr>"
    )


def bench_command(figure: Figure, each: RunsOfSetting) -> str:
    """Return the command that makes one run of a series at one setting."""
    own = each.rows[0]["settings"]
    given = {name: value for name, value in own.items() if value is not None}
    told = " ".join(f"{name}={value}" for name, value in sorted(given.items()))
    return f"{COMMAND} {figure.family} {each.line.variant} --set {told}"


def provenance_anchor(name: str) -> str:
    """Return the id of a provenance on the page."""
    return f"provenance-{name}"


def provenances(data: PageData) -> str:
    """Return each provenance of a paper's rows, folded: machine, versions, and command line."""
    used = {row["provenance"] for row in data.results.raw.rows}
    parts = []
    for name, given in sorted(data.results.raw.provenances.items()):
        if name in used:
            table = page.table(("field", "value"), _fields(given))
            summary = f"{name[:8]}: {given.get('cpu_model', 'unknown processor')}"
            parts.append(
                f'<div id="{escape(provenance_anchor(name))}">{page.details(summary, table)}</div>'
            )
    return page.section(f"provenance-of-{data.paper.id}", "Provenance of the rows", "".join(parts))


def _fields(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in sorted(given.items()):
        yield name, " ".join(map(str, value)) if isinstance(value, list) else str(value)
