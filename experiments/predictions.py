"""Predictions of a paper's model for a figure; a figure names the model (``Figure.model``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments.declare import Series


class Prediction(NamedTuple):
    """The value that a model gives for one point of a figure.

    Attributes
    ----------
    variant : Series
    settings : mapping
        Every setting by name, as those of a measured point.
    quantity : str
        Name of a quantity.
    value : float
    fitted : bool
        Whether the model was fitted to the measured value there, and so predicts nothing.
    """

    variant: Series
    settings: Mapping[str, Any]
    quantity: str
    value: float
    fitted: bool = False


class Predictions(NamedTuple):
    """All predictions of a model for a figure.

    Attributes
    ----------
    source : str
        The basis of the values, for the key: "model, fitted at w = 4,096".
    values : tuple of Prediction
    lacking : str
        Why a line that was measured has no values; empty when none is lacking.
        Why a measured line has no values; empty when none is lacking.
    """

    source: str
    values: tuple[Prediction, ...]
    lacking: str = ""
