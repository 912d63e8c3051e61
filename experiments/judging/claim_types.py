"""The types of claims: which fields the claims of each comparator have.

``Claim`` has the fields of all claims, and ``Comparison`` adds direction and tolerance, which only
claims of ``absolute`` lack. ``reads`` names the points that a claim is judged by; it is a separate
record, since most types differ in nothing else. A type that only one comparator has is defined next
to it. ``docs/claims.md`` describes every field, and ``fields`` refuses any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from experiments.judging.pairs import Pair
from experiments.judging.pool import WITHIN, Direction
from experiments.records.quantities import quantity
from operators.contract import UsageError

if TYPE_CHECKING:
    from experiments.declare import Figure
    from experiments.judging.lookup import Lookup

# The kinds of statements. Only results count: an expectation, a purpose or a definition is judged
# and shown, and says in ``kind_why`` why it is no result.
Kind = Literal["result", "expectation", "purpose", "definition"]
RESULT = "result"
# A number that the paper's text has lost.
LOST = "lost"
# The unit of a ratio, and that of a value between 0 and 1 whose quantity has none.
TIMES, SHARE = "times", "share"

# Instead of a value a claim may read at every one, or at every one from 2 on.
ALL, MANY = "all", "many"
# Of ``core_per_thread``: oversubscribed points (more threads than cores) are not read.
REQUIRED = "required"
Value = bool | float | str


@dataclass(frozen=True, kw_only=True)
class From:
    """The most from a number on that leave a core for each thread; the number where none does."""

    from_: int


At = Mapping[str, Value | tuple[Value, ...] | From]


@dataclass(frozen=True, kw_only=True)
class Reads:
    """The points that a verdict is read from: variants, and settings at which they are read."""

    variants: tuple[str, ...]
    at: At

    def __post_init__(self) -> None:
        """Refuse reads without variants or values."""
        for name, value in self.at.items():
            if value == ():
                raise UsageError(f"reads.at.{name} is empty")
        if not self.variants:
            raise UsageError("reads.variants is empty")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of figures that are read."""
        return self.variants

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that are named."""
        return tuple(self.at)


@dataclass(frozen=True, kw_only=True)
class RivalReads(Reads):
    """Variants, and the rivals that each of them is compared with."""

    rivals: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse reads without rivals."""
        super().__post_init__()
        if not self.rivals:
            raise UsageError("reads.rivals is empty")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of figures that are read."""
        return (*self.variants, *self.rivals)


@dataclass(frozen=True, kw_only=True)
class CurveReads(Reads):
    """Curves of variants over a setting, which is the figure's x axis unless it is named."""

    over: str | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that are named."""
        return (*self.at, *([self.over] if self.over else []))


@dataclass(frozen=True, kw_only=True)
class RivalCurveReads(RivalReads, CurveReads):
    """Curves of variants and of rivals."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The fields of every claim; ``docs/claims.md`` describes them."""

    # Whether figures are compared in pairs: the first with the second, the third with the fourth.
    paired_figures: ClassVar[bool] = False
    # Whether each setting has one value, and not several.
    one_setting: ClassVar[bool] = False

    id: str
    quote: str
    section: str
    figures: tuple[str, ...]
    kind: Kind
    kind_why: str | None = None
    repeats: str | None = None
    needs: str | None = None
    assumed: str | None = None
    drawn: Literal["point", "level"] | None = None
    quantity: str
    unit: str
    value: float | Literal["lost"] | None
    words: str | None = None
    core_per_thread: bool | Literal["required"] = False
    comparator: str
    reads: Reads

    def __post_init__(self) -> None:
        """Refuse fields that contradict each other."""
        if self.kind != RESULT and not self.kind_why:
            raise UsageError(f"kind {self.kind!r} needs kind_why: why it is no result")
        if not self.figures or (self.paired_figures and len(self.figures) % 2):
            wanted = "figures in pairs" if self.paired_figures else "one figure or more"
            raise UsageError(f"{self.comparator!r} takes {wanted}, not {len(self.figures)}")
        if self.drawn and (self.unit == TIMES or not isinstance(self.value, float | int)):
            raise UsageError("drawn needs a value in the quantity's own unit")
        for name, value in self.reads.at.items() if self.one_setting else ():
            if isinstance(value, tuple | From) or value in (ALL, MANY):
                raise UsageError(f"{self.comparator!r} is read at one {name}, not at {value!r}")

    @property
    def compared(self) -> str:
        """The compared quantity in words: those of the claim, or else of the quantity."""
        return self.words or quantity(self.quantity).words

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities that are read."""
        return (self.quantity,)

    def values(self, figure: Figure) -> Iterator[tuple[str, str, Value]]:
        """Yield each value that is read in a figure: the field, the setting, and the value."""
        for name, value in self.reads.at.items():
            if isinstance(value, From):
                yield f"reads.at.{name}.from", name, value.from_
                continue
            for each in value if isinstance(value, tuple) else (value,):
                yield f"reads.at.{name}", name, each


@dataclass(frozen=True, kw_only=True)
class Comparison(Claim):
    """A claim about the ratio of each pair."""

    direction: Direction
    tolerance: float | None = None

    def __post_init__(self) -> None:
        """Refuse fields that contradict each other."""
        super().__post_init__()
        if (self.tolerance is not None) != (self.direction in WITHIN):
            verb = "needs" if self.direction in WITHIN else "has no"
            raise UsageError(f"direction {self.direction!r} {verb} tolerance")
        if self.tolerance is not None and not self.tolerance > 1:
            raise UsageError(f"tolerance is a factor above 1, not {self.tolerance!r}")


@dataclass(frozen=True, kw_only=True)
class RivalComparison(Comparison):
    """Variants against rivals."""

    reads: RivalReads


@dataclass(frozen=True, kw_only=True)
class CurveComparison(Comparison):
    """Curves, each by itself."""

    reads: CurveReads


@dataclass(frozen=True, kw_only=True)
class RivalCurveComparison(Comparison):
    """Curves of variants against curves of rivals."""

    reads: RivalCurveReads


class Comparator(NamedTuple):
    """A way to compare claims with points.

    Attributes
    ----------
    claim : type
        The type of the claims: a subclass of ``Comparison``, or one of ``Claim`` that defines a
        direction and a tolerance.
    pairs : callable
        ``pairs(claim, lookup)`` returns one pair for each comparison that the claim consists of.
        The lookup notes which points are missing.
    """

    claim: type[Claim]
    pairs: Callable[[Any, Lookup], list[Pair]]
