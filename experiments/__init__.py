"""Experiments: the runs, the measurement, and the papers' statements about the results.

Folders of the same name elsewhere on Python's path join in: see ``operators/__init__.py``.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
