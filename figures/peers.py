"""The figure of peers of a paper: operators, and what users would take instead, on the same work.

A panel a comparison, in two blocks that never mix: operators take tuple after tuple, peers query a
whole input. Both rates are input tuples over the whole time, but the second is that of a batch; so
peers are hollow, stand under a heading of their own, and the caption says what their rate is.
Whoever gave a wrong row, or none, is not drawn and is named in the notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from experiments.declare import Series
from experiments.peers import rows
from experiments.peers.rows import OPERATOR, PEER, Row
from experiments.records.files import write_file
from experiments.records.results import Raw
from figures import marks, panel, plot, style
from figures.draw import saved
from figures.files import PEERS, PICTURES
from figures.footers import line_of
from figures.load import Results, machine_of

# Inches: a row, the room for names at most, above a panel and right of it.
ROW, MOST_FOR_NAMES, TITLE, RIGHT = 0.155, 1.6, 0.17, 0.16
LABEL = "Whole-input rate"
BLOCKS = {OPERATOR: "one tuple after another", PEER: "batch: a query over all tuples"}
CAPTION = (
    "Operators stream: closed loop, tuple after tuple, and each result is given out as soon as it"
    " is known; their rate is all tuples over all of the time, filling and draining too. Peers"
    " compute a batch over recorded input: a whole input that lies in the engine's own memory, with"
    " everything warm, in a process of its own; their rate is all tuples over the time of one"
    " query, up to the output in the engine's memory, without loading. A batch knows all input in"
    " advance and has no latency: the two kinds are no race, and say what waiting for the end of a"
    " stream is worth."
)
HOW = (
    "All take turns, every one once a round in random order, on the same dataset; each output was"
    " compared with the oracle of the operators, row for row, and who gives a wrong one is not"
    " drawn. Dots are medians of the rounds, with a tick at each."
)


class Point(NamedTuple):
    """One operator or peer in one comparison.

    Attributes
    ----------
    row : Row
        One of its runs.
    values : tuple of float
        The rate of each run, tuples/s; empty where none is to be drawn.
    noisy : bool
        Whether most runs were disturbed.
    problem : str
        Why it is not drawn; empty where it is.
    """

    row: Row
    values: tuple[float, ...]
    noisy: bool
    problem: str

    @property
    def value(self) -> float:
        """The median rate, tuples/s."""
        return median(self.values)

    @property
    def oversubscribed(self) -> bool:
        """Whether it has more threads than there are cores."""
        return self.row.threads > self.row.cores

    @property
    def name(self) -> str:
        """The name in the figure, with threads, and the version of a peer's engine."""
        threads = f"{self.row.threads} thread{'s' * (self.row.threads != 1)}"
        own = [self.row.shown, self.row.version or ""]
        return f"{' '.join(filter(None, own))}, {threads}"

    @property
    def look(self) -> style.Look:
        """The look: of the variant, or hollow."""
        if self.row.kind == OPERATOR:
            return style.look_of(self.row.family, Series(self.row.name))
        return style.Look(self.row.shown, style.BLACK, "D", style.SOLID)


def points_of(found: Iterable[Row]) -> dict[str, list[Point]]:
    """Return the points of each comparison by its id: operators, then peers, the best first.

    A single failed or wrong run takes all runs of its operator or peer out.
    """
    runs: dict[tuple[str, str, str], list[Row]] = {}
    for row in found:
        runs.setdefault((row.comparison, row.kind, row.name), []).append(row)
    points: dict[str, list[Point]] = {}
    for (comparison, _, _), own in runs.items():
        problem = next((str(row.invalid_reason) for row in own if not row.valid), "")
        values = () if problem else tuple(row.whole_tps for row in own)
        noisy = 2 * sum(row.noisy for row in own) > len(own)
        points.setdefault(comparison, []).append(Point(own[-1], values, noisy, problem))
    for own in points.values():
        own.sort(key=lambda each: (each.row.kind == PEER, not each.values,
                                   -each.value if each.values else 0.0))  # fmt: skip
    return points


