"""Figures of the multiway aggregation paper that no common form draws: pictures, form, section."""
