"""Joins of two streams over sliding windows; a folder elsewhere may add more variants."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
