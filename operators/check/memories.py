"""The kinds of memory, by the names that schedule strings have for them."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from operators.check.buffers import BufferedMachine
from operators.check.machine import Machine
from operators.check.scenario import Scenario
from operators.check.weak_memory import WeakMachine

# From the strongest on: each allows whatever the one before it allows, but that buffers let all
# threads see stores arrive in one order and RC11 lets stores be read in none that all agree on.
MEMORIES = ("sc", "tso", "pso", "rc11")


def make_machine(scenario: Scenario, memory: str, modules: Sequence[ModuleType] = ()) -> Machine:
    """Return the machine of a kind of memory, one of ``MEMORIES``."""
    if memory == "sc":
        return Machine(scenario, modules)
    if memory == "rc11":
        return WeakMachine(scenario, modules)
    return BufferedMachine(scenario, memory == "tso", modules)
