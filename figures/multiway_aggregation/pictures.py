"""Pictures of a T-Gate and a W-Hive step by step, and of short live runs, from plain snapshots."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from experiments.families.gate.snapshots import GateSnapshot
from experiments.multiway_aggregation.snapshots import HiveSnapshot, LiveRun
from figures import marks, nodes, panel, plot, style
from figures.multiway_aggregation import readings
from figures.pictures import Picture, in_style


def gate_steps(snapshots: Sequence[GateSnapshot]) -> Picture:
    """Return a T-Gate after each step, see ``nodes.gate_steps``."""
    return nodes.gate_steps(snapshots)


@in_style
def hive_steps(snapshots: Sequence[HiveSnapshot]) -> Picture:
    """Return a W-Hive after each step: winsets, levels, both heads, ``written`` of each thread.

    Parameters
    ----------
    snapshots : sequence of HiveSnapshot
    """
    most = max(len(snapshot.winsets) for snapshot in snapshots) + 1
    levels = [snapshot.levels for snapshot in snapshots]
    figure, panels = nodes.panels(levels, most, ("out", "ready", "open"), row=1.75)
    for number, (axes, snapshot) in enumerate(zip(panels, snapshots, strict=True)):
        winsets = snapshot.winsets
        for place, winset in enumerate(winsets):
            span = "" if winset.start is None else f"[{winset.start}, {winset.end})"
            counts = ", ".join(f"{key} {n}" for key, n in winset.windows.items())
            under = f"{span}\n{counts}" if counts else span
            nodes.box(axes, place, winset.label, under, winset.height, winset.state)
        nodes.links(axes, [winset.height for winset in winsets], snapshot.levels)
        if snapshot.read_head == snapshot.insert_head:
            nodes.pointer(axes, snapshot.read_head, "both heads", style.VERMILLION, nodes.HEADS)
        else:
            nodes.pointer(axes, snapshot.read_head, "read head", style.VERMILLION, nodes.HEADS)
            nodes.pointer(
                axes, snapshot.insert_head, "insertion head", style.VERMILLION, nodes.HEADS
            )
        _threads(axes, snapshot)
        nodes.step_label(axes, number, snapshot.event, snapshot.rows, "put out: ")
    return Picture(figure)


def _threads(axes: Axes, snapshot: HiveSnapshot) -> None:
    """Point from each thread to the first winset of the thread's last tuple."""
    places = {winset.label: place for place, winset in enumerate(snapshot.winsets)}
    where: dict[int, list[str]] = {}
    absent = []
    for name, number in snapshot.written.items():
        place = places.get(f"w{number}")
        if place is None:
            absent.append(f"{name} {'not begun' if number is None else 'ended'}")
        else:
            where.setdefault(place, []).append(name)
    for place, names in where.items():
        nodes.pointer(axes, place, f"written {', '.join(names)}", style.BLUE, nodes.WRITTEN)
    if absent:
        axes.text(len(places) - 0.4, 0.0, "\n".join(absent), va="center", fontsize=style.SMALL,
                  color=style.BLUE)  # fmt: skip


@in_style
def live_runs(runs: Sequence[LiveRun]) -> Picture:
    """Return the throughput of each live run as a dot, one column a variant.

    Parameters
    ----------
    runs : sequence of LiveRun
    """
    valid = [run for run in runs if run.valid]
    columns = list(dict.fromkeys(run.variant for run in runs))
    oversubscribed = any(run.threads > run.cores for run in runs)
    lines = [f"{len(runs)} runs, by turns; {runs[0].cores} cores, {runs[0].threads} threads"]
    if len(valid) < len(runs):
        lines.append(f"{len(runs) - len(valid)} of {len(runs)} runs are invalid and not drawn")
    if oversubscribed:
        lines.append("grey: more threads than cores")
    titles = [style.look_of("gate", each).title for each in columns]
    names = panel.category_names(titles, style.NARROW - plot.LEFT - plot.RIGHT)
    below = panel.below_of(names, label=False)
    figure, (axes,) = plot.canvas(
        style.NARROW, (1, 1), 1.8, "Live: sorting alone", [], [plot.as_one(lines)], below=below
    )
    panel.categories(axes, names)
    if oversubscribed:
        axes.set_facecolor(style.CROWDED)
    largest = max([run.throughput_tps for run in valid] or [1.0])
    scale, unit = style.rate_unit(largest)
    panel.zero_based(axes, largest / scale)
    panel.label_axis(axes, f"Closed-loop throughput ({unit})")
    rounds = max(run.round for run in runs)
    for run in valid:
        x = columns.index(run.variant) + 0.5 * (run.round - 0.5) / rounds - 0.25
        marks.dot(axes, x, run.throughput_tps / scale, style.look_of("gate", run.variant), "")
    return Picture(figure, readings.sentence(runs))
