"""Which schedule comes next: depth first, with a reduction that is sound under the bound.

Steps on different words commute, and so do reads, so most schedules repeat others. Dynamic
partial-order reduction (Flanagan and Godefroid, POPL 2005) tries another thread before a step only
where a later step of that thread touches the same word. Under a bound that loses states: the other
order may cost a preemption that is not left, where an equivalent schedule that switches earlier
costs none. Bounded partial-order reduction (Coons, Musuvathi, McKinley, OOPSLA 2013) therefore also
tries the thread at the beginning of the *block* of steps that the other thread took in a row, where
a switch happens already, and looks at the last step of every other thread, not of one.

The real-time order of calls is part of a history even if no word depends on it: a structure that
forgets to look at a word gives a wrong answer in that order only. Where histories are compared with
a specification, the last step of a call therefore also depends on the first step of a call of
another thread, and the reverse. (With store buffers a call lasts until its stores have arrived. The
reduction does not follow that: it preserves all histories under sequential consistency only.)

Where a thread gives way a counted number of times and then goes on without the awaited write, the
moment of waking is an outcome that the reduction may leave out; an endless wait loses nothing.

# ASSUME: where the running thread cannot go on, a switch is free and all that could go on are
# tried; the published algorithm starts with one of them. That is more schedules, never fewer.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain

from operators.check.machine import Machine
from operators.check.schedules import Turns, turns_of
from operators.check.shared_memory import THREAD_BITS, THREAD_MASK

# Bits of a step's access to a word, and of a step's position in a call. Two steps depend on each
# other if together they have both bits.
READS, WRITES = 1, 3
BEGINS, ENDS = 1, 2
DEPEND = 3


class Path:
    """The choices of the last run, and the choices still to be tried at each step.

    Attributes
    ----------
    thread : list of int
        The thread of each step.
    runnable, done, wanted : list of int
        For each step the sets of threads that could take it, were tried, and are to be tried.
    spent : list of int
        Preemptions before each step.
    late, options : dict
        By step the draws, and the number of possibilities of each.
    told : bool
        Whether histories are compared with a specification.
    """

    def __init__(self, machine: Machine, preemptions: int, reduce: bool, stale: int) -> None:
        self.machine, self.preemptions, self.reduce = machine, preemptions, reduce
        self.stale = stale
        self.told = machine.scenario.specification is not None
        self.thread: list[int] = []
        self.runnable: list[int] = []
        self.done: list[int] = []
        self.wanted: list[int] = []
        self.spent: list[int] = []
        self.late: dict[int, list[int]] = {}
        self.options: dict[int, list[int]] = {}

    def plan(self) -> Turns:
        """Return the plan that repeats the current path."""
        return Turns(turns_of(self.thread))

    def extend(self) -> None:
        """Add the new steps of a run, and the reversals that they ask for."""
        machine = self.machine
        kept = len(self.thread)
        self.thread = [epoch & THREAD_MASK for epoch in machine.epochs]
        new = self.thread[kept:]
        self._extend_runnable()
        last = self.thread[kept - 1] if kept else -1
        spent = self.spent[-1] + self._cost(kept - 1) if kept else 0
        for step, thread in enumerate(new, start=kept):
            mask = self.runnable[step]
            free = last < 0 or not mask >> last & 1
            self.spent.append(spent)
            self.done.append(1 << thread)
            self.wanted.append(mask if free or not self.reduce else 1 << thread)
            if thread != last and not free:
                spent += 1
            last = thread
        for step, options in machine.options.items():
            if step >= kept - 1:
                late = self.late.get(step, [])
                self.options[step] = options
                self.late[step] = late + [0] * (len(options) - len(late))
        if self.reduce:
            self._ask_for_reversals(max(kept - 1, 0))

    def _extend_runnable(self) -> None:
        runnable, count = self.runnable, len(self.thread)
        masks = self.machine.masks
        for place, (step, mask) in enumerate(masks):
            end = masks[place + 1][0] if place + 1 < len(masks) else count
            begin = max(step, len(runnable))
            if end > begin:
                runnable.extend([mask] * (min(end, count) - begin))

    def _cost(self, step: int, thread: int | None = None) -> int:
        """Return 1 if taking `step` by a thread is a preemption, else 0."""
        thread = self.thread[step] if thread is None else thread
        if step == 0 or self.thread[step - 1] == thread:
            return 0
        return self.runnable[step] >> self.thread[step - 1] & 1

    def _ask_for_reversals(self, first: int) -> None:
        """Want the thread of each new step before the steps of others that it depends on."""
        trace, more = self.machine.trace, self.machine.more
        seen: dict[int, list[int]] = {}
        ends = self._ends_of_calls() if self.told else {}
        calls: list[int] = []
        previous = [-1] * self.machine.count
        self._asked: set[int] = set()
        self._starts = self._starts_of_blocks()
        for step, key in enumerate(trace):
            thread = self.thread[step]
            keys = (key, *more[step]) if step in more else (key,)
            for each in keys:
                word, kind = each | 1, WRITES if each & 1 else READS
                accesses = seen.get(word)
                if accesses is None:
                    seen[word] = [step << 2 | kind]
                    continue
                if step >= first:
                    self._reverse(accesses, thread, kind, previous[thread])
                accesses.append(step << 2 | kind)
            if step in ends:
                if step >= first:
                    self._reverse(calls, thread, ends[step], previous[thread])
                calls.append(step << 2 | ends[step])
            previous[thread] = step

    def _ends_of_calls(self) -> dict[int, int]:
        """Return the steps that are the first or the last of a call, or both.

        A call without any step counts as made right before the thread's next step (`judge.timed`).
        """
        own: list[list[int]] = [[] for _ in range(self.machine.count)]
        for step, thread in enumerate(self.thread):
            own[thread].append(step)
        ends: dict[int, int] = {}
        for call in self.machine.history:
            steps = own[call.thread]
            first, behind = bisect_left(steps, call.began), bisect_left(steps, call.ended)
            if first < len(steps):
                last = max(first, behind - 1)
                ends[steps[first]] = ends.get(steps[first], 0) | BEGINS
                ends[steps[last]] = ends.get(steps[last], 0) | ENDS
        return ends

    def _reverse(self, accesses: list[int], thread: int, kind: int, previous: int) -> None:
        """Want `thread` before the accesses that its step depends on.

        These are all accesses since the thread's previous step, because the step was the next one
        at each of them, and the last earlier access of each other thread.
        """
        met = 1 << thread
        for access in reversed(accesses):
            step = access >> 2
            other = self.thread[step]
            if (kind | access) & 3 != DEPEND or other == thread:
                continue
            # Before an unlock no thread can lock; the matching lock is the step to reverse.
            if step in self.machine.unlocks and not met >> other & 1:
                self._want(step, thread)
                continue
            if step < previous:
                if met >> other & 1:
                    continue
                met |= 1 << other
            elif step > previous:
                met |= 1 << other
            self._want(step, thread)

    def _want(self, step: int, thread: int) -> None:
        request = step << THREAD_BITS | thread
        if request in self._asked:
            return
        self._asked.add(request)
        self._want_at(step, thread)
        start = self._starts[step]
        self._want_at(start, thread)
        if start == step and step > 0:
            self._want_at(self._starts[step - 1], thread)

    def _starts_of_blocks(self) -> list[int]:
        """Return for each step the first step of the same thread's block."""
        starts: list[int] = []
        last = -1
        for step, thread in enumerate(self.thread):
            starts.append(starts[-1] if thread == last else step)
            last = thread
        return starts

    def _want_at(self, step: int, thread: int) -> None:
        if self.runnable[step] >> thread & 1:
            self.wanted[step] |= 1 << thread
        else:
            self.wanted[step] |= self.runnable[step]

    def retreat(self) -> bool:
        """Go back to the last choice with an untried value and change it; False if none has."""
        for step in range(len(self.runnable) - 1, -1, -1):
            if step in self.options and self._next_late(step):
                self._cut(step)
                return True
            left = (self.wanted[step] if self.reduce else self.runnable[step]) & ~self.done[step]
            left &= self.runnable[step]
            while left:
                thread = (left & -left).bit_length() - 1
                left &= left - 1
                self.done[step] |= 1 << thread
                if self.spent[step] + self._cost(step, thread) <= self.preemptions:
                    self.thread[step] = thread
                    self.late.pop(step, None)
                    self.options.pop(step, None)
                    self._cut(step)
                    return True
        return False

    def _next_late(self, step: int) -> bool:
        """Change the last draw of a step that has an untried possibility; False if none has."""
        draws, options = self.late[step], self.options[step]
        earlier = (draws for at, draws in self.late.items() if at < step)
        before = sum(map(bool, chain.from_iterable(earlier)))
        for place in range(len(options) - 1, -1, -1):
            if draws[place] + 1 < options[place]:
                if before + sum(map(bool, draws[:place])) < self.stale:
                    self.late[step] = [*draws[:place], draws[place] + 1]
                    return True
        return False

    def _cut(self, step: int) -> None:
        """Forget the steps after a changed step; the next run fills them in."""
        for each in (self.thread, self.runnable, self.done, self.wanted, self.spent):
            del each[step + 1 :]
        for each in (self.late, self.options):
            for later in [at for at in each if at > step]:
                del each[later]
