"""Walks along the chains of a Bw-Tree: chains and nodes built by hand, each verdict once."""

from __future__ import annotations

from operators.index import bw_tree
from operators.index.bw_chain import (
    ABSENT,
    CHANGE,
    CHILD,
    PRESENT,
    REMOVED,
    SIDEWAYS,
    descend,
    walk_inner,
    walk_leaf,
)
from operators.index.bw_inspect import levels_of
from operators.index.bw_nodes import (
    DELETE,
    INSERT,
    MERGE,
    REMOVE,
    SPLIT,
    block_of,
    describe,
    entries_of,
    head_of,
    length_of,
    link_at,
    look,
    newest,
    put_record,
    put_samples,
    swap,
)
from tests.operators.index.test_bw_tree import planted


def leaf(*entries: int):
    """Return a tree's nodes and a reference to a leaf with a bare base; an entry is a number."""
    nodes, block = planted()[0].nodes, 0
    nodes.words[0] = len(entries)
    begin = nodes.entries_at
    nodes.words[begin : begin + len(entries)] = entries
    put_samples(nodes, 0, len(entries))
    assert block_of(int(look(nodes, 0))) == block
    return nodes, 0


def put(nodes, node: int, slot: int, kind: int, offset: int, entry: int, link: int = 0) -> None:
    """Put a record in a node's slot: the old chain, extended by one record."""
    head = int(look(nodes, node))
    meta = newest(nodes, head)
    entries = entries_of(meta) + {INSERT: 1, DELETE: -1}.get(kind, 0)
    at = put_record(
        nodes, 0, slot + 1, describe(kind, head, length_of(meta) + 1, entries, offset), entry, 0
    )
    nodes.words[link_at(nodes, at)] = link
    assert swap(nodes, node, head, head_of(node, 0, slot + 1))


def walked(nodes, node: int, entry: int, grows: bool = True) -> tuple[int, int]:
    return walk_leaf(nodes, int(look(nodes, node)), entry, 0, grows)


def test_a_bare_base_says_where_an_entry_is_or_belongs():
    nodes, node = leaf(10, 20, 30)
    assert [walked(nodes, node, each) for each in (10, 20, 30)] == [(PRESENT, n) for n in range(3)]
    assert [walked(nodes, node, each) for each in (5, 15, 35)] == [(ABSENT, n) for n in (0, 1, 3)]


def test_the_newest_record_of_an_entry_is_right():
    nodes, node = leaf(10, 30)
    put(nodes, node, 0, INSERT, 1, 20)
    assert walked(nodes, node, 20) == (PRESENT, 1)
    # A slot that is not linked into the chain has no effect.
    put_record(nodes, 0, 2, describe(DELETE, 0, 1, 0, 0), 20, 0)
    put(nodes, node, 2, DELETE, 1, 20)
    assert walked(nodes, node, 20) == (ABSENT, 1)
    # The rest of the shortcut: 30 has not moved.
    assert walked(nodes, node, 30) == (PRESENT, 1)
    assert walked(nodes, node, 25) == (ABSENT, 1)


def test_a_chain_that_is_long_and_a_base_that_is_large_take_no_record():
    nodes, node = leaf(10, 20)
    for slot, entry in enumerate((30, 40, 50)):
        assert walked(nodes, node, entry) == (ABSENT, 2)
        put(nodes, node, slot, INSERT, 2, entry)
    assert walked(nodes, node, 60) == (CHANGE, 0)
    nodes, node = leaf(10, 20, 30, 40)
    assert walked(nodes, node, 20) == (CHANGE, 0)
    # Existing entries may be deleted.
    assert walked(nodes, node, 20, grows=False) == (PRESENT, 1)
    # A split makes room: the lower half stays in the node.
    put(nodes, node, 0, SPLIT, 2, 30, link=9)
    assert walked(nodes, node, 20) == (PRESENT, 1)
    assert walked(nodes, node, 29) == (ABSENT, 2)
    assert walked(nodes, node, 30) == (SIDEWAYS, 9)
    put(nodes, node, 2, INSERT, 2, 25)
    assert walked(nodes, node, 25) == (PRESENT, 2)
    assert walked(nodes, node, 40) == (SIDEWAYS, 9)


def test_a_node_that_is_removed_or_merged_with_takes_no_record():
    nodes, node = leaf(10)
    put(nodes, node, 0, REMOVE, 0, 0, link=7)
    assert walked(nodes, node, 10) == (REMOVED, 7)
    nodes, node = leaf(10)
    put(nodes, node, 0, MERGE, 0, 50, link=7)
    assert walked(nodes, node, 10) == (CHANGE, 0)


def test_an_inner_node_leads_where_its_newest_index_term_says():
    state, _ = planted(*range(10, 130, 10))
    nodes = state.nodes
    root = int(nodes.root[0])
    children = levels_of(state)[-1]
    lows = [child.low[0] for child in children]
    assert len(lows) > 2
    for entry in (lows[1] - 1, lows[1], lows[2] - 1, lows[2]):
        verdict, child = walk_inner(nodes, int(look(nodes, root)), entry, 0, False)
        place = sum(low <= entry for low in lows) - 1
        assert (verdict, child) == (CHILD, children[place].reference)
        assert descend(nodes, entry, 0) == (children[place].reference, True)
    bw_tree.check_invariants(state)
