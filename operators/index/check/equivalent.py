"""Automatic mutants of indexes that no check can kill, with the reasons."""

_B = "operators.index.b_plus_tree "
_BW = "operators.index.bw_"
_OLC = "operators.index.olc_"
_PIM = "operators.index.pim_"

_NO_ENTRY = "nothing reads the entry of a goal to consolidate or divide"

# By function, which constants 0 are such an entry.
_ENTRIES = {
    "changes divide": (5, 6),
    "changes is_ready": (2, 3, 4, 5),
    "changes put_term": (2, 3),
    "merges hold": (2, 3),
    "merges merge_into_left": (1, 2, 3, 4, 5, 6, 9, 10),
    "merges remove_node": (2, 3, 5, 6),
    "updates change_leaf": (3, 4, 8, 9),
}
_TIME = "a time that is only reported"
_PREFETCH = "it only prefetches"
_ALIVE = (
    "the node held the searched range after the search began, and what it held when it was removed"
    " is an answer of that moment"
)

EQUIVALENT = {
    **{
        f"{_BW}{function}: constant 0 -> 1" + (f" ({number})" if number > 1 else ""): _NO_ENTRY
        for function, numbers in _ENTRIES.items()
        for number in numbers
    },
    _B + "step_to_next_leaf: constant 0 -> 1": (
        "only an entry that is there is removed, so the search never steps behind the last leaf"
    ),
    _B + "refill: compare peek(forest.counts, node) < least_fill(fan_out_of(forest.kind)) ->"
    " peek(forest.counts, node) <= least_fill(fan_out_of(forest.kind))": (
        "a node is merged or borrows one entry earlier, and no search can tell"
    ),
    _B + "add_child: swap parting = peek(forest.entries, keys_of(forest, node) + half - 1)"
    " move_half(forest, node, sibling) -> move_half(forest, node, sibling)"
    " parting = peek(forest.entries, keys_of(forest, node) + half - 1)": (
        "the last key of the left half stays until the next line pads it"
    ),
    _B + "insert_entry: constant 1 -> 0": "behind the last separator lies padding above all keys",
    _BW + "updates go_to_node: drop node = NO_NODE -> pass": (
        "where no descent sets the node, the search that follows does"
    ),
    _BW + "changes divide: swap put_bound(tree, target + HIGH, peek(words, begin + HIGH),"
    " low_word(tree, begin + HIGH)) make_known(tree, right, block, level, count - half,"
    " peek(words, begin + RIGHT)) -> make_known(tree, right, block, level, count - half,"
    " peek(words, begin + RIGHT)) put_bound(tree, target + HIGH, peek(words, begin + HIGH),"
    " low_word(tree, begin + HIGH))": "only the swap behind both makes the block known",
    _PIM + "parallel_merge swap: drop tree.words[MOST_NODES] = nodes_taken(tree) -> pass": (
        "a figure for the report of a run"
    ),
    _PIM + "tree find: drop place[2] = subindex -> pass": (
        "a scan goes on from any earlier subindex to the right one"
    ),
    _PIM + "tree_parallel scan_looking: compare found >= 0 -> found > 0": (
        "a look that found nothing is repeated, in the end under the lock, with the same answer"
    ),
    _PIM + "tree_parallel insert: compare free_count(nodes, thread) < tree.reserve ->"
    " free_count(nodes, thread) <= tree.reserve": "a thread takes nodes one insertion earlier",
    _PIM + "tree_parallel look_for_leaves: swap poke(places, place + LEAF, root)"
    " ask_for(fresh, root) -> ask_for(fresh, root) poke(places, place + LEAF, root)": (
        "the second only prefetches"
    ),
    _PIM + "tree insert: swap sequence = note_inserted(words, position) subindex ="
    " descend(state.stable, words[SLOT], 0, 0, words[DEPTH], key) -> subindex ="
    " descend(state.stable, words[SLOT], 0, 0, words[DEPTH], key) sequence ="
    " note_inserted(words, position)": "the search reads none of the words that are noted",
    _BW + "changes consolidate: compare count <= small_limit(tree, level) -> count <"
    " small_limit(tree, level)": "a node is merged one entry later, and no search can tell",
    _BW + "updates end_goal: swap poke(own, OWED, NO_NODE) head = look(tree, owed) -> head ="
    " look(tree, owed) poke(own, OWED, NO_NODE)": "a word of the thread's own, and one of the tree",
    _BW + "merges remove_node: not not swap(tree, node, head, head_of(node, block_of(head),"
    " record)) -> not (not swap(tree, node, head, head_of(node, block_of(head), record)))": (
        "it decides about a mark alone"
    ),
    _BW + "chain walk_inner: constant 0 -> 1 (2)": (
        "an entry that comes to a node is not below its first term, to which the step back from"
        " rank 1 leads as well"
    ),
    _B + "even_out: swap remove_at(forest, right, 0, 0) insert_at(forest, left, count, key, count,"
    " link) -> insert_at(forest, left, count, key, count, link) remove_at(forest, right, 0, 0)": (
        "they change two nodes, and what moves was read before"
    ),
    _B + "delete_entry: constant 1 -> 0": (
        "the oldest entry is removed, of equal keys the first: only at the end of a leaf is there a"
        " step, to the next leaf"
    ),
    _B + "refill: swap child = peek(forest.entries, links_of(forest, root)) give_back(forest.nodes,"
    " owner, root) -> give_back(forest.nodes, owner, root) child = peek(forest.entries,"
    " links_of(forest, root))": "a free node keeps its links until it is taken",
    _OLC
    + "tree step: swap ask_for(forest, child) poke(places, at + LEAF, child) -> poke(places, at"
    " + LEAF, child) ask_for(forest, child)": "the first only prefetches",
    _BW + "consolidation gather: swap put_samples(tree, target, put) poke(words, target + LEVEL,"
    " level) -> poke(words, target + LEVEL, level) put_samples(tree, target, put)": (
        "neither reads what the other writes, and the block is private"
    ),
    _BW + "updates update: swap poke(view.own, OWED, NO_NODE) push_goal(view.own, kind, 0, hi, lo,"
    " NO_NODE) -> push_goal(view.own, kind, 0, hi, lo, NO_NODE) poke(view.own, OWED, NO_NODE)": (
        "different words of the thread's own"
    ),
    _BW + "merges end_merge: constant 0 -> 1 (2)": (
        "who does not see that a parent is the root looks for a level above it, and gives up"
    ),
    "operators.index.immutable_tree build: constant 1 -> 0 (13)": (
        "the separator of the last child is written once more by the loop behind"
    ),
    _BW + "changes put_index_term: swap poke(words, link_at(tree, at), node)"
    " put_bound(tree, end_at(tree, at), end_hi, end_lo) -> put_bound(tree, end_at(tree, at),"
    " end_hi, end_lo) poke(words, link_at(tree, at), node)": (
        "two fields of a record that no other thread sees yet"
    ),
    "operators.index.immutable_tree scan_block: not is_vector(trees.kind) -> not"
    " (is_vector(trees.kind))": "both ways write the same positions",
    _OLC + "changes attempt_insert: constant True -> False": (
        "equal keys then come in another order, and whoever looks for an entry goes on behind the"
        " first of its key"
    ),
    _BW + "changes divide: swap count = peek(words, begin + COUNT) block = take_block(view) ->"
    " block = take_block(view) count = peek(words, begin + COUNT)": (
        "to take a block changes no word of one in use"
    ),
    _BW + "chain walk_leaf: constant 0 -> 1 (4)": "nobody reads the word beside this verdict",
    _BW + "chain walk_leaf: constant 0 -> 1 (7)": "nobody reads the word beside this verdict",
    _BW + "chain walk_inner: drop first = max(first, offset_of(meta)) -> pass": (
        "all terms before the offset are below the entry, so that its rank in the whole base is"
        " the same"
    ),
    _BW + "merges end_merge: swap entries = entries_of(peek(tree.words, at)) let_go(view, goal, 2)"
    " -> let_go(view, goal, 2) entries = entries_of(peek(tree.words, at))": (
        "a record does not change while the thread that reads it is pinned"
    ),
    _BW + "pool put_into: drop rounds = wait_a_little(rounds) -> pass": (
        "the thread tries again without a wait"
    ),
    _BW + "searches scan: constant False -> True (2)": _ALIVE,
    _BW + "searches scan: drop from_left = False -> pass (2)": _ALIVE,
    _OLC + "changes attempt_refill: swap release_needed(tree, count, True)"
    " spin_lock.acquire(tree.free_lock, 0) -> spin_lock.acquire(tree.free_lock, 0)"
    " release_needed(tree, count, True)": (
        "nodes stay locked a little longer, and who has the spin lock waits for nothing"
    ),
    _PIM + "tree find: swap ask_for_block(state.stable, slot, block) place[0] ="
    " find_leaf(state.fresh, subindex, low) -> place[0] = find_leaf(state.fresh, subindex, low)"
    " ask_for_block(state.stable, slot, block)": _PREFETCH,
    _PIM + "tree merge: swap begin = now() build_next(state) -> build_next(state) begin = now()": (
        _TIME
    ),
    _PIM + "tree_parallel look_for_leaves: drop ask_for(fresh, root) -> pass": _PREFETCH,
    "operators.index.chain archive: swap words[FILLED] = 0 words[ARCHIVE_NS] += now() - begin ->"
    " words[ARCHIVE_NS] += now() - begin words[FILLED] = 0": _TIME,
}
