"""Mutants of the W-Hive."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_hive = partial(Mutant, variant="core/w-hive", module="operators.aggregation.w_hive")

MUTANTS = (
    _hive(
        name="hive-list-before-written",
        old="limit = slowest(hive)\n"
        "    place = load(hive.nodes, hive.reading[READ_HEAD] * hive.stride + LINKS, ACQUIRE)",
        new="place = load(hive.nodes, hive.reading[READ_HEAD] * hive.stride + LINKS, ACQUIRE)\n"
        "    limit = slowest(hive)",
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
        old="if load(hive.nodes, used, RELAXED) == 0 and cas(hive.nodes, used, 0, 1, ACQ_REL):\n",
        new="if load(hive.nodes, used, ACQUIRE) == 0:\n"
        "            store(hive.nodes, used, 1, RELEASE)\n",
        breaks="two threads take one place, which looking and then storing cannot rule out",
    ),
    _hive(
        name="hive-lost-link-taken",
        old="if cas(hive.nodes, before * hive.stride + word, after, place, RELEASE):\n"
        "            return place",
        new="cas(hive.nodes, before * hive.stride + word, after, place, RELEASE)\n"
        "        return place",
        breaks="a winset whose compare-and-swap was lost is in no list",
    ),
    _hive(
        name="hive-higher-levels-first",
        old="    there = level_insert(hive, 0, before, place, number)\n",
        new="    for level in range(1, height):\n"
        "        level_insert(hive, level, hive.private[own + FINGERS + level], place, number)\n"
        "    there = level_insert(hive, 0, before, place, number)\n",
        breaks="a place that lost level 0 is given back while it hangs on a higher one",
    ),
    _hive(
        name="hive-search-relaxed",
        old="found = load(hive.nodes, node * hive.stride + LINKS + level, ACQUIRE)",
        new="found = load(hive.nodes, node * hive.stride + LINKS + level, RELAXED)",
        breaks="a search may read a node before its maker's words have arrived",
    ),
    _hive(
        name="hive-written-relaxed",
        old="store(hive.written, thread * LINE_WORDS, earliest, RELEASE)",
        new="store(hive.written, thread * LINE_WORDS, earliest, RELAXED)",
        breaks="a winset is put out although updates of it may still be on their way",
    ),
    _hive(
        name="hive-written-of-the-last",
        old="store(hive.written, thread * LINE_WORDS, earliest, RELEASE)",
        new="store(hive.written, thread * LINE_WORDS, latest, RELEASE)",
        breaks="a thread says that it is past winsets that its tuple still updates",
    ),
    _hive(
        name="hive-pin-ignored",
        old="if pinned != UNPINNED and pinned < reading[BOUNDARY_EPOCH]:",
        new="if False:",
        breaks="places are let go under a search that began before them",
    ),
    _hive(
        name="hive-pin-relaxed",
        old="store(hive.pins, thread * LINE_WORDS, epoch, RELEASE)",
        new="store(hive.pins, thread * LINE_WORDS, epoch, RELAXED)",
        breaks="who sees a second pin does not see what was read under the first (it was so once)",
    ),
    _hive(
        name="hive-pin-without-fence",
        old="    # epoch.\n    fence(SEQ_CST)\n",
        new="    # epoch.\n",
        breaks="a pin may arrive behind the reads that it protects (store buffering)",
    ),
)
