"""Joins of two streams by any predicate: ScaleJoin, handshake joins, and the sequential join."""
