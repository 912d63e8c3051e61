"""Who only asks: each exported operation, called by a thread that calls nothing else.

A thread that asks whether there is room and never puts anything in has no other call that would
order memory for it: what it is told must be true and visible by that one call. Here it is measured
which operations a program's threads call alone, and whether such a thread then reaches words itself
that other threads reach, too: it reads what it was told is ready, or writes into what it was told
is free.

A family declares the rest as ``ALONE``, in the module that has its scenarios: by operation
`scenario.ITSELF`, where the call itself moves the words and the answers are judged, or a sentence
that says why no thread calls it alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from operators.check.families import declared_for, scenarios
from operators.check.machine import Machine
from operators.check.memories import make_machine
from operators.check.pct import Walk
from operators.check.scenario import ITSELF, Scenario
from operators.check.schedules import Turns
from operators.check.shared_memory import THREAD_MASK, Words
from operators.contract import Variant

# What makes a structure and looks at it at rest is called by no thread.
_NOT_OF_THREADS = ("make_state", "check_invariants")
# Schedules of a program until one is seen in which the thread was told that it may go on.
_SCHEDULES = 20


@dataclass
class Seen:
    """The threads that called one operation and no other.

    Attributes
    ----------
    alone : list of str
        The programs with such a thread.
    goes_on : list of str
        Those of them in which the thread then reached a word itself that another thread reached.
    """

    alone: list[str] = field(default_factory=list)
    goes_on: list[str] = field(default_factory=list)


def declared(variant: Variant) -> Mapping[str, str]:
    """Return ``ALONE`` of the module with the variant's scenarios."""
    return declared_for(variant, "ALONE")


def watched(variant: Variant) -> dict[str, Seen]:
    """Run the programs of a variant, and return by operation which threads called it alone.

    The operations are those that the variant's declaration exports; ``make_step`` exports ``step``,
    or the fields of what it makes. Of each program, deep or not, at most some schedules are run.
    """
    spy = _Spy()
    found = {_without_make(name): Seen() for name, _ in _operations(variant)}
    itself = {name for name, how in declared(variant).items() if how == ITSELF}
    with spy.inside(variant) as wrapped:
        for scenario in scenarios(wrapped):
            _watch(scenario, spy, found, itself)
    for maker, fields in spy.made.items():
        del found[maker]
        found |= {name: found.get(name, Seen()) for name in fields}
    return found


def gaps(variant: Variant) -> list[str]:
    """Return a line for each exported operation with neither a program nor a reason.

    A declaration of an operation that does not exist, and a reason against one that a thread does
    call alone, are lines too.
    """
    how, seen = declared(variant), watched(variant)
    # A family declares optional operations, too, which not every structure has.
    known = {*seen, *map(_without_make, variant.operations._fields)}
    lines = [f"{name} is declared, and is no operation" for name in sorted(set(how) - known)]
    for name, each in seen.items():
        reason = how.get(name)
        if reason not in (None, ITSELF):
            if each.goes_on:
                lines.append(f"{name} has a reason, and {each.goes_on[0]} calls it alone")
        elif not each.alone:
            lines.append(f"no thread calls {name} alone")
        elif reason is None and not each.goes_on:
            lines.append(
                f"a thread of {each.alone[0]} calls {name} alone, and reaches no word after that"
                " which another thread reaches"
            )
    return lines


# --- the operations ------------------------------------------------------------------------------


def _operations(variant: Variant) -> Iterator[tuple[str, Any]]:
    """Yield the operations by name; a group of them, as ``calls``, one by one."""
    for name, value in variant.operations._asdict().items():
        if name in _NOT_OF_THREADS:
            continue
        if isinstance(value, Mapping):
            yield from value.items()
        elif callable(value):
            yield name, value


def _without_make(name: str) -> str:
    return name.removeprefix("make_")


