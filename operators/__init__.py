"""Operators of the five papers, on a numba core. Imports nothing of the rest of Millrace."""
