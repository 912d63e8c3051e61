"""Output of one query by each carrier, and the pieces in which the work was done."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from experiments.streamcloud.snapshots import CarrierRun
from figures import boxes, style
from figures.boxes import HIGH, LINE, MARGIN, MARKED, Box
from figures.pictures import Picture, in_style
from figures.streamcloud import readings

# By carrier: name, unit of the work, text in the box; a stream shows batches instead.
WORDS = {
    "threads": ("Threads", "one run", "an instance a thread"),
    "bounded": ("Spark, bounded", "one batch job", "an instance a task"),
    "stream": ("Spark, stream", "micro-batches", ""),
}
RUN, BATCH = style.mixed(style.BLUE, 0.8), style.mixed(style.GREEN, 0.7)
KILLED, UNHARMED = "an executor is killed", "it ended before an executor could be killed"
SAME, DIFFERS = "equal", "differs"
# Digits of a digest that are shown; all digits are compared.
DIGITS = 16
# Inches: a row, a title, and the head above the rows.
_ROW, _TITLE, _HEAD = 0.4, 0.22, 0.16
# X positions in inches: the start and the width of the work, the right end of the number of rows,
# the start of the digest, and the start of the comparison.
_DONE, _WIDE, _ROWS, _DIGEST, _SAID = 1.05, 3.6, 5.15, 5.3, 6.5


@in_style
def outputs(runs: Sequence[CarrierRun]) -> Picture:
    """Return a row a run: the work, the number of output rows, and their digest.

    Parameters
    ----------
    runs : sequence of CarrierRun
        The others are compared with the first.
    """
    room = style.WIDE - MARGIN - _DONE
    refused = [
        style.wrapped(f"did not run: {run.refused}", room, style.SMALL) if run.refused else []
        for run in runs
    ]
    high = [max(_ROW, (len(lines) + 0.5) * LINE) for lines in refused]
    above = _TITLE + _HEAD
    figure, axes = boxes.board(style.WIDE, above + sum(high))
    boxes.event_label(axes, -0.03, "Live: one query by three carriers")
    for left, words, side in (
        (_ROWS, "rows out", "right"),
        (_DIGEST, "digest of what came out", "left"),
    ):
        axes.text(left, -_TITLE, words, va="top", ha=side, fontsize=style.SMALL, color=style.GREY)
    top = -above
    for run, own, lines in zip(runs, high, refused, strict=True):
        axes.plot((MARGIN, style.WIDE - MARGIN), (top, top), color=style.FAINT, lw=0.5)
        name, pieces, _ = WORDS[run.carrier]
        _words(axes, MARGIN, top - 0.06, name)
        _words(axes, MARGIN, top - 0.06 - HIGH, pieces, style.GREY)
        if run.refused:
            _words(axes, _DONE, top - 0.06, "\n".join(lines), style.readable(MARKED))
        else:
            _work(axes, run, top - 0.05)
            _came_out(axes, run, None if run is runs[0] else runs[0].digest, top - 0.06)
        top -= own
    return Picture(figure, readings.carriers_sentence(runs))


def _work(axes: Axes, run: CarrierRun, top: float) -> None:
    """Draw the pieces of a run's work, and the point at which an executor was killed."""
    row = [Box(str(each + 1), BATCH) for each in range(run.batches)]
    row = row or [Box(WORDS[run.carrier][2], RUN)]
    wide = _WIDE / len(row)
    boxes.node(axes, _DONE, top, row, cell=wide)
    if not run.batches:
        return
    below = top - HIGH - 0.02
    if run.killed is None:
        _words(axes, _DONE, below, UNHARMED, style.GREY)
        return
    x = _DONE + run.killed * wide
    axes.plot((x, x), (top + 0.03, below - 0.12), color=MARKED, lw=2, zorder=5)
    room = style.width_of(KILLED, style.SMALL) + 0.06
    left = x + 0.06 if x + room < _ROWS else x - room
    _words(axes, left, below, KILLED, style.readable(MARKED))


def _came_out(axes: Axes, run: CarrierRun, wanted: str | None, top: float) -> None:
    """Write the number of output rows, their digest, and whether it is the `wanted` one."""
    same = wanted in (None, run.digest)
    color = style.BLACK if same else style.readable(MARKED)
    axes.text(_ROWS, top, f"{run.rows:,}", va="top", ha="right", fontsize=style.SMALL)
    _words(axes, _DIGEST, top, f"{run.digest[:DIGITS]} …", color)
    if wanted is not None:
        _words(axes, _SAID, top, SAME if same else DIFFERS, color)


def _words(axes: Axes, left: float, top: float, words: str, color: str = style.BLACK) -> None:
    axes.text(left, top, words, va="top", fontsize=style.SMALL, color=color)
