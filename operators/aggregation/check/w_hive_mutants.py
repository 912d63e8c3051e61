"""Mutants of the W-Hive."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_hive = partial(Mutant, variant="core/w-hive", module="operators.aggregation.w_hive")

MUTANTS = (
    _hive(
        name="hive-list-before-written",
        old="    limit = slowest(hive)\n    return first_before(hive, limit)\n",
        new="    place = first_before(hive, PASSED_ALL)\n"
        "    limit = slowest(hive)\n"
        "    there = place != NIL and hive.nodes[node_at(hive, place) + NUMBER] < limit\n"
        "    return place if there else NIL\n",
        breaks="a winset that is made between the two looks is stepped over",
    ),
    _hive(
        name="hive-end-without-a-look",
        old="return END if all_passed(hive) else NOT_READY",
        new="return END if slowest(hive) == PASSED_ALL else NOT_READY",
        breaks="winsets made between the look at the list and the threads' end are not put out",
    ),
    _hive(
        name="hive-place-claimed-twice",
        old="if load(hive.nodes, used, RELAXED) == 0 and cas(hive.nodes, used, 0, 1, ACQUIRE):\n",
        new="if load(hive.nodes, used, ACQUIRE) == 0:\n"
        "            store(hive.nodes, used, 1, RELEASE)\n",
        breaks="two threads take one place, which looking and then storing cannot rule out",
    ),
    _hive(
        name="hive-lost-link-taken",
        old="if cas(hive.nodes, link_at(hive, before, level), after, place, RELEASE):\n"
        "            return place",
        new="cas(hive.nodes, link_at(hive, before, level), after, place, RELEASE)\n"
        "        return place",
        breaks="a winset whose compare-and-swap was lost is in no list",
    ),
    _hive(
        name="hive-higher-levels-first",
        old="    hive.nodes[node + HEIGHT] = height\n",
        new="    hive.nodes[node + HEIGHT] = height\n"
        "    for level in range(1, height):\n"
        "        before = hive.private[finger_at(hive, thread, level)]\n"
        "        level_insert(hive, level, before, place, number)\n",
        breaks="a place that lost level 0 is given back while it hangs on a higher one",
    ),
    _hive(
        name="hive-search-relaxed",
        old="found = load(hive.nodes, link_at(hive, node, level), ACQUIRE)",
        new="found = load(hive.nodes, link_at(hive, node, level), RELAXED)",
        breaks="a search may read a node before its maker's words have arrived",
    ),
    _hive(
        name="hive-written-relaxed",
        old="store(hive.written, line_at(thread), earliest, RELEASE)",
        new="store(hive.written, line_at(thread), earliest, RELAXED)",
        breaks="a winset is put out although updates of it may still be on their way",
    ),
    _hive(
        name="hive-written-of-the-last",
        old="store(hive.written, line_at(thread), earliest, RELEASE)",
        new="store(hive.written, line_at(thread), latest, RELEASE)",
        breaks="a thread says that it is past winsets that its tuple still updates",
    ),
    _hive(
        name="hive-search-without-pin",
        old="    epochs.pin(hive.searches, thread)\n",
        new="",
        breaks="places are let go under a search that may still reach them",
    ),
    _hive(
        name="hive-pins-not-looked-at",
        old="if not epochs.all_left(hive.searches, reading[BOUNDARY_EPOCH]):",
        new="if False:",
        breaks="places are let go under a search that began before them",
    ),
    _hive(
        name="hive-epoch-not-announced",
        old="reading[BOUNDARY_EPOCH] = epochs.advance(hive.searches)",
        new="reading[BOUNDARY_EPOCH] = epochs.latest(hive.searches)",
        breaks="a search pinned before the head moved passes for one that began at the new head",
    ),
)
