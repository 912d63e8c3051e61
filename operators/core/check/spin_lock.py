"""Scenarios of spin locks: those of mutexes."""

from __future__ import annotations

from operators.core.check.mutex import ALONE, scenarios

__all__ = ["ALONE", "scenarios"]
