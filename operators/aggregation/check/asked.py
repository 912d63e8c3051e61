"""Of modules that the nearest structure hardly reaches, the one that reaches most of them."""

ASKED = {
    # It fills cells from shared windows, which no other aggregate does.
    "operators.aggregation.cells": "aggregation/wiml-panes",
}
