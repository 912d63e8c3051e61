"""The table of deliberate moves and renames, which the comparison of syntax trees takes.

A line is ``old -> new``; one that begins with ``#`` is a comment. The form of a line determines the
kind of rename:

``experiments/timing/crew.py -> operators/running/run_threads.py``
    A file, or a folder with all below it if both end with a slash. The module is renamed too.
``experiments.timing.machine.cores -> operators.running.cores.cores``
    A definition in a module, or a module.
``round -> backoff_round``
    A name, wherever it occurs: variable, argument, attribute, function or class.
``"words" -> "other words"``
    A whole string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.same.checkouts import CannotCompare

_DOTTED = re.compile(r"\w+(\.\w+)+")
_PATH = re.compile(r"\w+(/[\w-]+(\.\w+)*)+/?")


def module_of(path: str) -> str:
    """Return the dotted name of a file's module."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass
class Renames:
    """A table, extended by moves that were detected without being listed.

    Attributes
    ----------
    paths, dotted, names, texts : dict
        Old to new. Folders end with a slash.
    """

    paths: dict[str, str] = field(default_factory=dict)
    dotted: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, old: str, new: str) -> None:
        """Add a line of the table.

        Raises
        ------
        CannotCompare
            When the line has no known form.
        """
        if old[:1] == new[:1] == '"' and old[-1:] == new[-1:] == '"':
            self.texts[old[1:-1]] = new[1:-1]
        elif "/" in old and "/" in new and old.endswith("/") == new.endswith("/"):
            self.paths[old] = new
            self.dotted[module_of(old.rstrip("/"))] = module_of(new.rstrip("/"))
        elif _DOTTED.fullmatch(old) and _DOTTED.fullmatch(new):
            self.dotted[old] = new
        elif old.isidentifier() and new.isidentifier():
            self.names[old] = new
        else:
            raise CannotCompare(f"a table of renames has no such line: {old} -> {new}")

    def path(self, old: str) -> str:
        """Return the new path of a file, by the longest entry that matches."""
        if old in self.paths:
            return self.paths[old]
        folders = [each for each in self.paths if each.endswith("/") and old.startswith(each)]
        longest = max(folders, key=len, default="")
        return self.paths[longest] + old[len(longest) :] if longest else old

    def called(self, name: str) -> str:
        """Return the new name of a function, or of a method qualified by its class."""
        return ".".join(self.names.get(part, part) for part in name.split("."))

    def reference(self, old: str) -> str:
        """Return the new form of a dotted name, by the longest entry that is a prefix of it."""
        parts = old.split(".")
        for length in range(len(parts), 1, -1):
            begins = ".".join(parts[:length])
            if begins in self.dotted:
                return ".".join([self.dotted[begins], *parts[length:]])
        return old

    def same_name(self, old: str, new: str) -> bool:
        """Return whether a name is the same, or was renamed by the table."""
        return old == new or self.names.get(old) == new

    def same_reference(self, old: str, new: str) -> bool:
        """Return whether two dotted names mean the same, each part renamed or not."""
        olds, news = self.reference(old).split("."), new.split(".")
        return len(olds) == len(news) and all(map(self.same_name, olds, news))

    def text(self, old: str) -> str:
        """Return a string with the files and modules that it names under their new names."""
        if old in self.texts:
            return self.texts[old]
        called = _PATH.sub(lambda found: self.path(found[0]), old)
        return _DOTTED.sub(lambda found: self.reference(found[0]), called)


def read_renames(lines: Iterable[str]) -> Renames:
    """Return the table in `lines`, which has no empty lines or comments.

    Raises
    ------
    CannotCompare
        Names the malformed line.
    """
    table = Renames()
    for line in lines:
        old, arrow, new = (part.strip() for part in line.partition("->"))
        if not (old and arrow and new):
            raise CannotCompare(f"a table of renames has no such line: {line}")
        table.add(old, new)
    return table
