"""The run before: what changed in a set of results since its groups were measured last.

The sentence is that of ``millrace compare LABEL``, of which the section shows the part on changes.
Two runs that do not belong together are refused there, and the page says so with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from experiments.comparison import Comparison, columns_of, compare
from experiments.judging.claims import UsageError
from experiments.records.sets import last_two
from figures import page

PLACE = "run-before"
TITLE = "Since the run before"
HEAD = ("", "times", "over the noise floor", "design and setting", "quantity", "before and after")
HEAD_OF_VERDICTS = ("paper", "kind", "statement", "before", "after")


def section(folder: str | Path) -> str:
    """Return the section on what changed since the run before.

    Parameters
    ----------
    folder : path
        A set of results; a group in it may have been measured under several keys, that is at
        several states of the code or of the data.
    """
    folder = Path(folder)
    try:
        before, after = last_two(str(folder))
    except UsageError:
        return page.section(PLACE, TITLE, f"<p>{escape(only_run(folder))}</p>")
    try:
        found = compare(before, after)
    except UsageError as refusal:
        told = f"There is a run before, and it is not compared: {refusal}."
        return page.section(PLACE, TITLE, f"<p>{escape(told)}</p>")
    return page.section(PLACE, TITLE, _content(found, folder.name))


def only_run(folder: Path) -> str:
    """Return the sentence on a set without a run before."""
    return (
        "No group of this set was measured under an earlier state of the code or the data, so there"
        f" is no run before. Two sets: millrace compare OTHER {folder.name}"
    )


def _content(found: Comparison, label: str) -> str:
    before, after = found.before, found.after
    spans = f"{_span(before)}, against {_span(after)}"
    parts = [
        f"<p><b>{escape(found.sentence())}</b></p>",
        f'<p class="soft">{escape(spans)}. <code>millrace compare {escape(label)}</code></p>',
    ]
    notes = [str(doubt) for doubt in found.doubts]
    if found.reference is not None:
        notes.append(
            f"The setting that every process measures ran {found.reference:.3f} times as fast"
            " afterwards."
        )
    parts.append(page.points(notes) if notes else "")
    if found.different:
        parts.append(page.table(HEAD, [columns_of(each) for each in found.different]))
    if found.verdicts:
        rows = list(_verdict_rows(found.verdicts))
        parts.append(page.details(f"{len(rows)} verdicts with another word",
                                  page.table(HEAD_OF_VERDICTS, rows)))  # fmt: skip
    return "".join(parts)


def _span(about: Mapping[str, Any]) -> str:
    commits = ", ".join(each[:8] for each in about["commits"]) or "no commit"
    return f"{about['first']} to {about['last']} UTC at {commits}, {about['processes']} processes"


def _verdict_rows(verdicts: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    columns = ("paper", "kind", "text", "before", "after")
    return [tuple(each[name] for name in columns) for each in verdicts]
