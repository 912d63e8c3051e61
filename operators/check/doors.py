"""How a machine takes the place of the atomics: by name, in every module of ``operators``."""

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
_OF_MARKS = ("mark", "spoil")


class Doors:
    """What a machine's functions are reached by.

    The source calls ``load`` by a name in its own module, so that name is bound to the machine's
    function while it runs; nothing is looked up or asked on the way.

    Attributes
    ----------
    wrap : callable, optional
        Put around each function as it is installed (``trace``).
    """

    # Which one stands in the place of the atomics.
    present: Doors | None = None
    wrap: Callable[[str, Any], Any] | None = None

    def find_names(self, modules: Sequence[ModuleType]) -> None:
        """Look for the names in the loaded modules of ``operators`` and in `modules`."""
        self._replaced = _replaced(modules)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let every loaded module of ``operators`` reach this machine by the names of atomics."""
        self.install()
        try:
            yield
        finally:
            self.remove()

    def install(self) -> None:
        """Put this machine in the place of the atomics, or of another machine."""
        if Doors.present is self:
            return
        for module, name, _ in self._replaced:
            function = getattr(self, name)
            setattr(module, name, self.wrap(name, function) if self.wrap else function)
        Doors.present = self

    def remove(self) -> None:
        """Put the atomics back."""
        for module, name, function in self._replaced:
            setattr(module, name, function)
        Doors.present = None


def _replaced(modules: Sequence[ModuleType]) -> list[tuple[ModuleType, str, Any]]:
    """Return where the functions of atomics and marks are found: module, name, function."""
    originals = {name: getattr(atomics, name) for name in _OF_ATOMICS}
    originals |= {name: getattr(marks, name) for name in _OF_MARKS}
    places = [m for n, m in sorted(sys.modules.items()) if n.startswith("operators.")]
    return [
        (module, name, function)
        for module in [*places, *modules]
        for name, function in originals.items()
        if getattr(module, name, None) is function
    ]
