"""Pictures of a reorder buffer and a hybrid queue step by step, and of short live runs.

They are made from plain snapshots. A box is a slot or a tuple; colour and edge give the state:
dashed while it waits, thick while a worker processes it, thin and grey when it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from experiments.ordered_processing.snapshots import BufferSnapshot, QueueSnapshot, TimeSpent
from figures import panel, plot, style
from figures.forms import stack
from figures.ordered_processing import readings
from figures.pictures import Picture, in_style

# By state of a box: face, edge colour, line style of the edge, width of the edge.
BOXES = {
    "empty": ("#f0f0f0", style.GREY, "-", 0.5),
    "waiting": ("#ffffff", style.BLUE, "--", 0.9),
    "working": ("#c5e8dc", style.GREEN, "-", 1.6),
}
COLUMNS = 2
_WIDTH, _HEIGHT = 0.8, 0.62  # of a box, where the next one is 1 away


@in_style
def buffer_steps(snapshots: Sequence[BufferSnapshot]) -> Picture:
    """Return a reorder buffer after each step: the slots, and the position of ``next``.

    Parameters
    ----------
    snapshots : sequence of BufferSnapshot
    """
    most = max(len(snapshot.slots) for snapshot in snapshots)
    figure, panels = _panels(len(snapshots), most + 3, 1.1, 2.2)
    for number, (axes, snapshot) in enumerate(zip(panels, snapshots, strict=True)):
        for place, serial in enumerate(snapshot.slots):
            _box(axes, place, 0.0, str(serial) if serial else "", "waiting" if serial else "empty")
        place = snapshot.following % len(snapshot.slots)
        axes.annotate(
            f"next = {snapshot.following}",
            xy=(place, -_HEIGHT / 2),
            xytext=(place, -0.95),
            ha="center",
            va="center",
            color=style.VERMILLION,
            fontsize=style.SMALL,
            arrowprops={"arrowstyle": "->", "lw": 0.6, "color": style.VERMILLION},
        )
        event = f"{number}. {snapshot.event}"
        if snapshot.refused:
            event += ": too far ahead, try again"
        if snapshot.sent:
            event += f"; sent: {', '.join(map(str, snapshot.sent))}"
        _event_label(axes, event)
    return Picture(figure)


@in_style
def queue_steps(snapshots: Sequence[QueueSnapshot]) -> Picture:
    """Return a hybrid queue after each step: master queue, partitions with counts, and workers.

    Parameters
    ----------
    snapshots : sequence of QueueSnapshot
    """
    partitions = len(snapshots[0].queues)
    most = max(len(snapshot.master) for snapshot in snapshots)
    figure, panels = _panels(len(snapshots), most + 4.5, 1.0 + 0.34 * (partitions + 1),
                             partitions + 1.9)  # fmt: skip
    for number, (axes, snapshot) in enumerate(zip(panels, snapshots, strict=True)):
        axes.text(0.55, 0.0, "master", ha="right", va="center", fontsize=style.SMALL)
        for place, key in enumerate(snapshot.master):
            _box(axes, place + 1.2, 0.0, str(key), "waiting")
        for partition in range(partitions):
            y = -(partition + 1.0)
            count = snapshot.counts[partition]
            axes.text(0.55, y, f"Q{partition}, count {count}", ha="right", va="center",
                      fontsize=style.SMALL)  # fmt: skip
            place = 1.2
            for worker, (owned, tuple_) in snapshot.working.items():
                if owned == partition:
                    _box(axes, place, y, f"{worker}: {tuple_}" if tuple_ else worker, "working")
                    place += 1.0
            for tuple_ in snapshot.queues[partition]:
                _box(axes, place, y, tuple_, "waiting")
                place += 1.0
        _event_label(axes, f"{number}. {snapshot.event}")
    return Picture(figure)


@in_style
def worker_time(runs: Sequence[TimeSpent]) -> Picture:
    """Return the breakdown of the workers' time, a bar a scheduler.

    Parameters
    ----------
    runs : sequence of TimeSpent
    """
    valid = [run for run in runs if run.valid]
    lines = ["a tenth of a second each, two workers"]
    if len(valid) < len(runs):
        lines.append(f"{len(runs) - len(valid)} of {len(runs)} runs are invalid and not drawn")
    titles = [style.look_of("pipeline", run.scheduler).title for run in valid]
    names = panel.category_names(titles, style.NARROW - plot.LEFT - plot.RIGHT)
    title = "Live: worker time by operator"
    figure, (axes,) = plot.canvas(style.NARROW, (1, 1), 1.6, title, [], [plot.as_one(lines)],
                                  below=panel.below_of(names, label=False))  # fmt: skip
    panel.categories(axes, names)
    panel.zero_based(axes, 1.0 / 1.12)
    panel.label_axis(axes, "Share of worker time")
    for x, run in enumerate(valid):
        at = 0.0
        for number, (operator, share) in enumerate(run.shares.items()):
            at = stack.part(axes, x, at, share, number, operator.partition(" ")[0])
    return Picture(figure, readings.sentence(runs))


def _panels(count: int, across: float, row: float, up: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels, `COLUMNS` side by side; `row` is in inches."""
    rows = -(-count // COLUMNS)
    figure = Figure(figsize=(4.6 * COLUMNS, rows * row))
    panels = []
    for place in range(count):
        down, column = divmod(place, COLUMNS)
        box = (0.01 + column / COLUMNS, 1 - (down + 1) / rows, 0.97 / COLUMNS, 0.97 / rows)
        axes = figure.add_axes(box)
        axes.set_xlim(-0.8, across - 0.6)
        axes.set_ylim(0.9 - up, 1.2)
        axes.axis("off")
        panels.append(axes)
    return figure, panels


def _box(axes: Axes, x: float, y: float, label: str, state: str) -> None:
    face, edge, line, width = BOXES[state]
    corner = (x - _WIDTH / 2, y - _HEIGHT / 2)
    shape = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(corner, _WIDTH, _HEIGHT, boxstyle=shape, facecolor=face,
                                  edgecolor=edge, ls=line, lw=width))  # fmt: skip
    axes.text(x, y, label, ha="center", va="center", fontsize=style.SMALL)


def _event_label(axes: Axes, event: str) -> None:
    axes.text(-0.7, 1.15, event, va="top", fontsize=style.FONT_SIZE)
