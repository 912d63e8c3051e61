"""Linearizability of a history: an order of the calls that explains every answer.

A history is *linearizable* (Herlihy and Wing, TOPLAS 12(3), 1990) when each call can be given one
moment between invocation and response, the linearization point, so that in the order of those
moments every answer is the one that the sequential object gives.

The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993): take a call
that no other one precedes, check the answer now, and go on with the rest; otherwise take the call
back. The search reaches the same position by many ways, so each is remembered, as in Lowe ("Testing
for linearizability", 2017): the set of the taken calls and the state that they led to.

A call that never returned (``PENDING``) may take effect with any answer that the object gives, at
any time after it began, or never.

*Excuses.* Some answers are right only because other threads are in the middle of a call: a queue
without a free node is FULL although only two tuples of three are inside, since a thread holds the
third node between two steps. No order of whole calls explains that. A specification that allows
such answers has two more attributes: ``EXCUSABLE``, a set of answers, and ``excuse(call, beside)``,
which returns the answer of `call` with the relevant facts about the overlapping calls of other
threads; ``accepts`` then receives that instead of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from operators.check.history import NEVER, PENDING, HistoryOperation
from operators.check.scenario import Specification

# The widest history that `explain` draws, in moments.
_DRAWN_MOMENTS = 60


def find_order(
    history: Sequence[HistoryOperation], specification: Specification
) -> list[int] | None:
    """Return an order of the calls that explains every answer, or None when there is none.

    Parameters
    ----------
    history : sequence of HistoryOperation
        In any sequence. Of two calls with ``a.ended < b.began`` `a` comes first; equal times
        overlap. Of two calls of one thread the one that began first comes first.
    specification : Specification
        The object before the first call; not changed.

    Returns
    -------
    list of int or None
        Indices into `history`. Pending calls that need not have taken effect are left out.
    """
    places = sorted(range(len(history)), key=lambda place: history[place].began)
    calls = [history[place] for place in places]
    answers = _answers(calls, specification, _overlap)
    count = len(calls)
    # The remaining calls, a circular list with one more entry as the beginning and end.
    after = [*range(1, count + 1), 0]
    before = [count, *range(count)]
    returned = [call.answer != PENDING for call in calls]
    left = sum(returned)
    taken = 0
    order: list[int] = []
    seen: set[tuple[int, Any]] = set()
    moves = [_moves(calls, answers, after, specification)]
    while left:
        for each, state in moves[-1]:
            place = (taken | 1 << each, state.key())
            if place not in seen:
                seen.add(place)
                after[before[each]], before[after[each]] = after[each], before[each]
                taken |= 1 << each
                left -= returned[each]
                order.append(each)
                moves.append(_moves(calls, answers, after, state))
                break
        else:
            moves.pop()
            if not order:
                return None
            each = order.pop()
            after[before[each]] = before[after[each]] = each
            taken ^= 1 << each
            left += returned[each]
    return [places[each] for each in order]


def find_order_after(
    history: Sequence[HistoryOperation], before: Sequence[int], specification: Specification
) -> list[int] | None:
    """Return an order that explains every answer, of calls that only some others precede.

    Parameters
    ----------
    history : sequence of HistoryOperation
        Calls that have all returned; when they did does not matter.
    before : sequence of int
        For each call the set of those that come before it, as bits.
    specification : Specification
        The object before the first call; not changed.
    """
    calls = list(history)
    number = {id(call): each for each, call in enumerate(calls)}

    def overlap(call: HistoryOperation, other: HistoryOperation) -> bool:
        one, two = number[id(call)], number[id(other)]
        apart = before[one] >> two & 1 or before[two] >> one & 1
        return call.thread != other.thread and not apart

    answers = _answers(calls, specification, overlap)
    seen: set[tuple[int, Any]] = set()
    left: list[tuple[int, list[int], Specification]] = [(0, [], specification)]
    while left:
        taken, order, state = left.pop()
        if len(order) == len(calls):
            return order
        for each, (thread, name, arguments, *_) in enumerate(calls):
            if taken >> each & 1 or before[each] & ~taken:
                continue
            following = state.copy()
            if following.accepts(thread, name, arguments, answers[each]):
                reached = taken | 1 << each
                if (reached, following.key()) not in seen:
                    seen.add((reached, following.key()))
                    left.append((reached, [*order, each], following))
    return None


def _moves(
    calls: list[HistoryOperation], answers: list[Any], after: list[int], state: Specification
) -> Iterator[tuple[int, Specification]]:
    """Yield each call that may come next, with the object after it.

    The iterator is suspended while the search tries the next calls. On resumption the list is
    unchanged, because the search has undone all changes.
    """
    end = len(calls)
    each = after[end]
    # Calls are sorted by beginning: one that began after another's end ends the scan.
    earliest_end = NEVER
    met: set[int] = set()
    while each != end:
        thread, name, arguments, _, began, ended = calls[each]
        if began > earliest_end:
            return
        if ended < earliest_end:
            earliest_end = ended
        # A thread's calls keep program order even if they overlap.
        if thread not in met:
            met.add(thread)
            if answers[each] == PENDING:
                choices = state.answers(thread, name, arguments)
            else:
                choices = (answers[each],)
            for answer in choices:
                following = state.copy()
                if following.accepts(thread, name, arguments, answer):
                    yield each, following
        each = after[each]


def _answers(
    calls: list[HistoryOperation],
    specification: Specification,
    overlap: Callable[[HistoryOperation, HistoryOperation], bool],
) -> list[Any]:
    """Return each call's answer as passed to ``accepts``."""
    excusable = getattr(specification, "EXCUSABLE", ())
    answers = [call.answer for call in calls]
    if excusable:
        for place, call in enumerate(calls):
            if call.answer in excusable:
                beside = [other for other in calls if overlap(call, other)]
                answers[place] = specification.excuse(call, beside)
    return answers


def _overlap(call: HistoryOperation, other: HistoryOperation) -> bool:
    """Return whether calls of two threads may overlap."""
    if call.thread == other.thread:
        return False
    return call.began <= other.ended and other.began <= call.ended


def explain(history: Sequence[HistoryOperation]) -> str:
    """Return a table of the calls in the order in which they began, with their intervals drawn.

    A moment is a time at which some call began or ended; a history with too many is not drawn.

    Examples
    --------
    >>> print(explain([HistoryOperation(0, "push", (7,), 1, 3, 9)]))
    thread  began  ended  call     answer
         0      3      9  push(7)  1       |-|
    """
    times = sorted({time for call in history for time in (call.began, call.ended)})
    moment = {time: place for place, time in enumerate(times)}
    table = [("thread", "began", "ended", "call", "answer", "")]
    for call in sorted(history, key=lambda call: (call.began, call.ended)):
        ended = "never" if call.ended == NEVER else str(call.ended)
        spelled = f"{call.name}({', '.join(map(str, call.arguments))})"
        bar = ""
        if len(times) <= _DRAWN_MOMENTS:
            # Two columns a moment, so that the time between two moments shows.
            first, last = 2 * moment[call.began], 2 * moment[call.ended]
            end = ">" if call.ended == NEVER else "|"
            bar = " " * first + "|" + "-" * (last - first - 1) + (end if last > first else "")
        table.append((str(call.thread), str(call.began), ended, spelled, str(call.answer), bar))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if column < 3 else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )
