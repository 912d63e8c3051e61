"""Figures of the ordered processing paper that no common form draws: the notebook's pictures."""
