"""The queries of the works, in SQL for all databases, and for data frames.

A database differs from another in a few words, its ``sql.Dialect``; each statement is written once.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
