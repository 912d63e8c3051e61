"""Mutants of the parallel join.

Some memory orders can be made RELAXED without any tried schedule of a small program failing:

* RELEASE of EDGE, in ``move_edge``: tuples before the edge were inserted before the RELEASE of DONE
  that the mover acquires, and are read under locks or versions, so there is no race. The same holds
  where held tuples are entered.
* RELEASE of the rooms' ``freed``, in ``give_tuple``: it orders earlier loads, and the memory here
  (``operators.check.buffers``) delays no load.
* RELEASE of HORIZON and HEAD, in ``pass_task``: a failure is not excluded. Giving back the output
  orders the same stores a few steps later, so a schedule would have to stop in between.
"""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_merging = partial(Mutant, variant="join/pim-tree-parallel", module="operators.join.merging")
_queue = partial(Mutant, variant="join/olc-tree", module="operators.join.work_queue")
_merged_queue = partial(_queue, variant="join/pim-tree-parallel")
_given = partial(Mutant, variant="join/olc-tree", module="operators.join.propagation")
_join = partial(Mutant, variant="join/olc-tree", module="operators.join.shared_join")

MUTANTS = (
    _queue(
        name="shared-join-edge-one-too-far",
        old="                store(words, EDGE + side, words[PASSED + side], RELEASE)\n",
        new="                store(words, EDGE + side, words[PASSED + side] + 1, RELEASE)\n",
        breaks="the index is asked for a tuple that is not there yet, and the ring is not",
    ),
    _queue(
        name="shared-join-edge-behind-tasks-not-done",
        old="== task + 1:\n        line = task_words(queue, task)\n",
        new="== task + 1 or task < load(words, NEXT_TASK, RELAXED):\n"
        "        line = task_words(queue, task)\n",
        breaks="the edge passes tuples that are taken and not indexed",
    ),
    _join(
        name="shared-join-window-as-of-processing",
        old="        low, high = low_of(shared, key), high_of(shared, key)\n",
        new="        low, high = low_of(shared, key), high_of(shared, key)\n"
        "        begin = max(shared.queue.words[NEXT] - shared.queue.window, 0)\n",
        breaks="t_e is what has left by the time of processing, and not by that of taking",
    ),
    _queue(
        name="shared-join-delete-not-delayed",
        old="    asked = load(queue.words, HORIZON + side, ACQUIRE)\n",
        new="    asked = horizon_of(queue, side)\n",
        breaks="a tuple is removed when it leaves the window, while others may ask for it",
    ),
    _queue(
        name="shared-join-removed-before-it-is-there",
        old="    return min(asked, load(queue.words, EDGE + side, ACQUIRE))\n",
        new="    return asked\n",
        breaks="a tuple is removed before it is inserted, and stays",
    ),
    _queue(
        name="shared-join-runs-ahead-of-the-edge",
        old="    behind_all = min(load(words, HEAD, ACQUIRE), load(words, EDGE_TASK, ACQUIRE))\n",
        new="    behind_all = load(words, HEAD, ACQUIRE)\n",
        breaks="the words of a task that is not done are used for another one",
    ),
    _queue(
        name="shared-join-two-take-at-once",
        old="and exchange(words, lock, 1, ACQUIRE) == 0\n",
        new="and exchange(words, lock, 1, ACQUIRE) < 2\n",
        breaks="two threads have the mutex, the edge or the output at once",
    ),
    _given(
        name="shared-join-completed-before-its-results",
        old="    if count > 0:\n        copy_positions(found, 0, count, queue.rooms, begin)\n",
        new="    early = (task & queue.task_mask) * queue.stride + at\n"
        "    store(queue.statuses, early, status_of(number, count, place), RELEASE)\n"
        "    if count > 0:\n        copy_positions(found, 0, count, queue.rooms, begin)\n",
        breaks="a tuple is given out before its results are written",
    ),
    _given(
        name="shared-join-output-without-lock",
        old="            words[OWNS] = try_lock(queue.words, OUTPUT_LOCK)\n",
        new="            words[OWNS] = 1\n",
        breaks="two threads give out at once",
    ),
    _given(
        name="shared-join-room-used-again",
        old="        if end - words[FREED] > room:\n            return -1\n",
        new="        if count > room:\n            return -1\n",
        breaks="results are written over others that were not given out",
    ),
    _merging(
        name="shared-join-held-tuples-not-entered",
        old="            words[ENTERED] = queue.words[NEXT + side]\n",
        new="            words[ENTERED] = queue.words[NEXT + side] + 1\n",
        breaks="the first of the tuples that a merge holds is never indexed",
    ),
    _merging(
        name="shared-join-next-merge-too-early",
        old="        shared[HELD + side] = 0\n",
        new="        shared[HELD + side] = 0\n        shared[MERGING + side] = 0\n",
        breaks="the next merge begins while tuples of the last one wait to be entered",
    ),
    _merging(
        name="shared-join-assigned-before-the-swap",
        old="        store(shared, HELD_BACK, shared[HELD_BACK] + 1, RELAXED)\n",
        new="        store(shared, HELD_BACK, shared[HELD_BACK], RELAXED)\n",
        breaks="tasks are taken while the new index takes the place of the old one",
    ),
    _merging(
        name="shared-join-begins-while-tasks-run",
        old="    if edge != taken and not edge_may_move(queue):\n        return False\n"
        "    if not try_lock(words, EDGE_LOCK):\n"
        '        mark("merging: another thread moves the edge as tasks end")\n'
        "        return False\n"
        "    move_edge(queue)\n"
        "    none = words[EDGE_TASK] == load(words, NEXT_TASK, RELAXED)\n",
        new="    if not try_lock(words, EDGE_LOCK):\n"
        "        return False\n"
        "    move_edge(queue)\n"
        "    none = True\n",
        breaks="a merge begins, and swaps, while tasks are active",
    ),
    _merging(
        name="shared-join-edge-moves-in-a-merge",
        old="        words[FROZEN + side] = 1\n",
        new="        words[FROZEN + side] = 0\n",
        breaks="the edge passes tuples that a merge holds back",
    ),
    _merged_queue(
        name="shared-join-holds-without-bound",
        old="    return waiting + queue.task_size > queue.held_most\n",
        new="    return False\n",
        breaks="a merge holds back more tuples than there is room for",
    ),
    _queue(
        name="shared-join-time-horizon-one-too-far",
        old="words[CURSOR + side])\n",
        new="words[CURSOR + side] + 1)\n",
        breaks="a tuple is removed that the next one of a time window may ask for",
    ),
    _queue(
        name="shared-join-time-window-one-short",
        old=">= time - queue.span:\n",
        new="> time - queue.span:\n",
        breaks="a tuple that is as old as may be is not found",
    ),
    _merging(
        name="shared-join-pieces-before-their-stage",
        old="    store(merges, base + TICKET, ticket, RELEASE)\n",
        new="    store(merges, base + TICKET, ticket, RELAXED)\n",
        breaks="a thread makes a piece before it sees what the stage needs",
    ),
    _merging(
        name="shared-join-stage-ends-before-its-pieces",
        old="        fetch_add(words, base + FINISHED, 1, RELEASE)\n",
        new="        fetch_add(words, base + FINISHED, 1, RELAXED)\n",
        breaks="the merging thread goes on before it sees what the pieces wrote",
    ),
    _merging(
        name="shared-join-piece-made-twice",
        old="        if not cas(words, base + TICKET, ticket, ticket + 1, RELAXED):\n",
        new="        if cas(words, base + TICKET, ticket, ticket + 1, RELAXED) and False:\n",
        breaks="two threads make the same piece of a merge",
    ),
)
