"""Suites that apply to every variant: cases, and the reasons for leaving a variant out of a case.

A case is a function of a variant. Nothing is skipped while the tests run: a case says beforehand
which variants it excludes and why, so that a variant excluded from every case is found, and fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from operators.contract import Variant

Body = Callable[[Variant], None]


@dataclass(frozen=True)
class Case:
    """One requirement on every variant, except those that it excludes.

    A `full` case is a product of settings, each of which another case covers in some combination.
    """

    name: str
    body: Body
    reason_against: Callable[[Variant], str | None]
    full: bool


@dataclass
class Suite:
    """The cases of a family."""

    family: str
    cases: list[Case] = field(default_factory=list)

    def case(
        self,
        reason_against: Callable[[Variant], str | None] = lambda variant: None,
        *,
        full: bool = False,
    ) -> Callable[[Body], Body]:
        """Add a function as a case; `reason_against` returns why it excludes a variant, if so."""

        def add(body: Body) -> Body:
            self.cases.append(Case(body.__name__, body, reason_against, full))
            return body

        return add

    def cases_for(self, variant: Variant) -> list[Case]:
        return [case for case in self.cases if case.reason_against(variant) is None]

    def left_out(self, variants: Iterable[Variant]) -> dict[str, list[str]]:
        """Return the variants excluded from all cases of a normal run, each with the reasons."""
        return {
            variant.id: [
                f"{c.name}: {c.reason_against(variant) or 'in the product only'}"
                for c in self.cases
            ]
            for variant in variants
            if all(case.full for case in self.cases_for(variant))
        }

    def parameters(self, variants: Iterable[Variant]) -> list:
        """Return (variant, case) for pytest, named by both, with one worker for each variant.

        Two workers with the same variant would compile the same kernels.
        """
        return [
            pytest.param(
                variant,
                case,
                id=f"{variant.id}-{case.name}",
                marks=[pytest.mark.xdist_group(variant.id), *([pytest.mark.full] * case.full)],
            )
            for variant in variants
            for case in self.cases_for(variant)
        ]
