"""Operators of the five papers, on a numba core. Imports nothing from the rest of Millrace.

Folders of the same name elsewhere on Python's path extend this package, and likewise its neighbours
``experiments``, ``figures`` and so on. Users can therefore keep families, papers and datasets
outside this repository and add them with ``PYTHONPATH=mine``.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
