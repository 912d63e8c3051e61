"""Figures of the PIM-Tree paper that no common form draws: inserts by subindex, pictures."""
