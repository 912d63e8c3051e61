"""A view of a figure: its paper's form, or the extended form with every measured series."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.declare import Figure, Series


@dataclass(frozen=True)
class View:
    """One of the two forms in which a figure is drawn.

    Attributes
    ----------
    figure : Figure
    extended : bool
        Whether every measured series is shown, or the paper's lines alone.
    """

    figure: Figure
    extended: bool = False

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities that the panels of this form show."""
        return self.figure.extended_quantities if self.extended else self.figure.quantities

    @property
    def title(self) -> str:
        """The text above the picture."""
        form = ", extended" if self.extended else ""
        return f"Figure {self.figure.id}{form}: {self.figure.caption}"

    def shows(self, line: Series) -> bool:
        """Say whether a series is drawn in this form."""
        return self.extended or line in self.figure.lines
