"""Joins of two streams over sliding windows."""
