"""Mutants of the aggregates: of their use of the W-Hive."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_wiml = partial(Mutant, variant="aggregation/wiml", module="operators.aggregation.window_functions")
_panes = partial(
    Mutant, variant="aggregation/wiml-panes", module="operators.aggregation.wiml_panes"
)
_deferred = partial(
    Mutant, variant="aggregation/wiml-deferred", module="operators.aggregation.wiml_deferred"
)
_tumlmc = partial(Mutant, variant="aggregation/tumlmc", module="operators.aggregation.tumlmc")

MUTANTS = (
    _wiml(
        name="wiml-count-by-load-and-store",
        old='    """Count a tuple."""\n    fetch_add(hive.winsets.words, at + N, 1, RELAXED)\n',
        new='    """Count a tuple."""\n    hive.winsets.words[at + N] += 1\n',
        breaks="two threads that count in one window count once",
        canary=True,
    ),
    _wiml(
        name="wiml-lost-extreme-taken",
        old="if cas(hive.winsets.words, at + A, kept, value, RELAXED):\n            return\n",
        new="cas(hive.winsets.words, at + A, kept, value, RELAXED)\n        return\n",
        breaks="an extreme whose compare-and-swap was lost is forgotten",
    ),
    _deferred(
        name="deferred-passed-before-updated",
        old="    update_deferred(hive, state.deferred, stream, moved_on)\n"
        "    if moved_on:\n        turn_to(hive, stream, timestamp)\n",
        new="    if moved_on:\n        turn_to(hive, stream, timestamp)\n"
        "    update_deferred(hive, state.deferred, stream, moved_on)\n",
        breaks="a thread says that it has passed a winset, and has updates of it put off",
    ),
    _deferred(
        name="deferred-ended-before-updated",
        old="    update_deferred(state.windows, state.deferred, stream, True)\n"
        "    end(state.windows, stream)\n",
        new="    end(state.windows, stream)\n"
        "    update_deferred(state.windows, state.deferred, stream, True)\n",
        breaks="a thread says that it has ended, and has updates put off",
    ),
    _panes(
        name="panes-left-before-updated",
        old="update_deferred(hive, state.deferred, stream, moved_on)",
        new="update_deferred(hive, state.deferred, stream, False)",
        breaks="what is put off is added to a later pane",
    ),
    _panes(
        name="panes-moved-before-passed",
        old="    place = first_before(hive, passed)\n",
        new="    place = first_before(hive, PASSED_ALL)\n",
        breaks="a pane is moved to the ring while an input may still add to it",
    ),
    _panes(
        name="panes-looked-at-before-passed",
        old="    passed = slowest(hive)\n    place = first_before(hive, passed)\n",
        new="    place = first_before(hive, slowest(hive))\n    passed = slowest(hive)\n",
        breaks="the list is looked at before what all inputs have passed, so a pane may be missed",
    ),
    _panes(
        name="panes-put-out-before-passed",
        old="        if end_pane(windows) > passed:\n",
        new="        if end_pane(windows) > PASSED_ALL:\n",
        breaks="a winset is put out while an input may still add to its last pane",
    ),
    _tumlmc(
        name="tumlmc-foreign-tuples-unreported",
        old="if has_moved_on(hive, thread, in_hand[mine]):",
        new="if has_moved_on(hive, thread, in_hand[mine]) and (\n"
        "        update_thread_of(in_hand[mine + 2], state.update_threads) == thread\n"
        "    ):",
        breaks="a thread without keys of its own never says that it is past a winset",
    ),
)
