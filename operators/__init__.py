"""Operators of the five papers, on a numba core. Imports nothing of the rest of Millrace.

A folder of the same name elsewhere on Python's path joins in, here and in the packages beside this
one: so a family, a paper or a dataset of one's own lives outside of this repository, and
``PYTHONPATH=mine`` is all it takes.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
