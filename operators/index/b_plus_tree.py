"""The B+-Tree: entries in linked leaves, inner nodes with references to their children.

Source: section 3.1 of "Parallel Index-based Stream Join on a Multicore CPU" (the classic design,
where each node explicitly stores the references to its children), and Comer, "The Ubiquitous
B-Tree", 1979. As in the paper's baseline, keys may repeat, deletion removes the entry itself, and
nodes merge.

Many trees live in one *forest*. They share the nodes, and their leaves may form one list. The
subindexes of a PIM-Tree, the subindexes of a chain, and this tree alone are such forests::

    root of tree 0                          root of tree 1
    [ 17 | 40 | +oo ]                       [ +oo ]            an inner node: separators, children
      |     |     |                            |
    [3 9] [17 25] [41 44 60] ---------------> [71 80] --> none       leaves: keys, sequences

Invariants (``check_invariants``):

1. *Order.* Keys ascend along the list of leaves, equal keys in the order of insertion.
2. *Separators.* Separator i of an inner node is no less than any key below child i and no greater
   than any below child i + 1. The last child has no separator: +oo fills that slot.
3. *Padding.* Behind the last key a node is filled with +oo, so that a rank is counted over the
   whole node without reading the count.
4. *Depth.* All leaves of a tree are equally deep.
5. *Fill.* A node other than a root has at least ``least_fill`` entries, and an inner root two
   children. This bounds the number of nodes for a number of entries (``nodes_for``).

By 2, the number of separators below a key is the index of the child with the first occurrence of
the key, in spite of duplicates and stale separators (of keys deleted since). A new entry goes
behind all equal keys. Since the tuples of a window leave in the order of arrival, the entry to
delete is the first of the equal keys, found without a walk through the others.

# ASSUME: the paper does not say when nodes merge. Here a node that is less than half full is merged
# with a neighbour, the right one before the left, if both fit into three quarters of a node: a full
# node would split at once. If neither fits, the node is left alone until it falls below three
# eighths, and then borrows half of the neighbour's surplus. To borrow below one half already, as
# STX does, would mean borrowing a single entry again and again: two nodes that do not merge need
# not fill two halves.
# ASSUME: the paper's baseline is the STX B+-Tree, which searches nodes key by key. Nodes here have
# 32 entries, as in the paper's immutable tree, and count ranks by vectors, as all trees here do: so
# the gain of a PIM-Tree over this tree is smaller. ``search=scalar`` is the key-by-key search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, Look, Parameter, Shown, Variant
from operators.core import arena
from operators.core.arena import NO_NODE, give_back
from operators.core.jit import inlined
from operators.core.marks import mark
from operators.core.vectors import peek, poke
from operators.index.family import (
    FAN_OUT,
    IndexOperations,
    check_window,
    is_asked_for,
    position_of,
    sequence_of,
)
from operators.index.forest import (
    MOST_HEIGHT,
    PATH_WORDS,
    Forest,
    ask_for_links,
    child_for,
    insert_at,
    keys_of,
    least_fill,
    links_of,
    make_forest,
    move_half,
    new_node,
    nodes_for,
    rank,
    rank_behind,
    remove_at,
    used_bytes,
)
from operators.index.node import fan_out_of, is_vector
from operators.index.window import (
    NEWEST,
    OLDEST,
    SIZE,
    make_window,
    note_inserted,
    note_removed,
    put_live,
)

SEARCHES = ("vector", "scalar")


# --- search ---------------------------------------------------------------------------------------


@inlined
def find_leaf(forest, tree, low):
    """Return the leaf in which keys from `low` on begin, or the leaf before it."""
    node = peek(forest.roots, tree)
    for _ in range(peek(forest.heights, tree)):
        node = child_for(forest, node, low)
    return node


@inlined
def scan_leaves(forest, leaf, until, low, high, window, out, count):
    """Write the requested positions of keys from `low` to `high` behind ``out[:count]``.

    `leaf` is the leaf to which `low` belongs. The scan follows the list of leaves, from tree to
    tree, to the end or to the leaf `until`, exclusive. Returns the new count.
    """
    ask_for_links(forest, leaf)
    place = rank(forest, leaf, low)
    node = leaf
    while node != NO_NODE and node != until:
        entries = peek(forest.counts, node)
        last, count = scan_leaf(forest, node, place, entries, high, window, out, count)
        if last < entries:
            return count
        mark("b_plus_tree: a search comes to the end of a leaf")
        node = peek(forest.nodes.words, node)
        place = 0
    return count


@inlined
def scan_leaf(forest, leaf, place, entries, high, window, out, count):
    """Write the requested positions of keys up to `high`, from index `place` of a leaf on.

    Returns the index of the first key above `high` in the leaf, and the new count.
    """
    links = links_of(forest, leaf)
    if is_vector(forest.kind):
        last = rank_behind(forest, leaf, high, entries)
        return last, put_live(forest.entries, links + place, links + last, window, out, count)
    oldest, newest = window[OLDEST], window[NEWEST]
    keys = keys_of(forest, leaf)
    last = place
    while last < entries and peek(forest.entries, keys + last) <= high:
        sequence = peek(forest.entries, links + last)
        # Branch-free, since expiry is hard to predict: the next entry overwrites an expired one.
        poke(out, count, position_of(sequence, newest))
        count += is_asked_for(sequence, oldest, newest)
        last += 1
    return last, count


# --- insertion ------------------------------------------------------------------------------------


@inlined
def insert_entry(forest, tree, owner, key, sequence):
    """Insert behind all entries of the same key: ACCEPTED, or FULL if nodes have run out."""
    height = peek(forest.heights, tree)
    if arena.free_count(forest.nodes, owner) < height + 2:
        return FULL
    path = owner * PATH_WORDS
    node = peek(forest.roots, tree)
    for depth in range(height):
        child = rank_behind(forest, node, key, peek(forest.counts, node) - 1)
        poke(forest.path, path + depth, node)
        poke(forest.path, path + MOST_HEIGHT + depth, child)
        node = peek(forest.entries, links_of(forest, node) + child)
    ask_for_links(forest, node)
    place = rank_behind(forest, node, key, peek(forest.counts, node))
    if peek(forest.counts, node) < fan_out_of(forest.kind):
        insert_at(forest, node, place, key, place, sequence)
    else:
        split_leaf(forest, tree, owner, height, node, place, key, sequence)
    return ACCEPTED


@inlined
def split_leaf(forest, tree, owner, height, leaf, place, key, sequence):
    """Insert into a full leaf: the upper half moves to a new leaf behind it.

    `height` is the number of nodes on the owner's path.
    """
    half = fan_out_of(forest.kind) // 2
    right = new_node(forest, owner)
    move_half(forest, leaf, right)
    poke(forest.nodes.words, right, peek(forest.nodes.words, leaf))
    poke(forest.nodes.words, leaf, right)
    if place <= half:
        insert_at(forest, leaf, place, key, place, sequence)
    else:
        insert_at(forest, right, place - half, key, place - half, sequence)
    largest = peek(forest.entries, keys_of(forest, leaf) + peek(forest.counts, leaf) - 1)
    add_child(forest, tree, owner, height, largest, right)


@inlined
def add_child(forest, tree, owner, height, bound, right):
    """Add a new node behind the last child of the path, whose keys are now at most `bound`."""
    half = fan_out_of(forest.kind) // 2
    path = owner * PATH_WORDS
    depth = height - 1
    while depth >= 0:
        node = peek(forest.path, path + depth)
        at = peek(forest.path, path + MOST_HEIGHT + depth)
        if peek(forest.counts, node) < fan_out_of(forest.kind):
            insert_at(forest, node, at, bound, at + 1, right)
            return
        mark("b_plus_tree: split of an inner node")
        sibling = new_node(forest, owner)
        # The separator between the halves becomes the bound of the left one, a level up.
        parting = peek(forest.entries, keys_of(forest, node) + half - 1)
        move_half(forest, node, sibling)
        forest.entries[keys_of(forest, node) + half - 1] = forest.kind.last_key
        if at < half:
            insert_at(forest, node, at, bound, at + 1, right)
        else:
            insert_at(forest, sibling, at - half, bound, at - half + 1, right)
        bound, right = parting, sibling
        depth -= 1
    root = new_node(forest, owner)
    links = links_of(forest, root)
    forest.entries[links] = peek(forest.roots, tree)
    forest.entries[links + 1] = right
    forest.entries[keys_of(forest, root)] = bound
    poke(forest.counts, root, 2)
    forest.roots[tree] = root
    forest.heights[tree] += 1


# --- deletion -------------------------------------------------------------------------------------


@inlined
def delete_entry(forest, tree, owner, key, sequence):
    """Delete the entry with this key and sequence, if it exists."""
    path = owner * PATH_WORDS
    height = peek(forest.heights, tree)
    node = peek(forest.roots, tree)
    for depth in range(height):
        child = rank(forest, node, key)
        poke(forest.path, path + depth, node)
        poke(forest.path, path + MOST_HEIGHT + depth, child)
        node = peek(forest.entries, links_of(forest, node) + child)
    place = rank(forest, node, key)
    links = links_of(forest, node)
    while place >= peek(forest.counts, node) or peek(forest.entries, links + place) != sequence:
        place += 1
        if place >= peek(forest.counts, node):
            mark("b_plus_tree: an entry is not in the first leaf of its key")
            node = step_to_next_leaf(forest, owner, height)
            if node == NO_NODE:
                return
            links = links_of(forest, node)
            place = 0
    remove_at(forest, node, place, place)
    if height > 0 and peek(forest.counts, node) < fan_out_of(forest.kind) // 2:
        refill(forest, tree, owner, node)


@inlined
def step_to_next_leaf(forest, owner, height):
    """Move the path to the next leaf of the tree; return the leaf, or NO_NODE behind the last."""
    nodes = owner * PATH_WORDS
    children = nodes + MOST_HEIGHT
    depth = height - 1
    while depth >= 0 and peek(forest.path, children + depth) + 1 >= peek(
        forest.counts, peek(forest.path, nodes + depth)
    ):
        depth -= 1
    if depth < 0:
        return NO_NODE
    poke(forest.path, children + depth, peek(forest.path, children + depth) + 1)
    while True:
        links = links_of(forest, peek(forest.path, nodes + depth))
        node = peek(forest.entries, links + peek(forest.path, children + depth))
        depth += 1
        if depth == height:
            return node
        poke(forest.path, nodes + depth, node)
        poke(forest.path, children + depth, 0)


@inlined
def refill(forest, tree, owner, node):
    """Merge a node that is less than half full, or let it borrow; then go on with the parent."""
    path = owner * PATH_WORDS
    depth = peek(forest.heights, tree) - 1
    leaves = True
    while depth >= 0 and peek(forest.counts, node) < fan_out_of(forest.kind) // 2:
        parent = peek(forest.path, path + depth)
        at = peek(forest.path, path + MOST_HEIGHT + depth)
        # The node is no root, so there is a neighbour: a parent has at least two children.
        has_right = at + 1 < peek(forest.counts, parent)
        left = at
        merged = has_right and fits_with_next(forest, parent, left)
        if not merged and at > 0:
            left = at - 1
            merged = fits_with_next(forest, parent, left)
        if merged:
            give_back(forest.nodes, owner, merge_children(forest, parent, left, leaves))
        else:
            if peek(forest.counts, node) < least_fill(fan_out_of(forest.kind)):
                even_out(forest, parent, at if has_right else at - 1, leaves)
            break
        node = parent
        leaves = False
        depth -= 1
    root = peek(forest.roots, tree)
    while peek(forest.heights, tree) > 0 and peek(forest.counts, root) == 1:
        mark("b_plus_tree: a root with a single child goes")
        child = peek(forest.entries, links_of(forest, root))
        give_back(forest.nodes, owner, root)
        forest.roots[tree] = child
        forest.heights[tree] -= 1
        root = child


@inlined
def fits_with_next(forest, parent, at):
    """Return whether children `at` and `at` + 1 may merge."""
    links = links_of(forest, parent)
    left, right = peek(forest.entries, links + at), peek(forest.entries, links + at + 1)
    return fit(forest, peek(forest.counts, left), peek(forest.counts, right))


@inlined
def fit(forest, count, more):
    """Return whether two nodes with so many entries fit into three quarters of one."""
    # The free quarter keeps the next insertion from splitting the merged node. When merged nodes
    # had to fit into a half, a join made 0.92 [0.88, 1.00] and 0.88 [0.84, 0.92] times as many
    # tuples/s at windows of 2**12 and 2**16; into seven eighths, 1.05 [0.98, 1.16] and 1.02 [1.00,
    # 1.04] (three pairs in turns, two cores of an EPYC).
    return count + more <= 3 * fan_out_of(forest.kind) // 4


@inlined
def merge_children(forest, parent, at, leaves):
    """Merge children `at` and `at` + 1, and return the second, which has left the tree."""
    links = links_of(forest, parent)
    left, right = peek(forest.entries, links + at), peek(forest.entries, links + at + 1)
    count, more = peek(forest.counts, left), peek(forest.counts, right)
    mark("b_plus_tree: merge of two nodes")
    from_keys, to_keys = keys_of(forest, right), keys_of(forest, left) + count
    from_links = links_of(forest, right)
    to_links = links_of(forest, left) + count
    if leaves:
        poke(forest.nodes.words, left, peek(forest.nodes.words, right))
    else:
        # The last child of the left node has a bound again: the separator between the two.
        forest.entries[to_keys - 1] = forest.entries[keys_of(forest, parent) + at]
    for place in range(more):
        forest.entries[to_keys + place] = forest.entries[from_keys + place]
        forest.entries[to_links + place] = forest.entries[from_links + place]
    poke(forest.counts, left, count + more)
    remove_at(forest, parent, at, at + 1)
    return right


@inlined
def even_out(forest, parent, at, leaves):
    """Move half of the difference between children `at` and `at` + 1 to the one that has less.

    Together they fill more than three quarters of a node, so each has ``least_fill`` afterwards.
    """
    links = links_of(forest, parent)
    left, right = peek(forest.entries, links + at), peek(forest.entries, links + at + 1)
    count, more = peek(forest.counts, left), peek(forest.counts, right)
    left_keys, left_links = keys_of(forest, left), links_of(forest, left)
    right_keys, right_links = keys_of(forest, right), links_of(forest, right)
    if leaves:
        mark("b_plus_tree: a leaf borrows from a neighbour")
    else:
        mark("b_plus_tree: an inner node borrows from a neighbour")
        # Join the separators of both: the one between the nodes bounds the last child of the left.
        forest.entries[left_keys + count - 1] = forest.entries[keys_of(forest, parent) + at]
    # One by one, though each step shifts a node: borrowing is rare. At most one of the two is > 0.
    to_left, to_right = (more - count) // 2, (count - more) // 2
    for _ in range(to_left):
        key, link = peek(forest.entries, right_keys), peek(forest.entries, right_links)
        remove_at(forest, right, 0, 0)
        insert_at(forest, left, count, key, count, link)
        count += 1
    for _ in range(to_right):
        count -= 1
        key = peek(forest.entries, left_keys + count)
        link = peek(forest.entries, left_links + count)
        remove_at(forest, left, count, count)
        insert_at(forest, right, 0, key, 0, link)
    # The new separator: the largest key of the left leaf, or the bound of the left's last child.
    last = left_keys + count - 1
    forest.entries[keys_of(forest, parent) + at] = forest.entries[last]
    if not leaves:
        forest.entries[last] = forest.kind.last_key


# --- the index ------------------------------------------------------------------------------------


class BPlusTree(NamedTuple):
    """One tree, and the window of tuples in it."""

    forest: Forest
    words: np.ndarray  # see operators.index.window


def make_state(
    window: int, key_bits: int = 32, fan_out: int = 32, search: str = "vector"
) -> BPlusTree:
    """Return an empty B+-Tree for a window of this many tuples.

    Raises
    ------
    UsageError
        When a parameter is out of range.
    """
    key_type = check_window(window, key_bits)
    # An expired tuple leaves before the next one enters, so the window is never exceeded.
    capacity = nodes_for(window, 1, fan_out, deletes=True)
    return BPlusTree(make_forest(1, 1, capacity, key_type, fan_out, search), make_window())


@inlined
def insert(state, key, position):
    """Index the newest tuple: ACCEPTED, or FULL."""
    return insert_entry(state.forest, 0, 0, key, note_inserted(state.words, position))


@inlined
def remove(state, key, position):
    """Delete the oldest tuple."""
    note_removed(state.words, position)
    delete_entry(state.forest, 0, 0, key, sequence_of(position))


@inlined
def find(state, low, place):
    """Descend to the leaf in which `low` belongs."""
    place[0] = find_leaf(state.forest, 0, low)


@inlined
def scan(state, low, high, place, out):
    """Write the positions of the keys from `low` to `high`, and return their number."""
    return scan_leaves(state.forest, place[0], NO_NODE, low, high, state.words, out, 0)


@inlined
def merge_ns(state):
    """Return 0: this index has no merges other than those of nodes."""
    return 0


def places(state: BPlusTree) -> int:
    """Return the words that `find` notes."""
    return 1


def footprint(state: BPlusTree) -> dict[str, int]:
    """Return the bytes in use."""
    return {"insert": used_bytes(state.forest)}


def leaves_of(forest: Forest, tree: int) -> list[int]:
    """Return the leaves of a tree from left to right, and check the inner nodes on the way.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """

    def below(node: int, levels: int, lowest: int, highest: int) -> list[int]:
        count = int(forest.counts[node])
        begin = keys_of(forest, node)
        keys = forest.entries[begin : begin + forest.kind.fan_out].tolist()
        used = count if levels == 0 else count - 1
        assert keys == sorted(keys), f"node {node}: keys do not ascend: {keys}"
        assert set(keys[used:]) <= {forest.kind.last_key}, f"node {node}: no padding behind {count}"
        assert all(lowest <= key <= highest for key in keys[:used]), f"node {node}: separators"
        least = least_fill(forest.kind.fan_out) if node != root else min(levels, 1) * 2
        assert least <= count <= forest.kind.fan_out, f"node {node} has {count} entries"
        if levels == 0:
            return [node]
        links = links_of(forest, node)
        bounds = [lowest, *keys[:used], highest]
        children = forest.entries[links : links + count].tolist()
        return [
            leaf
            for place, child in enumerate(children)
            for leaf in below(child, levels - 1, bounds[place], bounds[place + 1])
        ]

    first = int(np.iinfo(forest.entries.dtype).min)
    root = int(forest.roots[tree])
    return below(root, int(forest.heights[tree]), first, forest.kind.last_key)


def inner_nodes(forest: Forest, node: int, levels: int) -> int:
    """Return the number of inner nodes from a node on, with so many levels of them."""
    if levels == 0:
        return 0
    links = links_of(forest, node)
    children = forest.entries[links : links + int(forest.counts[node])].tolist()
    return 1 + sum(inner_nodes(forest, child, levels - 1) for child in children)


def entries_of(forest: Forest, leaf: int) -> list[tuple[int, int]]:
    """Return key and sequence of each entry of a leaf."""
    keys = keys_of(forest, leaf)
    links = links_of(forest, leaf)
    return [
        (int(forest.entries[keys + place]), int(forest.entries[links + place]))
        for place in range(int(forest.counts[leaf]))
    ]


def check_forest(forest: Forest, trees: int) -> list[tuple[int, int]]:
    """Return the entries in the leaves of the first `trees` trees, after checking nodes and arena.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    arena.check_invariants(forest.nodes)
    return check_leaves(forest, trees)


