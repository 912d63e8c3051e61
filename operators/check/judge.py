"""What a finished run must satisfy: its answers, what is left in the structure, its words at rest.

Thousands of schedules end in a few dozen histories and states, so each is judged once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from operators.check.history import HistoryOperation
from operators.check.linearizability import explain, find_order
from operators.check.machine import Machine
from operators.check.scenario import Failure, Scenario, first_word
from operators.check.words import THREAD_MASK, settle


class Judge:
    """Judges the runs of one scenario, and remembers what it has seen.

    Parameters
    ----------
    scenario : Scenario
    buffered : bool
        Whether stores arrive late.

    Attributes
    ----------
    histories, states : set
        What was judged and found right.
    """

    def __init__(self, scenario: Scenario, buffered: bool = False) -> None:
        self.scenario, self.buffered = scenario, buffered
        self.histories: set[tuple] = set()
        self.states: set[tuple] = set()

    def judge(self, machine: Machine) -> None:
        """Judge a run whose threads have all ended.

        Raises
        ------
        Failure
        """
        scenario = self.scenario
        history = timed(machine.history, machine.epochs, machine.landed)
        if scenario.specification is not None:
            told = history
            if self.buffered and scenario.declines:
                told = [o for o in history if first_word(o.answer) not in scenario.declines]
            key = tuple(told)
            if key not in self.histories:
                if find_order(told, scenario.specification()) is None:
                    raise Failure(
                        "linearizability",
                        f"no sequential order explains these answers:\n{explain(told)}",
                    )
                self.histories.add(key)
        if scenario.finish is None and scenario.invariants is None:
            return
        by_thread = sorted(history, key=lambda o: o.thread)
        answers = tuple((o.thread, o.began, o.answer) for o in by_thread)
        state = (answers, *map(tuple, machine.words))
        if state not in self.states:
            self._finish(machine, history)
            self.states.add(state)

    def _finish(self, machine: Machine, history: list[HistoryOperation]) -> None:
        settle(machine.pairs)
        machine.remove()
        try:
            for check, function, arguments in (
                ("result", self.scenario.finish, (machine.original, history)),
                ("invariant", self.scenario.invariants, (machine.original,)),
            ):
                if function is None:
                    continue
                try:
                    function(*arguments)
                except AssertionError as error:
                    raise Failure(check, str(error) or "an assertion without words") from error
                except Exception as error:
                    what = f"at the end, {type(error).__name__}: {error}"
                    raise Failure("exception", what) from error
        finally:
            machine.install()


def timed(
    history: Sequence[HistoryOperation], epochs: Sequence[int], landed: Mapping[int, int]
) -> list[HistoryOperation]:
    """Return the calls with the shortest intervals that the run allows, as ranks.

    A call can have been invoked just before its first step and have returned just after its last: a
    thread does nothing that others see before and behind them. A call without any step can have
    been made as late as just before its thread's next one. A call lasts until what it stored has
    arrived: before that, it has happened for its own thread only.

    Parameters
    ----------
    history : sequence of HistoryOperation
        Times are counts of steps taken.
    epochs : sequence of int
        Of each step the thread, as in `Machine`.
    landed : mapping of int to int
        By step that stored, when that arrived.
    """
    steps: list[list[int]] = [[] for _ in range(THREAD_MASK)]
    for step, epoch in enumerate(epochs):
        steps[epoch & THREAD_MASK].append(step)
    spans = []
    for operation in history:
        own = steps[operation.thread]
        place = bisect_left(own, operation.began)
        behind = bisect_left(own, operation.ended)
        if place == behind:
            next_one = own[place] if place < len(own) else len(epochs)
            spans.append((2 * next_one - 1, 2 * next_one - 1))
            continue
        last = own[behind - 1]
        if landed:
            last = max(last, *(landed.get(step, 0) for step in own[place:behind]))
        spans.append((2 * own[place], 2 * last + 1))
    ranks = {time: rank for rank, time in enumerate(sorted({t for span in spans for t in span}))}
    found = [
        o._replace(began=ranks[began], ended=ranks[ended])
        for o, (began, ended) in zip(history, spans, strict=True)
    ]
    return sorted(found, key=lambda o: (o.began, o.thread))
