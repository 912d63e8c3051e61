"""What a model of a paper predicts for a figure, which names the model (``Figure.model``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments.declare import Series


class Predicted(NamedTuple):
    """A value that a model gives for a place of a figure.

    Attributes
    ----------
    variant : Series
    settings : mapping
        Every setting by name, as those of a measured point.
    quantity : str
        Name of a quantity.
    value : float
    fitted : bool
        Whether the model was fitted to what was measured at this place: then it foretells nothing.
    """

    variant: Series
    settings: Mapping[str, Any]
    quantity: str
    value: float
    fitted: bool = False


class Foretold(NamedTuple):
    """What a model says of a figure.

    Attributes
    ----------
    told : str
        What its values follow from, for the key: "model, fitted at w = 4,096".
    values : tuple of Predicted
    lacking : str
        Why a line that was measured has no values; empty when nothing lacks.
    """

    told: str
    values: tuple[Predicted, ...]
    lacking: str = ""
