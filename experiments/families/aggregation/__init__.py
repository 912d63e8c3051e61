"""Running, timing and checking of aggregates."""
