"""The three-step procedure: the programs of every theta join of one thread."""

from __future__ import annotations

from operators.theta_join.check import scenarios as every_join
from operators.theta_join.check.scenarios import scenarios

__all__ = ["ALONE", "scenarios"]

ALONE = every_join.ALONE | {"step": "It has no processing threads: whoever takes pairs joins."}
