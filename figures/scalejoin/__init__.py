"""Figures of "ScaleJoin" that no common form draws, and the pictures of the notebook."""
