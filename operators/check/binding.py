"""Binding of a machine to the names of the atomics, in every module of ``operators``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from operators.core import atomics, marks

_OF_ATOMICS = (
    "load", "store", "cas", "fetch_add", "exchange", "fence", "pause", "yield_thread", "sleep_us",
    "lock", "unlock", "now", "thread_now",
)  # fmt: skip
_OF_MARKS = ("mark", "poison", "take_over")


class Doors:
    """The names through which production code reaches a machine's functions.

    The source calls ``load`` by a name in the calling module. That name is rebound to the machine's
    function during a run, so a call needs no further look-up.

    Attributes
    ----------
    wrap : callable, optional
        Applied to each function as it is installed (``trace``).
    """

    # The machine that is installed instead of the atomics.
    present: Doors | None = None
    wrap: Callable[[str, Any], Any] | None = None

    def find_names(self, modules: Sequence[ModuleType]) -> None:
        """Search the loaded modules of ``operators`` and `modules` for the names."""
        self._replaced = _replaced(modules)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Bind the names of atomics in every loaded module of ``operators`` to this machine."""
        self.install()
        try:
            yield
        finally:
            self.remove()

    def install(self) -> None:
        """Bind the names of atomics to this machine, instead of the atomics or another machine."""
        if Doors.present is self:
            return
        for module, name, _ in self._replaced:
            function = getattr(self, name)
            setattr(module, name, self.wrap(name, function) if self.wrap else function)
        Doors.present = self

    def remove(self) -> None:
        """Restore the atomics."""
        for module, name, function in self._replaced:
            setattr(module, name, function)
        Doors.present = None


def _replaced(modules: Sequence[ModuleType]) -> list[tuple[ModuleType, str, Any]]:
    """Return the names bound to functions of atomics and marks: module, name, function."""
    originals = {name: getattr(atomics, name) for name in _OF_ATOMICS}
    originals |= {name: getattr(marks, name) for name in _OF_MARKS}
    places = [m for n, m in sorted(sys.modules.items()) if n.startswith("operators.")]
    return [
        (module, name, function)
        for module in [*places, *modules]
        for name, function in originals.items()
        if getattr(module, name, None) is function
    ]
