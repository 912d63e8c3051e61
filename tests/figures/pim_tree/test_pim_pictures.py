"""The pictures of the fourth paper's notebook: all content of a snapshot is in the picture."""

from __future__ import annotations

import matplotlib
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from experiments.pim_tree import live
from experiments.pim_tree.snapshots import Inserts, JoinRun
from figures import boxes, style
from figures.pim_tree import pictures, trees
from tests.figures.drawn import footer_of
from tests.figures.overlap import overlaps, texts_of

RUNS = [
    JoinRun(variant, window, 1e7 / (window if variant == "nested-loop-scalar" else 2), True)
    for window in live.WINDOWS
    for variant in live.JOINS
]
INSERTS = [Inserts(0.0, (10, 10, 10, 10)), Inserts(1.0, (4, 6, 10, 20))]


def texts(picture):
    (axes,) = picture.figure.axes
    return [text.get_text() for text in axes.texts]


def keys_in(leaves):
    return [str(entry.key) for leaf in leaves for entry in leaf]


def faces(picture):
    """Return the faces of all boxes, from left to right and from above."""
    (axes,) = picture.figure.axes
    own = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    own = [patch for patch in own if patch.get_facecolor()[3] > 0]
    own.sort(key=lambda patch: (-round(patch.get_y(), 3), patch.get_x()))
    return [to_hex(patch.get_facecolor()) for patch in own]


EVERY = {
    "search": lambda: pictures.tree_search(live.search_tree()),
    "first key": lambda: pictures.tree_search(live.search_tree(0)),
    "last key": lambda: pictures.tree_search(live.search_tree(99)),
    "merge": lambda: pictures.merge_steps(live.merge_pim_tree()),
    "merge at the root": lambda: pictures.merge_steps(live.merge_pim_tree(16, 0.5, 0)),
    "chain": lambda: pictures.chain_steps(live.expire_chain()),
    "long chain": lambda: pictures.chain_steps(live.expire_chain(40, 6, (50, 51))),
    "joins": lambda: pictures.joins_by_window(RUNS),
    "inserts": lambda: pictures.inserts_by_subindex(INSERTS),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_text_can_be_read(name):
    picture = EVERY[name]().figure
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture, diagram=True)
        sizes = {text.get_fontsize() for text in texts_of(picture)}
    assert sizes <= {style.SMALL, style.FONT_SIZE}
    assert picture.get_figwidth() >= style.NARROW


def test_the_pictures_of_the_notebook_fit_into_its_width():
    for name in ("search", "merge", "chain", "inserts"):
        assert EVERY[name]().figure.get_figwidth() == style.WIDE


def test_a_search_shows_every_key_and_what_was_counted_in_each_node():
    snapshot = live.search_tree()
    picture = pictures.tree_search(snapshot)
    found = texts(picture)
    for key in keys_in(snapshot.tree.leaves):
        assert key in found
    for label in ("1 of 4 below 79\n\u2192 child 1", "2 of 4 below 79\n\u2192 child 2",
                 "3 of 4 below 79:\nbegin there"):  # fmt: skip
        assert label in found
    assert faces(picture).count(to_hex(trees.BELOW)) == 1 + 2 + 3


def test_a_path_is_marked_from_the_root_to_the_leaf():
    snapshot = live.search_tree()
    (axes,) = pictures.tree_search(snapshot).figure.axes
    marked = [patch for patch in axes.patches if to_hex(patch.get_edgecolor()) == "#d55e00"]
    assert len(marked) == len(snapshot.steps) == 3
    lines = [line for line in axes.lines if line.get_color() == boxes.MARKED]
    assert len(lines) == 2


def test_a_merge_shows_both_trees_and_the_buffer():
    before, during, after = live.merge_pim_tree()
    picture = pictures.merge_steps((before, during, after))
    found = texts(picture)
    assert {before.event, during.event, after.event} <= set(found)
    assert "put together from before and after" in during.event
    assert [found.count(f"B_{n}") for n in range(3)] == [2, 2, 2]
    assert found.count("T_S, depth 1\n= D_I") == 2 and found.count("written so far") == 1
    colors = faces(picture)
    expired = sum(not entry.live for entry in during.stable)
    # Expired entries appear before and during the merge; afterwards there are none.
    assert colors.count(boxes.EXPIRED) == 2 * expired > 0
    fresh = sum(entry in during.fresh for entry in during.written)
    assert colors.count(to_hex(trees.FRESH)) == 2 * len(during.fresh) + fresh


def test_leaves_of_all_subindexes_are_linked_as_one_list():
    before, during, after = live.merge_pim_tree()
    (axes,) = pictures.merge_steps((before, during, after)).figure.axes
    arrows = [text for text in axes.texts if not text.get_text() and hasattr(text, "arrow_patch")]
    leaves = [sum(map(len, each.subindexes)) for each in (before, after)]
    assert len(arrows) == sum(leaves) - 2
    assert all(arrow.xyann[0] < arrow.xy[0] for arrow in arrows)


def test_a_chain_shows_what_each_subindex_is_and_what_has_expired():
    snapshots = live.expire_chain()
    picture = pictures.chain_steps(snapshots)
    found = texts(picture)
    assert [found.count(kind) for kind in ("oldest", "archived", "active")] == [3, 6, 3]
    assert {snapshot.event for snapshot in snapshots} <= set(found)
    assert faces(picture).count(boxes.EXPIRED) == 3 + 6 + 1


def test_joins_are_a_line_a_variant_and_wrong_runs_are_not_drawn():
    wrong = JoinRun("pim-tree", 1 << 8, 1e9, False)
    picture = pictures.joins_by_window([wrong, *RUNS[4:]])
    (axes,) = picture.figure.axes
    joined = [line for line in axes.lines if len(line.get_xdata()) > 1]
    assert [list(line.get_xdata()) for line in joined] == [list(live.WINDOWS[1:])] * 4
    assert "1 of 13 runs are invalid and not drawn" in footer_of(picture.figure)
    only_wrong = pictures.joins_by_window([wrong])
    assert only_wrong._repr_png_().startswith(b"\x89PNG")


def test_inserts_are_a_bar_a_subindex_beside_the_equal_share():
    picture = pictures.inserts_by_subindex(INSERTS)
    still, moving = picture.figure.axes
    assert [bar.get_height() for bar in still.patches] == [0.25] * 4
    assert [bar.get_height() for bar in moving.patches] == [0.1, 0.15, 0.25, 0.5]
    assert {tuple(axes.lines[0].get_ydata()) for axes in (still, moving)} == {(0.25, 0.25)}
    assert [axes.get_title() for axes in (still, moving)] == ["r = 0", "r = 1"]
    assert still.get_ylim() == moving.get_ylim()


def test_equal_snapshots_give_equal_bytes():
    one, two = (EVERY["merge"]()._repr_png_() for _ in range(2))
    assert one == two and one.startswith(b"\x89PNG")