def write_peers(files: Iterable[str | Path], folder: str | Path) -> list[Path]:
    """Write the figure of peers of a paper as pdf, svg, png and csv; return the paths.

    Parameters
    ----------
    files : iterable of path
        The rows of one paper.
    folder : path
        Of the paper's drawn figures.

    Raises
    ------
    UsageError
        When a file is damaged.
    """
    found, provenances = rows.read(files)
    points = points_of(found)
    with matplotlib.rc_context(style.PARAMETERS):
        picture = draw(points, machine_line(found, provenances))
    stem = Path(folder, PEERS)
    written = [write_file(f"{stem}.{kind}", saved(picture, kind)) for kind in PICTURES]
    notes = "".join(f"# {note}\n" for note in notes_of(points))
    table = table_of(points).to_csv(index=False, float_format="%.6g")
    return [*written, write_file(f"{stem}.csv", (notes + table).encode())]


def machine_line(found: Sequence[Row], provenances: dict) -> str:
    """Return the line below the picture: the machine, and how often everything was run."""
    frame = pd.DataFrame({"provenance": [row.provenance for row in found]})
    machine = machine_of(Results(Raw([], provenances)), frame)
    turns = len({(row.repetition, row.round) for row in found})
    return plot.as_one([line_of([machine]), f"{turns} round{'s' * (turns != 1)} in turns"])


def notes_of(points: dict[str, list[Point]]) -> list[str]:
    """Return the caption in sentences: what the rates are, what differs, and what is not drawn."""
    notes = [CAPTION, HOW]
    for own in points.values():
        row = own[0].row
        notes.append(f"{row.title}: {row.tuples:,} tuples. {row.about}".strip())
        notes += [
            f"{each.row.shown} is not drawn in {row.comparison}: {each.problem}"
            for each in own
            if each.problem
        ]
    cores = {each.row.cores for own in points.values() for each in own}
    crowded = any(each.oversubscribed for own in points.values() for each in own)
    if crowded:
        notes.append(
            f"Grey: more threads than the {max(cores)} cores, which they share by turns of the"
            " scheduler; peers have as many threads as there are cores. With a core for each thread"
            " the order may be another."
        )
    if any(each.noisy for own in points.values() for each in own if each.values):
        notes.append("Pale: other programs used the machine during most of its runs.")
    return notes


def table_of(points: dict[str, list[Point]]) -> pd.DataFrame:
    """Return the table behind the picture, a row a point."""
    return pd.DataFrame(
        {
            "paper": each.row.paper,
            "comparison": each.row.comparison,
            "kind": each.row.kind,
            "name": each.row.name,
            "title": each.row.shown,
            "version": each.row.version,
            "output": each.row.form,
            "threads": each.row.threads,
            "cores": each.row.cores,
            "tuples": each.row.tuples,
            "outputs": each.row.outputs,
            "value": each.value if each.values else None,
            "low": min(each.values, default=None),
            "high": max(each.values, default=None),
            "n": len(each.values),
            "values": " ".join(f"{value:.6g}" for value in each.values),
            "unit": "tuples/s",
            "state": each.problem or ("noisy" if each.noisy else ""),
        }
        for own in points.values()
        for each in own
    )