class _Spy:
    """Notes which operations each thread of a running machine calls from outside of them."""

    def __init__(self) -> None:
        self.machine: Machine | None = None
        # By what a maker is named after, the operations in a group that it makes.
        self.made: dict[str, tuple[str, ...]] = {}
        self.begin()

    def begin(self) -> None:
        """Forget what was seen."""
        self.called: dict[int, set[str]] = {}
        self.depth: dict[int, int] = {}
        # By thread: the first of its steps that is not counted yet, once an operation has ended.
        self.left: dict[int, int] = {}
        # The words that each thread reached itself, after an operation; and who reached a word.
        self.after: dict[int, set[int]] = {}
        self.reached: dict[int, int] = {}

    def inside(self, variant: Variant) -> _Inside:
        """Return a context in which the operations of a variant tell this object of each call."""
        return _Inside(variant, self)

    def watching(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return an operation that notes who calls it; of a maker, one whose product does."""
        if name.startswith("make_"):
            return lambda *given, **more: self._product(name, function(*given, **more))

        def call(*given: Any, **more: Any) -> Any:
            if self.machine is None:
                return function(*given, **more)
            thread = self.machine.thread
            self._count(thread)
            if not self.depth.get(thread, 0):
                self.called.setdefault(thread, set()).add(name)
            self.depth[thread] = self.depth.get(thread, 0) + 1
            try:
                return function(*given, **more)
            finally:
                self.depth[thread] -= 1
                self.left[thread] = len(self.machine.trace)

        return call

    def _product(self, name: str, made: Any) -> Any:
        if hasattr(made, "_fields"):
            self.made[_without_make(name)] = made._fields
            return type(made)(*map(self.watching, made._fields, made))
        return self.watching(_without_make(name), made)

    def plain(self, key: int) -> None:
        """Note a plain access of the running thread."""
        if self.machine is None:
            return
        thread = self.machine.thread
        self.reached[key] = self.reached.get(key, 0) | 1 << thread
        if thread in self.left and not self.depth.get(thread, 0):
            self.after.setdefault(thread, set()).add(key)

    def _count(self, thread: int) -> None:
        """Note the steps of a thread since its last operation ended."""
        if thread not in self.left or self.depth.get(thread, 0):
            return
        machine, since = self.machine, self.left[thread]
        for key, epoch in zip(machine.trace[since:], machine.epochs[since:], strict=True):
            if epoch & THREAD_MASK == thread:
                self.after.setdefault(thread, set()).add(key & ~1)
        self.left[thread] = len(machine.trace)

    def end(self) -> None:
        """Count the last steps of a finished run."""
        for thread in list(self.left):
            self._count(thread)
        for key, epoch in zip(self.machine.trace, self.machine.epochs, strict=True):
            self.reached[key & ~1] = self.reached.get(key & ~1, 0) | 1 << (epoch & THREAD_MASK)

    def shared(self, thread: int) -> bool:
        """Say whether a thread reached a word itself that another thread reached as well."""
        return any(self.reached[key] & ~(1 << thread) for key in self.after.get(thread, ()))


class _Inside:
    """Puts a spy around the operations of a variant, wherever a module has one by name."""

    def __init__(self, variant: Variant, spy: _Spy) -> None:
        self._variant, self._spy = variant, spy
        self._put: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Variant:
        """Return the variant with operations that tell the spy."""
        spy, operations = self._spy, self._variant.operations
        around = {
            name: spy.watching(name, function) for name, function in _operations(self._variant)
        }
        fields = {
            name: {each: around[each] for each in value} if isinstance(value, Mapping) else value
            for name, value in operations._asdict().items()
        }
        fields |= {name: around[name] for name in fields if name in around}
        by_function = {id(function): around[name] for name, function in _operations(self._variant)}
        for module in [m for n, m in sorted(sys.modules.items()) if n.startswith("operators.")]:
            for name, value in list(vars(module).items()):
                if id(value) in by_function and callable(value):
                    self._put.append((module, name, value))
                    setattr(module, name, by_function[id(value)])
        return replace(self._variant, operations=type(operations)(**fields))

    def __exit__(self, *raised: object) -> None:
        """Restore the modules."""
        for module, name, value in self._put:
            setattr(module, name, value)


# --- the programs --------------------------------------------------------------------------------


def _watched_words(spy: _Spy) -> type[Words]:
    """Return a class of words that tell a spy of each plain access."""

    class Watched(Words):
        __slots__ = ()

        def __getitem__(self, index):
            if index.__class__ is not slice:
                spy.plain(self.base + 2 * (index % len(self)))
            return super().__getitem__(index)

        def __setitem__(self, index, value):
            if index.__class__ is not slice:
                spy.plain(self.base + 2 * (index % len(self)))
            super().__setitem__(index, value)

    return Watched


def _watch(scenario: Scenario, spy: _Spy, found: dict[str, Seen], itself: set[str]) -> None:
    """Run a program under some schedules, and note the operations that its threads call alone."""
    machine = make_machine(scenario, "sc", ())
    kind, dice = _watched_words(spy), Random(1)
    for words in machine.words:
        # Racy words are reached by steps, which the machine notes.
        if type(words) is Words:
            words.__class__ = kind
    for turn in range(_SCHEDULES):
        spy.begin()
        with machine.installed():
            spy.machine = machine
            try:
                machine.run(Walk(dice) if turn else Turns({}))
                spy.end()
            finally:
                spy.machine = None
        wanted = False
        for thread, names in spy.called.items():
            if len(names) > 1:
                continue
            seen = found.setdefault(next(iter(names)), Seen())
            if scenario.name not in seen.alone:
                seen.alone.append(scenario.name)
            if spy.shared(thread):
                seen.goes_on += [scenario.name] * (scenario.name not in seen.goes_on)
            elif not (names <= itself or seen.goes_on):
                wanted = True
        if not wanted:
            return
