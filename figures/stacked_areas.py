"""Shares of a whole: a panel for each whole, a bar for each part, and a line at equal shares."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import panel, plot, style


def draw(
    title: str,
    told: Sequence[str],
    shares: dict[str, Sequence[float]],
    colors: Sequence[str],
    labels: tuple[str, str],
) -> Figure:
    """Return a figure with a panel for each whole.

    Parameters
    ----------
    title : str
    told : sequence of str
        The footer.
    shares : dict of str to sequence of float
        By the name of a whole, the shares of its parts.
    colors : sequence of str
        Colours of the bars, by whole.
    labels : tuple of str
        Labels of the two axes: the parts, and the shared quantity.
    """
    equal = Line2D([], [], color=style.BLACK, lw=1.0, label="equal share")
    figure, panels = plot.canvas(
        style.WIDE, (1, len(shares)), 1.5, title, [[equal]], [plot.as_one(told)], top=0.17,
        between=(0.2, 0.0),
    )  # fmt: skip
    highest = max((each for own in shares.values() for each in own), default=1.0)
    for place, (axes, (name, own)) in enumerate(zip(panels, shares.items(), strict=True)):
        axes.set_title(name, fontsize=style.SMALL, fontweight="bold", pad=3.0)
        axes.bar(range(len(own)), own, 0.8, color=colors[place])
        axes.axhline(1 / max(len(own), 1), color=style.BLACK, lw=1.0)
        axes.set_xlim(-0.8, len(own) - 0.2)
        panel.zero_based(axes, highest)
        panel.label_axis(axes, labels[0], along="x")
        if place:
            axes.tick_params(labelleft=False)
        else:
            panel.label_axis(axes, labels[1])
    return figure
