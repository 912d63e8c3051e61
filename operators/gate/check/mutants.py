"""Mutants of the gates."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_t_gate = partial(Mutant, variant="gate/t-gate", module="operators.gate.t_gate")
_list = partial(Mutant, variant="gate/skip-list", module="operators.gate.skip_list")
_locked = partial(Mutant, variant="gate/multi-queue", module="operators.gate.multi_queue")
_lock_free = partial(
    Mutant, variant="gate/multi-queue-lock-free", module="operators.gate.multi_queue_lock_free"
)
_rings = partial(
    Mutant, variant="gate/multi-queue-rings", module="operators.gate.multi_queue_rings"
)

_T_GATE = (
    _t_gate(
        name="t-gate-written-before-links",
        old="    fill_node(state, node, source, height, timestamp, key, value)\n",
        new="    fill_node(state, node, source, height, timestamp, key, value)\n"
        "    store(state.written, line_at(source), sequence, RELEASE)\n",
        breaks="a tuple counts as delivered before it hangs in the list",
    ),
    _t_gate(
        name="t-gate-ties-by-arrival",
        old="return other < timestamp or (other == timestamp and "
        "state.nodes[place + SOURCE] <= source)",
        new="return other <= timestamp",
        breaks="equal timestamps stand in the order of arrival, not of their sources",
    ),
    _t_gate(
        name="t-gate-ready-too-soon",
        old="return passed < seen",
        new="return passed <= seen",
        breaks="a source's last tuple counts as ready although an earlier one may follow",
    ),
    _t_gate(
        name="t-gate-lost-link-taken",
        old="if cas(state.nodes, link_at(state, before, 0), after, node, RELEASE):\n"
        "            return True",
        new="cas(state.nodes, link_at(state, before, 0), after, node, RELEASE)\n"
        "        return True",
        breaks="a tuple whose compare-and-swap was lost is in no list",
    ),
    _t_gate(
        name="t-gate-lost-level-taken",
        old="if cas(state.nodes, link_at(state, before, level), after, node, RELEASE):\n"
        "            return",
        new="cas(state.nodes, link_at(state, before, level), after, node, RELEASE)\n        return",
        breaks="a tall node whose compare-and-swap was lost misses a level",
    ),
    _t_gate(
        name="t-gate-link-relaxed",
        old="if cas(state.nodes, link_at(state, before, 0), after, node, RELEASE):",
        new="if cas(state.nodes, link_at(state, before, 0), after, node, RELAXED):",
        breaks="another source may meet a node before its words have arrived",
        canary=True,
    ),
    _t_gate(
        name="t-gate-neighbour-relaxed",
        old="after = load(state.nodes, link_at(state, before, 0), ACQUIRE)",
        new="after = load(state.nodes, link_at(state, before, 0), RELAXED)",
        breaks="an insertion may read its neighbour before that one's words have arrived",
    ),
    _t_gate(
        name="t-gate-fastest-reader-counts",
        old="released = min(released, slower)",
        new="released = max(released, slower)",
        breaks="nodes are used again that the slower of two readers has not passed",
    ),
    _t_gate(
        name="t-gate-search-without-pin",
        old="    epochs.pin(state.searches, source)\n",
        new="",
        breaks="nodes are used again under a search that may still reach them",
    ),
    _t_gate(
        name="t-gate-pins-not-looked-at",
        old="if not epochs.all_left(state.searches, epochs.latest(state.searches)):",
        new="if False:",
        breaks="nodes are used again under a search that began before them",
    ),
    _t_gate(
        name="t-gate-epoch-before-anchor",
        old="        store(state.anchor, 0, node, RELEASE)\n"
        "        # Behind the anchor: who pins the new epoch starts from there.\n"
        "        epochs.advance(state.searches)\n",
        new="        epochs.advance(state.searches)\n"
        "        store(state.anchor, 0, node, RELEASE)\n",
        breaks="a search pinned to the new epoch may begin at the old anchor",
    ),
)

_SKIP_LIST = (
    _list(
        name="skip-list-not-marked",
        old="if cas(nodes, link_at(state, node, level), link, link | MARK, RELAXED):",
        new="if link >= 0:",
        breaks="a tuple is linked behind a node that is being taken out, and leaves with it",
    ),
    _list(
        name="skip-list-lost-link-taken",
        old='            mark("skip_list: link lost")\n            break\n',
        new='            mark("skip_list: link lost")\n',
        breaks="a tuple whose compare-and-swap was lost is in no list",
    ),
    _list(
        name="skip-list-latest-before-links",
        old="    epochs.pin(state.searches, source)\n    level = 0\n",
        new="    store(state.latest, line_at(source) + DELIVERED, position + 1, RELEASE)\n"
        "    store(state.latest, line_at(source) + LATEST, timestamp, RELEASE)\n"
        "    epochs.pin(state.searches, source)\n    level = 0\n",
        breaks="the reader takes out a node that is still being linked",
    ),
    _list(
        name="skip-list-delivered-ignored",
        old="if state.nodes[place + POSITION] >= delivered:",
        new="if False:",
        breaks="a tuple that ties with its source's last one is taken before it is on all levels",
    ),
    _list(
        name="skip-list-latest-read-last",
        old="    if node == state.tail:\n",
        new="    bound, bound_source = lowest_latest(state)\n    if node == state.tail:\n",
        breaks="what is inserted between the look at the list and at its end is forgotten",
    ),
    _list(
        name="skip-list-near-link-lost-taken",
        old="if cas(nodes, link_at(state, before, 0), link, link_to(node), RELEASE):\n"
        "            return True",
        new="cas(nodes, link_at(state, before, 0), link, link_to(node), RELEASE)\n"
        "        return True",
        breaks="a tuple whose compare-and-swap was lost is in no list",
    ),
    _list(
        name="skip-list-near-a-node-that-is-gone",
        old="        if is_marked(link):\n            # Nodes leave in order",
        new="        if False:\n            # Nodes leave in order",
        breaks="a tuple is linked behind its source's last one, which the reader has taken out",
    ),
    _list(
        name="skip-list-search-without-pin",
        old="    epochs.pin(state.searches, source)\n",
        new="",
        breaks="nodes are used again under a search that may still reach them",
    ),
    _list(
        name="skip-list-pins-not-looked-at",
        old="if not epochs.all_left(state.searches, epochs.latest(state.searches)):",
        new="if False:",
        breaks="nodes are used again under a search that began before they were taken out",
    ),
)

_QUEUES = (
    _locked(
        name="multi-queue-full-keeps-the-lock",
        old='        release(state.locks, source)\n        mark("multi_queue: full")\n',
        new='        mark("multi_queue: full")\n',
        breaks="a source that is told FULL keeps its lock",
    ),
    _locked(
        name="multi-queue-ties-to-the-last",
        old="(earliest < 0 or timestamp < lowest)",
        new="(earliest < 0 or timestamp <= lowest)",
        breaks="of equal timestamps the highest source goes first",
    ),
    _lock_free(
        name="multi-queue-closed-without-a-look",
        old="    there, timestamp = peek(state.queues, source)\n    if there:\n        mark(",
        new="    if False:\n        mark(",
        breaks="what a source delivers right before it closes is lost",
    ),
    _rings(
        name="rings-given-back-before-read",
        old="place = slot_place(rings, source, taken)\n    out[0]",
        new="place = slot_place(rings, source, taken)\n"
        "    give_back(rings, source, taken + 1)\n    out[0]",
        breaks="the source may overwrite a tuple that the reader has yet to read",
    ),
)

MUTANTS = (*_T_GATE, *_SKIP_LIST, *_QUEUES)
