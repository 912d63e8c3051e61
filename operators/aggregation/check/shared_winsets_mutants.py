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
        old="if cas(winsets.tags, row + place, old, tag, ACQ_REL):\n"
        "                return row + place, old",
        new="store(winsets.tags, row + place, tag, RELEASE)\n            return row + place, old",
        breaks="two threads claim one slot",
    ),
    _winsets(
        name="winsets-expected-read-late",
        old="linked = cas(winsets.heads, row + place, seen, link, RELEASE)",
        new="seen = load(winsets.heads, row + place, ACQUIRE)\n"
        "            linked = cas(winsets.heads, row + place, seen, link, RELEASE)",
        breaks="what the bucket was searched for is not what its head is compared with",
    ),
    _winsets(
        name="winsets-zeroed-after-linked",
        old="            return node\n        mark(",
        new="            store(winsets.n, node, 0, RELAXED)\n"
        "            return node\n        mark(",
        breaks="a window that others reach is begun once more",
    ),
    _winsets(
        name="winsets-slot-kept",
        old="store(winsets.tags, node, freed, RELEASE)",
        new="pass",
        breaks="the loser of a race for a key keeps its slot",
    ),
)
