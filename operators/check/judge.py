"""The judgement of a finished run: the answers, the final content, the words in quiescence.

Thousands of schedules end in a few dozen histories and states, so each of these is judged once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from operators.check.apart import apart
from operators.check.assertions import Assertions
from operators.check.history import HistoryOperation
from operators.check.linearizability import explain, find_order, find_order_after
from operators.check.machine import Machine
from operators.check.scenario import EndlessLoop, Failure, Scenario, Specification, first_word
from operators.check.shared_memory import THREAD_MASK, digest_of, settle
from operators.check.weak_memory import WeakMachine


class Judge:
    """Judges the runs of one scenario, each history and state once.

    Parameters
    ----------
    scenario : Scenario
    buffered : bool
        Whether stores arrive late.

    Attributes
    ----------
    histories, states, rests : set
        Those judged and found right: histories, states at the end, and states at rest before it.
    assertions : Assertions
        On how many of the states each assertion of the invariants could have failed.
    """

    def __init__(self, scenario: Scenario, buffered: bool = False) -> None:
        self.scenario, self.buffered = scenario, buffered
        self.histories: set[tuple] = set()
        self.states: set[tuple] = set()
        self.rests: set[bytes] = set()
        self.assertions = Assertions()

    def judge(self, machine: Machine) -> None:
        """Judge a run whose threads have all ended.

        Raises
        ------
        Failure
        """
        scenario = self.scenario
        history = timed(machine.history, machine.epochs, machine.landed)
        if scenario.specification is not None:
            self._judge_answers(machine, history)
        if scenario.finish is None and scenario.invariants is None:
            return
        by_thread = sorted(history, key=lambda o: o.thread)
        answers = tuple((o.thread, o.began, o.answer) for o in by_thread)
        state = answers, digest_of(machine.words)
        if state not in self.states:
            self._finish(machine, history)
            self.states.add(state)

    def _judge_answers(self, machine: Machine, history: list[HistoryOperation]) -> None:
        """Judge the answers, each history once."""
        specification = self.scenario.specification()
        if isinstance(machine, WeakMachine):
            # In the order in which the calls ended, as `ended_before` has them.
            judged = self._judged(specification, machine.history)
            kept, calls = list(judged), list(judged.values())
            before = tuple(machine.ended_before(number, kept) for number in kept)
            key = (*((o.thread, o.name, o.arguments, o.answer) for o in calls), before)
        else:
            calls = list(self._judged(specification, history).values())
            before, key = None, tuple(calls)
        if key in self.histories:
            return
        if before is None:
            order = find_order(calls, specification)
        else:
            order = find_order_after(calls, before, specification)
        if order is None:
            raise Failure(
                "linearizability",
                f"no sequential order explains these answers:\n{explain(calls)}",
            )
        self.histories.add(key)

    def _judged(
        self, specification: Specification, history: Sequence[HistoryOperation]
    ) -> dict[int, HistoryOperation]:
        """Return the calls to be judged by their numbers, with the answers to be judged.

        Where stores are late, calls that declined are left out, unless the specification says what
        they left behind (``out_of_date``).
        """
        declines = self.scenario.declines if self.buffered else ()
        left_behind = getattr(specification, "out_of_date", None)
        found = {}
        for number, each in enumerate(history):
            answer = each.answer
            if first_word(answer) in declines:
                answer = left_behind(each.name) if left_behind is not None else None
                if answer is None:
                    continue
            found[number] = each._replace(answer=answer)
        return found

    def judge_rest(self, machine: Machine) -> None:
        """Judge the words while no thread is inside a call, each state once.

        Raises
        ------
        Failure
        """
        invariants = self.scenario.invariants
        if invariants is None or not self.scenario.rests:
            return
        state = digest_of(machine.words)
        if state in self.rests:
            return
        settle(machine.pairs)
        machine.remove()
        try:
            with apart("the judgement at rest"):
                self.assertions.judge(invariants, machine.original)
        except AssertionError as error:
            raise Failure("invariant", f"at rest between calls, {error}") from error
        finally:
            machine.install()
        self.rests.add(state)

    def _finish(self, machine: Machine, history: list[HistoryOperation]) -> None:
        settle(machine.pairs)
        machine.remove()
        try:
            finish, invariants = self.scenario.finish, self.scenario.invariants
            assertions = (invariants and self.assertions.judge, (invariants, machine.original))
            for check, function, arguments in (
                ("invariant", *(assertions if self.scenario.before_finish else (None, ()))),
                ("result", finish, (machine.original, history)),
                ("invariant", *assertions),
            ):
                if function is None:
                    continue
                try:
                    with apart("the draining of the structure"):
                        function(*arguments)
                except EndlessLoop:
                    raise
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

    A call can have been invoked just before the first step and have returned just after the last: a
    thread does nothing visible to others before and after them. A call without any step can have
    been made as late as just before the thread's next step. A call lasts until its stores have
    arrived: before that, it has happened for the calling thread only.

    Parameters
    ----------
    history : sequence of HistoryOperation
        Times are counts of steps taken.
    epochs : sequence of int
        For each step the thread, as in `Machine`.
    landed : mapping of int to int
        By step that stored, the step at which the store arrived.
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
