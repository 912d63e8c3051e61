"""Whether a history could have been: the order of its calls that one thread could explain.

A history is *linearizable* (Herlihy and Wing, TOPLAS 12(3), 1990) when each call can be placed at
one moment between its invocation and its response so that, in the order of those moments, every
answer is the one that the sequential object gives.

The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993): take a call
that no other one precedes, see whether its answer is right now, and go on with the rest; else take
it back. It meets the same place again and again by other ways, so each place is remembered, as Lowe
does ("Testing for linearizability", 2017): the set of the calls that were taken and the state that
they led to.

A call that never returned (``PENDING``) may take effect with any answer that the object gives, at
any time after it began, or never.

*Excuses.* Some answers are right only because of what other threads were in the middle of: a queue
without a free node is FULL although two tuples of three are inside, since the third node is in the
hands of a thread between two steps. No order of whole calls says that. A specification that allows
such answers has two attributes more: ``EXCUSABLE``, a set of answers, and ``excuse(call, beside)``,
which returns the answer of `call` with what is needed of the calls of other threads that overlap
it; ``accepts`` is given that in place of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from operators.check.history import NEVER, PENDING, HistoryOperation
from operators.check.scenario import Specification

# The widest drawing of a history that `explain` makes, in moments.
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
        The object before the first call; it is not changed.

    Returns
    -------
    list of int or None
        Places in `history`. Pending calls that need not have taken effect are left out.
    """
    places = sorted(range(len(history)), key=lambda place: history[place].began)
    calls = [history[place] for place in places]
    answers = _answers(calls, specification)
    count = len(calls)
    # The calls that are left, a circle with one place more as its beginning and end.
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


def _moves(
    calls: list[HistoryOperation], answers: list[Any], after: list[int], state: Specification
) -> Iterator[tuple[int, Specification]]:
    """Yield each call that may come next, with the object after it.

    It stands still while the search tries what follows. The circle is then what it was, because
    the search has taken back whatever it did.
    """
    end = len(calls)
    each = after[end]
    # They stand in the order of beginning: who began after another's end ends the search for more.
    earliest_end = NEVER
    met: set[int] = set()
    while each != end:
        thread, name, arguments, _, began, ended = calls[each]
        if began > earliest_end:
            return
        if ended < earliest_end:
            earliest_end = ended
        # Overlapping or not, a thread's calls come in the order in which it made them.
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


def _answers(calls: list[HistoryOperation], specification: Specification) -> list[Any]:
    """Return each call's answer as ``accepts`` is to see it."""
    excusable = getattr(specification, "EXCUSABLE", ())
    answers = [call.answer for call in calls]
    if excusable:
        for place, call in enumerate(calls):
            if call.answer in excusable:
                beside = [other for other in calls if _overlap(call, other)]
                answers[place] = specification.excuse(call, beside)
    return answers


def _overlap(call: HistoryOperation, other: HistoryOperation) -> bool:
    """Say whether two threads' calls may have been inside at once."""
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
            # Two columns a moment, so that the one between two of them shows.
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
