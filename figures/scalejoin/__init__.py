"""Figures of "ScaleJoin" that no form can say, and the pictures of its notebook."""
