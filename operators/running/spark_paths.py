r"""Converts paths to the form that Spark expects, with any characters in them.

Spark makes a path of a text without percent-decoding: of ``file:///a%20b`` the folder ``a%20b``. A
standard URI therefore names another folder. For reading, Spark interprets ``[ ] { } * ? \`` as a
pattern.
"""

from __future__ import annotations

import re
from pathlib import Path

_OF_PATTERNS = re.compile(r"([\[\]{}*?\\])")


def spark_path(path: Path) -> str:
    """Return a path in Spark's form for writing.

    Examples
    --------
    >>> spark_path(Path("/a b/ü%20"))
    'file:///a b/ü%20'
    """
    return f"file://{path.absolute()}"


def local_file(path: str) -> Path:
    """Return the path for an entry in Spark's column of file names.

    Examples
    --------
    >>> local_file("file:/a b/ü%20").as_posix()
    '/a b/ü%20'
    """
    return Path(re.sub("^file:/+", "/", path))


def spark_pattern(path: Path) -> str:
    r"""Return a path in Spark's form for reading: a pattern that matches nothing else.

    Examples
    --------
    >>> print(spark_pattern(Path("/a [1]")))
    file:///a \[1\]
    """
    return _OF_PATTERNS.sub(r"\\\1", spark_path(path))
