"""The pictures of the third paper's notebook: all content of a snapshot is in the picture."""

from __future__ import annotations

from itertools import pairwise

import matplotlib
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from experiments.scalejoin import live
from experiments.scalejoin.snapshots import JoinRun
from figures import boxes, nodes, style
from figures.scalejoin import pictures
from tests.figures.drawn import dots, footer_of
from tests.figures.overlap import overlaps, texts_of

SHARES = {1: (1.0,), 2: (0.5, 0.5), 4: (0.1, 0.4, 0.3, 0.2)}
RUNS = [
    JoinRun(variant, threads, 1e10 * threads * (place + 1), SHARES[threads], True, threads == 2)
    for threads in (1, 2)
    for place, variant in enumerate(live.JOINS)
]
WORK = [JoinRun(variant, 4, 1e10, SHARES[4], True, True) for variant in live.JOINS]
BUSY = [("RS"[n % 2], n // 2, n % 3) for n in range(16)]

EVERY = {
    "one thread": lambda: pictures.join_steps(live.run_join(1, looks=())),
    "three threads": lambda: pictures.join_steps(live.run_join()),
    "two threads": lambda: pictures.join_steps(live.run_join(2)),
    "short window": lambda: pictures.join_steps(live.run_join(span=1)),
    "many tuples": lambda: pictures.join_steps(live.run_join(2, BUSY, 3, (9, 12))),
    "no tuple": lambda: pictures.join_steps(live.run_join(2, (), looks=())),
    "gate": lambda: pictures.gate_steps(live.fill_gate()),
    "whole gate": lambda: pictures.gate_steps(live.fill_gate(first=0)),
    "chains": lambda: pictures.chain_steps(live.meet_in_chains()),
    "early": lambda: pictures.chain_steps(live.meet_in_chains(steps=30)),
    "longer chains": lambda: pictures.chain_steps(live.meet_in_chains(["handshake"], 6, 30, 40)),
    "comparisons": lambda: pictures.comparisons_by_threads(RUNS),
    "work": lambda: pictures.work_of_threads(WORK),
}
WIDE = ("one thread", "three threads", "two threads", "short window", "gate", "chains", "work")


@pytest.mark.parametrize("name", EVERY)
def test_every_text_can_be_read(name):
    picture = EVERY[name]().figure
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture, diagram=True)
        sizes = {text.get_fontsize() for text in texts_of(picture)}
    assert sizes <= {style.SMALL, style.FONT_SIZE}


def test_the_pictures_of_the_notebook_have_its_widths():
    for name in WIDE:
        assert EVERY[name]().figure.get_figwidth() == style.WIDE
    assert EVERY["comparisons"]().figure.get_figwidth() == style.NARROW


def texts(axes):
    return [text.get_text() for text in axes.texts]


def framed(axes):
    """Return the words of all marked boxes, from left to right and from above."""
    found = []
    for patch in axes.patches:
        pointed = isinstance(patch, Rectangle) and to_hex(patch.get_edgecolor()) == "#d55e00"
        found += [(patch, words) for words in inside(axes, patch)] if pointed else []
    found.sort(key=lambda each: (-round(each[0].get_y(), 3), each[0].get_x()))
    return [words for _, words in found]


def inside(axes, patch):
    """Return the texts in a box."""
    left, low = patch.get_x(), patch.get_y()
    right, high = left + patch.get_width(), low + patch.get_height()
    return [
        text.get_text()
        for text in axes.texts
        if left < text.get_position()[0] < right and low < text.get_position()[1] < high
    ]


def boxes_with(axes, **wanted):
    """Return the words of the boxes whose face or edge has a colour."""
    found = []
    for patch in axes.patches:
        if isinstance(patch, Rectangle) and all(
            to_hex(getattr(patch, f"get_{name}color")()) == to_hex(color)
            for name, color in wanted.items()
        ):
            found += inside(axes, patch)
    return found


# --- a ScaleJoin ----------------------------------------------------------------------------------


def circles(axes, face):
    own = [patch for patch in axes.patches if isinstance(patch, Circle)]
    return [each.center for each in own if to_hex(each.get_facecolor()) == face]


def test_filled_circles_are_what_a_thread_stores_hollow_ones_what_it_only_processes():
    (last,) = live.run_join(looks=())
    (axes,) = pictures.join_steps([last]).figure.axes
    rows = sorted({round(y, 3) for _, y in circles(axes, "#000000")}, reverse=True)
    assert len(rows) == len(last.threads) == 3
    columns = sorted({round(x, 3) for x, _ in circles(axes, "#000000")})
    assert len(columns) == len(last.tuples) == 7
    filled = {(rows.index(round(y, 3)), columns.index(round(x, 3)))
              for x, y in circles(axes, "#000000")}  # fmt: skip
    assert filled == {(n, place) for n, thread in enumerate(last.threads)
                      for place, visit in enumerate(thread.visits) if visit.stored}  # fmt: skip
    assert len(circles(axes, "#ffffff")) == 3 * 7 - len(filled)


def test_below_a_circle_is_what_was_compared_and_partners_are_framed():
    (last,) = live.run_join(looks=())
    (axes,) = pictures.join_steps([last]).figure.axes
    visits = [visit for thread in last.threads for visit in thread.visits]
    matched = [name for visit in visits for name in visit.matched]
    assert framed(axes) == matched and len(matched) == len(last.pairs) == 6
    kept = [name for thread in last.threads for name in (*thread.r, *thread.s)]
    compared = [name for visit in visits for name in visit.compared]
    removed = [name for visit in visits for name in visit.removed]
    written = texts(axes)
    for name in {each.name for each in last.tuples}:
        every = (*compared, *removed, *kept)
        assert written.count(name) == every.count(name)
    gone = boxes_with(axes, face=boxes.EXPIRED)
    assert sorted(gone) == sorted(removed) == ["t1", "t2"]
    for number, thread in enumerate(last.threads):
        assert f"thread {number}\n{thread.comparisons} compared" in written


def test_gates_show_every_tuple_and_every_pair_and_what_they_wait_for():
    behind, last = live.run_join()
    (axes,) = pictures.join_steps([behind, last]).figure.axes
    assert {behind.event, last.event} <= set(texts(axes))
    assert texts(axes).count("SG_in") == texts(axes).count("SG_out") == 2
    in_gates = {
        state: [f"{each.name} ({each.timestamp})"
                for own in (behind, last) for each in own.tuples if each.state == state]
        + [f"{pair.earlier} {pair.later}"
           for own in (behind, last) for pair in own.pairs if pair.state == state]
        for state in ("passed", "ready", "waiting")
    }  # fmt: skip
    assert in_gates["ready"] == ["t3 (4)", "t4 (6)"]
    assert in_gates["waiting"] == ["t5 (7)", "t6 (8)", "t1 t2", "t1 t4"]
    edges = {state: nodes.BOXES[state][1] for state in in_gates}
    assert sorted(boxes_with(axes, edge=edges["ready"])) == sorted(in_gates["ready"])
    assert sorted(boxes_with(axes, edge=edges["waiting"])) == sorted(in_gates["waiting"])
    assert set(in_gates["passed"]) <= set(boxes_with(axes, edge=edges["passed"]))


def test_a_tuple_has_the_colour_of_its_stream_wherever_it_is():
    (last,) = live.run_join(looks=())
    (axes,) = pictures.join_steps([last]).figure.axes
    for side in "RS":
        names = {each.name for each in last.tuples if each.side == side}
        found = {words.partition(" ")[0] for words in boxes_with(axes, face=pictures.FACES[side])}
        assert found == names


def test_pairs_stand_below_their_later_tuple():
    (last,) = live.run_join(1, looks=())
    (axes,) = pictures.join_steps([last]).figure.axes
    where = {text.get_text(): text.get_position()[0] for text in axes.texts}
    tuples = [f"{each.name} ({each.timestamp})" for each in last.tuples]
    columns = dict(zip([each.name for each in last.tuples], map(where.get, tuples), strict=True))
    half = min(b - a for a, b in pairwise(columns.values())) / 2
    for pair in last.pairs:
        assert abs(where[f"{pair.earlier} {pair.later}"] - columns[pair.later]) < half


def test_many_pairs_of_one_tuple_are_in_lines():
    snapshots = live.run_join(1, BUSY, 6, ())
    assert max(len(visit.matched) for visit in snapshots[0].threads[0].visits) > 2
    (axes,) = pictures.join_steps(snapshots).figure.axes
    for pair in snapshots[0].pairs:
        assert f"{pair.earlier} {pair.later}" in texts(axes)


# --- gates and chains -----------------------------------------------------------------------------


def test_a_gate_is_drawn_step_by_step_from_one():
    steps = live.fill_gate()
    picture = pictures.gate_steps(steps)
    assert len(picture.figure.axes) == len(steps) == 4
    for number, (axes, step) in enumerate(zip(picture.figure.axes, steps, strict=True), 1):
        written = texts(axes)
        assert any(words.startswith(f"{number}. {step.event}") for words in written)
        for node in step.nodes:
            assert (f"{node.label}\n{node.under}" if node.under else node.label) in written
        faces = [to_hex(patch.get_facecolor()) for patch in axes.patches]
        ready = sum(node.state == "ready" for node in step.nodes)
        assert faces.count(nodes.BOXES["ready"][0]) == ready


def test_cores_show_their_tuples_and_the_ways_between_them_those_in_flight():
    snapshots = live.meet_in_chains()
    for snapshot in snapshots:
        (axes,) = pictures.chain_steps([snapshot]).figure.axes
        frames = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
        assert len(frames) == len(snapshot.cores) == 3
        for frame, core in zip(frames, snapshot.cores, strict=True):
            found = [words for words in inside(axes, frame) if words.isdigit()]
            assert found == [str(n) for n in (*core.r[::-1], *core.s, *core.handed_on)]
        outside = [words for words in texts(axes) if words.isdigit()]
        in_flight = [n for core in snapshot.cores for n in (*core.from_left, *core.from_right)]
        in_cores = sum(len(core.r) + len(core.s) + len(core.handed_on) for core in snapshot.cores)
        assert len(outside) == in_cores + len(in_flight)


def test_what_the_newest_has_met_is_framed_and_counted():
    snapshots = live.meet_in_chains()
    (axes,) = pictures.chain_steps(snapshots).figure.axes
    for snapshot in snapshots:
        event = (
            f"{snapshot.event}: R's tuple {snapshot.newest} has met {len(snapshot.met)} of the 9"
        )
        assert any(event in words for words in texts(axes))
        (own,) = pictures.chain_steps([snapshot]).figure.axes
        still = {str(n) for core in snapshot.cores for n in core.s} & set(map(str, snapshot.met))
        assert set(framed(own)) == still
        assert set(boxes_with(own, face=pictures.NEWEST)) == {str(snapshot.newest)}


def test_arrows_of_r_lead_to_the_right_and_those_of_s_to_the_left():
    snapshot = live.meet_in_chains(["handshake"])[0]
    (axes,) = pictures.chain_steps([snapshot]).figure.axes
    arrows = [text for text in axes.texts if not text.get_text() and hasattr(text, "arrow_patch")]
    right = [arrow for arrow in arrows if arrow.xyann[0] < arrow.xy[0]]
    left = [arrow for arrow in arrows if arrow.xyann[0] > arrow.xy[0]]
    assert len(right) == len(left) == len(snapshot.cores)
    assert {round(arrow.xy[1], 3) for arrow in right} != {round(arrow.xy[1], 3) for arrow in left}


# --- short runs -----------------------------------------------------------------------------------


def test_comparisons_are_a_dot_a_run_on_grey_where_threads_share_cores():
    wrong = JoinRun("handshake", 2, 1e12, (), False, True)
    figure = pictures.comparisons_by_threads([*RUNS, wrong]).figure
    (axes,) = figure.axes
    assert sorted(dot.get_ydata()[0] for dot in dots(axes)) == [10, 20, 20, 30, 40, 60]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2"]
    grey = [patch.get_x() for patch in axes.patches if to_hex(patch.get_facecolor()) == "#ececec"]
    assert grey == [0.5]
    assert "1 of 7 runs are invalid and not drawn" in footer_of(figure)
    assert "grey: more threads than cores" in footer_of(figure)
    only_wrong = pictures.comparisons_by_threads([wrong])
    assert only_wrong._repr_png_().startswith(b"\x89PNG")


def test_work_is_a_bar_a_thread_beside_the_equal_share():
    panels = pictures.work_of_threads(WORK).figure.axes
    assert [axes.get_title() for axes in panels] == [
        "ScaleJoin", "Handshake join", "Low-latency handshake join",
    ]  # fmt: skip
    for axes in panels:
        assert tuple(bar.get_height() for bar in axes.patches) == SHARES[4]
        assert tuple(axes.lines[0].get_ydata()) == (0.25, 0.25)


def test_equal_snapshots_give_equal_bytes():
    one, two = (EVERY["chains"]()._repr_png_() for _ in range(2))
    assert one == two and one.startswith(b"\x89PNG")
