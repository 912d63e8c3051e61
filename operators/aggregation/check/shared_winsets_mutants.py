"""Mutants of the winsets that threads share."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_winsets = partial(
    Mutant, variant="core/shared-winsets", module="operators.aggregation.shared_winsets"
)

MUTANTS = (
    _winsets(
        name="winsets-slot-claimed-by-store",
        old="if cas(winsets.words, node + TAG, old, tag, ACQUIRE):\n"
        "                return node, old",
        new="store(winsets.words, node + TAG, tag, RELEASE)\n            return node, old",
        breaks="two threads claim one slot",
    ),
    _winsets(
        name="winsets-expected-read-late",
        old="        if cas(words, leads, seen, link, RELEASE):\n",
        new="        seen = load(words, leads, ACQUIRE)\n"
        "        if cas(words, leads, seen, link, RELEASE):\n",
        breaks="what the bucket was searched for is not what its head is compared with",
    ),
    _winsets(
        name="winsets-zeroed-after-linked",
        old="            return node\n        mark(",
        new="            store(words, node + N, 0, RELAXED)\n"
        "            return node\n        mark(",
        breaks="a window that others reach is begun once more",
    ),
    _winsets(
        name="winsets-slot-kept",
        old="store(words, node + TAG, freed, RELEASE)",
        new="pass",
        breaks="the loser of a race for a key keeps its slot",
    ),
)