def check_leaves(forest: Forest, trees: int) -> list[tuple[int, int]]:
    """Return the entries in the leaves of the first `trees` trees, after checking the nodes.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    leaves = [leaf for tree in range(trees) for leaf in leaves_of(forest, tree)]
    behind = [int(forest.nodes.words[leaf]) for leaf in leaves]
    assert behind == [*leaves[1:], NO_NODE], "the list of leaves is not that of the trees"
    entries = [entry for leaf in leaves for entry in entries_of(forest, leaf)]
    keys = [key for key, _ in entries]
    assert keys == sorted(keys), "keys do not ascend along the leaves"
    return entries


def check_invariants(state: BPlusTree) -> None:
    """Check the tree, and that it holds the window and nothing else.

    Raises
    ------
    AssertionError
        When an invariant does not hold.
    """
    forest = state.forest
    entries = check_forest(forest, 1)
    assert len(entries) == int(state.words[SIZE]), "an entry too many or too few"
    inner = inner_nodes(forest, int(forest.roots[0]), int(forest.heights[0]))
    somewhere = len(leaves_of(forest, 0)) + inner + int(arena.free_count(forest.nodes, 0))
    assert somewhere == forest.nodes.capacity, "a node is neither in the tree nor free"


VARIANT = Variant(
    id="b-plus-tree",
    family="index",
    title="B+-Tree",
    paper="pim_tree",
    section="2.2.1",
    operations=IndexOperations(
        make_state, insert, remove, find, scan, merge_ns, places, footprint, check_invariants
    ),
    order="none within a search",
    progress="blocking",
    threads={"owner": "one"},
    capacity="the tuples of a window; one more is told FULL at the latest",
    parameters=(
        FAN_OUT,
        Parameter("search", "vector", meaning="rank of a key in a node", choices=SEARCHES),
    ),
    bench=False,
    look=Look("vermillion", "s", "dashed"),
    shown=(
        Shown(
            "search=scalar",
            "B+-Tree, scalar search",
            Look("vermillion", "P"),
            {"pim_tree": ("8a", "10a", "10b")},
        ),
    ),
)
