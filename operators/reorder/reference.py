"""A reorder buffer without threads: the oracle."""

from __future__ import annotations

from collections.abc import Mapping


class ReferenceBuffer:
    """Outputs by serial number; each is sent as soon as order allows.

    Examples
    --------
    >>> buffer = ReferenceBuffer(2)
    >>> buffer.send(2, 20), buffer.send(3, 30), buffer.send(1, 10)
    (True, False, True)
    >>> buffer.sent
    [10, 20]
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._waiting: dict[int, int] = {}
        self.sent: list[int] = []

    def send(self, serial: int, output: int) -> bool:
        """Take an output and send all that are next; False when it is too far ahead."""
        if serial - len(self.sent) > self._slots:
            return False
        self._waiting[serial] = output
        while len(self.sent) + 1 in self._waiting:
            self.sent.append(self._waiting.pop(len(self.sent) + 1))
        return True


def in_order(outputs: Mapping[int, int]) -> list[int]:
    """Return the outputs of serial numbers 1, 2, 3, ... as far as there is no gap: the oracle."""
    found = []
    while len(found) + 1 in outputs:
        found.append(outputs[len(found) + 1])
    return found
