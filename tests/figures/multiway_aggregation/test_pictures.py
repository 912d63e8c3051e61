"""Pictures of snapshots: all content of a snapshot is readable in them."""

from __future__ import annotations

from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

from experiments.families.gate.snapshots import GateNode, GateSnapshot
from experiments.multiway_aggregation.snapshots import HiveSnapshot, HiveWinset, LiveRun
from figures import style
from figures.multiway_aggregation import pictures
from tests.figures.drawn import dots, footer_of

GATE = GateSnapshot(
    event="a delivers a tuple at 5",
    nodes=(
        GateNode("F", "", 2, "passed"),
        GateNode("a1", "3", 1, "ready"),
        GateNode("b1", "4", 2, "waiting"),
        GateNode("a2", "5", 1, "waiting"),
    ),
    levels=2,
    written={"a": 3, "b": 2},
    head=0,
    delivered=("b at 2",),
)
HIVE = HiveSnapshot(
    event="thread a counts",
    winsets=(
        HiveWinset("w0", 0, 4, 2, {"x": 2, "y": 1}, "out"),
        HiveWinset("w1", 2, 6, 1, {"x": 1}, "ready"),
        HiveWinset("w2", 4, 8, 2, {}, "open"),
    ),
    levels=2,
    written={"a": 2, "b": None, "c": 1 << 62},
    read_head=0,
    insert_head=0,
    rows=("[0, 4) x: 2",),
)


def written_on(picture):
    return "|".join(text.get_text() for axes in picture.figure.axes for text in axes.texts)


def boxes_of(axes):
    return [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]


def test_a_gate_shows_nodes_times_heads_and_what_was_released():
    picture = pictures.gate_steps([GATE, GATE])
    assert len(picture.figure.axes) == 2
    written = written_on(picture)
    for words in ("a1\n3", "b1\n4", "|head|", "|written|a|b|", "1. a delivers"):
        assert words in written
    assert "released: b at 2" in written
    boxes = boxes_of(picture.figure.axes[0])
    assert len(boxes) == 4
    heights = [box.get_height() for box in boxes]
    assert heights[0] == heights[2] > heights[1] == heights[3]


def test_links_lead_on_each_level_from_a_node_to_the_next_that_is_as_high():
    axes = pictures.gate_steps([GATE]).figure.axes[0]
    arrows = [text for text in axes.texts if not text.get_text()]
    # The one below level 0 points to the head.
    levels = sorted(round(arrow.xy[1], 3) for arrow in arrows if arrow.xy[1] >= 0)
    assert levels.count(0.0) == 3
    assert len(levels) == 3 + 1


def test_a_hive_shows_windows_threads_and_both_heads():
    written = written_on(pictures.hive_steps([HIVE]))
    for words in ("w0\n[0, 4)\nx 2, y 1", "w2\n[4, 8)", "both heads", "written a"):
        assert words in written
    assert "b not begun\nc ended" in written
    apart = HIVE.__class__(**{**vars(HIVE), "read_head": 1})
    written = written_on(pictures.hive_steps([apart]))
    assert "read head" in written and "insertion head" in written


def test_live_runs_are_single_dots_on_grey_where_threads_share_cores():
    runs = [LiveRun("multi-queue", n, 1e6 * n, True, 5, 2) for n in (1, 2)]
    runs.append(LiveRun("t-gate", 1, 3e6, False, 5, 2))
    figure = pictures.live_runs(runs).figure
    one, other = dots(figure.axes[0])
    assert one.get_xdata()[0] < other.get_xdata()[0]
    assert to_hex(figure.axes[0].get_facecolor()) == style.CROWDED
    assert "1 of 3 runs are invalid and not drawn" in footer_of(figure)
    assert "grey: more threads than cores" in footer_of(figure)
    free = pictures.live_runs([LiveRun("t-gate", 1, 3e6, True, 2, 2)]).figure
    assert to_hex(free.axes[0].get_facecolor()) == "#ffffff"
    assert "grey" not in footer_of(free)


def test_equal_snapshots_give_equal_bytes():
    one, two = (pictures.hive_steps([HIVE])._repr_png_() for _ in range(2))
    assert one == two and one.startswith(b"\x89PNG")
