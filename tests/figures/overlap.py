"""Overlaps on a figure: texts that lie on a text, a marker, a line, a bar's edge, or a frame.

A text must also stay clear of panels that it does not belong to, and inside the figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Rectangle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox

# Text boxes include a margin; this many inches on each side do not count as overlap.
AIR = 0.008
# Inches that a text keeps from a panel it does not belong to.
CLEAR = 0.02
# Anything below this z-order is background: grey ranges, bands of ties, category separators.
BACKGROUND = 0.3


def overlaps(picture: Picture, *, diagram: bool = False) -> list[str]:
    """Return a description of each overlap of a text; empty if all text is readable.

    In a diagram, texts may stand in boxes, on arrows and across panels.
    """
    picture.draw_without_rendering()
    texts = [(text.get_text(), _inner(text, picture)) for text in texts_of(picture)]
    found = [
        f"{one!r} and {other!r}"
        for (one, first), (other, second) in combinations(texts, 2)
        if first.overlaps(second)
    ]
    for name, box in marks_of(picture):
        found += [f"{text!r} and {name}" for text, own in texts if own.overlaps(box)]
    for name, path, hidden in () if diagram else strokes_of(picture):
        found += [
            f"{text!r} and {name}"
            for text, own in texts
            if path.intersects_bbox(own, False) and not any(_holds(bar, own) for bar in hidden)
        ]
    found += [] if diagram else _on_other_panels(picture)
    edge = picture.bbox
    for text, own in texts:
        if own.x0 < edge.x0 or own.x1 > edge.x1 or own.y0 < edge.y0 or own.y1 > edge.y1:
            found.append(f"{text!r} leaves the figure")
    return found


def texts_of(picture: Picture) -> Iterator[Text]:
    """Yield every text that is drawn."""
    yield from _of_figure(picture)
    for axes in picture.axes:
        yield from _beside(axes)
        yield from _written(axes.texts)


def _of_figure(picture: Picture) -> Iterator[Text]:
    yield from _written(picture.texts)
    for legend in picture.legends:
        yield from _written(legend.get_texts())


def _beside(axes: Axes) -> Iterator[Text]:
    """Yield the texts around a panel."""
    yield from _written([axes.title])
    for axis in (axes.xaxis, axes.yaxis):
        ticks = [tick.label1 for tick in axis._update_ticks()]
        yield from _written([axis.label, *ticks])


def _written(texts: list[Text]) -> Iterator[Text]:
    yield from (text for text in texts if text.get_text().strip() and text.get_visible())


def _inner(text: Text, picture: Picture) -> Bbox:
    air = AIR * picture.dpi
    return text.get_window_extent().padded(-air)


def _on_other_panels(picture: Picture) -> Iterator[str]:
    """Yield the texts that lie on, or almost touch, a panel that they do not belong to."""
    owned = [(None, text) for text in _of_figure(picture)]
    for axes in picture.axes:
        owned += [(axes, text) for text in (*_beside(axes), *_written(axes.texts))]
    for owner, text in owned:
        box = _inner(text, picture).padded((AIR + CLEAR) * picture.dpi)
        for axes in picture.axes:
            if axes is not owner and box.overlaps(axes.get_window_extent()):
                yield f"{text.get_text()!r} and the panel {axes.get_title() or axes.get_ylabel()!r}"


def marks_of(picture: Picture) -> Iterator[tuple[str, Bbox]]:
    """Yield the boxes of markers, and of the lines of frames."""
    for axes in picture.axes:
        yield from _frame_of(axes, picture.dpi)
        for line in axes.lines:
            if line.get_marker() in ("None", None, ""):
                continue
            half = line.get_markersize() / 2 * picture.dpi / 72
            wide = half if line.get_marker() != "|" else 1.0
            high = half if line.get_marker() != "_" else 1.0
            for x, y in line.get_transform().transform(line.get_xydata()):
                box = Bbox.from_extents(x - wide, y - high, x + wide, y + high)
                yield f"a marker of {axes.get_ylabel()!r}", box


def _frame_of(axes: Axes, dpi: float) -> Iterator[tuple[str, Bbox]]:
    box, thin = axes.get_window_extent(), 0.3 * dpi / 72
    yield "the left frame", Bbox.from_extents(box.x0 - thin, box.y0, box.x0 + thin, box.y1)
    yield "the lower frame", Bbox.from_extents(box.x0, box.y0 - thin, box.x1, box.y0 + thin)


def strokes_of(picture: Picture) -> Iterator[tuple[str, Path, list[Bbox]]]:
    """Yield everything drawn as a line: curves, leaders of names, whiskers, and edges of bars.

    Each comes with a name, the path, and the bars drawn over it, which hide it.
    """
    for axes in picture.axes:
        of = f"of {axes.get_ylabel()!r}"
        bars = [each for each in axes.patches if isinstance(each, Rectangle)]
        for line in axes.lines:
            if line.get_ls() != "None" and line.get_zorder() > BACKGROUND:
                over = [bar for bar in bars if bar.get_fill() and bar.zorder > line.zorder]
                hidden = [bar.get_window_extent() for bar in over]
                yield f"a line {of}", line.get_transform().transform_path(line.get_path()), hidden
        for lines in axes.collections:
            if isinstance(lines, LineCollection):
                whole = lines.get_transform()
                for path in lines.get_paths():
                    yield f"a whisker {of}", whole.transform_path(path), []
        for bar in bars:
            if bar.get_zorder() > BACKGROUND:
                yield f"a bar {of}", bar.get_transform().transform_path(bar.get_path()), []


def _holds(outer: Bbox, inner: Bbox) -> bool:
    """Return whether a box lies completely inside another one."""
    return (outer.x0 <= inner.x0 and inner.x1 <= outer.x1
            and outer.y0 <= inner.y0 and inner.y1 <= outer.y1)  # fmt: skip
