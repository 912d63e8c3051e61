"""Of modules that the nearest structure hardly reaches, the one that reaches most of them."""

ASKED = {
    # The gates of the nearest aggregates have one reader and do not read its number.
    "operators.aggregation.one_output_thread": "aggregation/tumlsc",
    # It fills cells from shared windows, which no other aggregate does.
    "operators.aggregation.cells": "aggregation/wiml-panes",
    # Logs and digests are compared where rows come out.
    "operators.aggregation.sink": "aggregation/tumlsc",
    # Programs of the tables alone have no end of streams and no sink with room for less.
    "operators.aggregation.through_time": "aggregation/mq",
    "operators.aggregation.winsets": "aggregation/mq",
}