def draw(points: dict[str, list[Point]], footer: str) -> Picture:
    """Return the picture: a panel a comparison, one below the other."""
    drawn = {name: [each for each in own if each.values] for name, own in points.items()}
    values = [value for own in drawn.values() for each in own for value in each.values]
    scale, unit = style.rate_unit(max(values, default=0.0))
    names = [each.name for own in drawn.values() for each in own]
    labels = {name: style.wrapped(name, MOST_FOR_NAMES, style.SMALL) for name in names}
    widths = [style.width_of(part, style.SMALL) for own in labels.values() for part in own]
    # A row for each block's heading; panels of one picture are equally high.
    most = max((len(own) for own in drawn.values()), default=1) + len(BLOCKS)
    tall = max((len(own) for own in labels.values()), default=1)
    height = most * ROW * (0.45 + 0.55 * tall)
    below = plot.BELOW + 0.125  # The label has two lines.
    left = 0.14 + max(widths, default=0.5)
    picture, panels = plot.canvas(
        style.NARROW, (max(len(drawn), 1), 1), height, "Peers: what users would take instead",
        [_keys(drawn)], [footer, *notes_of(points)], left=left, right=RIGHT, below=below,
        between=(0.0, below + TITLE + 0.06), top=TITLE,
    )  # fmt: skip
    for axes, (name, own) in zip(panels, drawn.items(), strict=False):
        title = points[name][0].row.title
        # From the left margin: a title is longer than the axis.
        start = (plot.MARGIN - left) / panel.inches_of(axes, "x")
        axes.text(start, 1.0 + 0.05 / height, title, transform=axes.transAxes, va="bottom",
                  ha="left", fontsize=style.SMALL, fontweight="bold")  # fmt: skip
        _panel(axes, own, labels, scale, most)
        panel.label_axis(axes, f"{LABEL} ({unit})", "x")
    return picture


def _panel(axes: Axes, own: list[Point], labels: dict, scale: float, most: int) -> None:
    if not own:
        axes.set_xticks([])
        panel.nothing(axes)
        return
    values = [value / scale for each in own for value in each.values]
    panel.log_axis(axes, pd.Series(values).to_numpy(), "x")
    axes.grid(visible=False, axis="y")
    axes.set_ylim(most - 0.4, -0.6)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="y", length=0)
    place, ticks, told = 0, [], []
    for kind, heading in BLOCKS.items():
        members = [each for each in own if each.row.kind == kind]
        if not members:
            continue
        axes.text(0.01, place, heading, transform=axes.get_yaxis_transform(), ha="left",
                  va="center_baseline", fontsize=style.SMALL, color=style.GREY,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
        place += 1
        for each in members:
            _row(axes, each, place, scale)
            ticks.append(place)
            told.append("\n".join(labels[each.name]))
            place += 1
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.set_yticks(ticks, told, linespacing=0.95)


def _row(axes: Axes, each: Point, place: int, scale: float) -> None:
    """Draw one point: the median, and a whisker with a tick at each run."""
    look = each.look
    if each.oversubscribed:
        axes.axhspan(place - 0.5, place + 0.5, color=style.CROWDED, lw=0, zorder=0)
    axes.axhline(place, color="white" if each.oversubscribed else style.FAINT, lw=0.7, zorder=0.2)
    values = [value / scale for value in each.values]
    axes.hlines(place, min(values), max(values), color=look.color, lw=0.7, zorder=1.5)
    axes.plot(values, [place] * len(values), ls="", marker="|", markersize=marks.TICK,
              color=look.color, markeredgewidth=0.6, zorder=1.6)  # fmt: skip
    if each.row.kind == OPERATOR:
        marks.dot(axes, each.value / scale, place, look, ("noisy",) if each.noisy else ())
        return
    edge = style.mixed(look.color, style.PALE_EDGE) if each.noisy else look.color
    axes.plot(each.value / scale, place, ls="", marker=look.marker, markersize=style.MARKER_SIZE,
              markerfacecolor="white", markeredgecolor=edge, markeredgewidth=0.9, zorder=3,
              clip_on=False)  # fmt: skip


def _keys(drawn: dict[str, list[Point]]) -> list:
    """Return the key: the two kinds, and the background of more threads than cores."""
    keys = [
        Line2D([], [], ls="", marker="o", color=style.BLACK, markersize=style.MARKER_SIZE,
               label="operator: a stream"),
        Line2D([], [], ls="", marker="D", color=style.BLACK, markersize=style.MARKER_SIZE,
               markerfacecolor="white", label="peer: a batch"),
    ]  # fmt: skip
    if any(each.oversubscribed for own in drawn.values() for each in own):
        keys.append(Patch(facecolor=style.CROWDED, lw=0, label="more threads than cores"))
    return keys
