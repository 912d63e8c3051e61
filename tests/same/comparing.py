"""Whether two traced trees are the same program, apart from the names that a table renames."""

from __future__ import annotations

import ast
from typing import Any

from tests.same.renames import Renames

# Fields of a tree that change neither the results of a program nor its speed.
IGNORED_FIELDS = ("ctx", "type_comment", "kind")


class Comparison:
    """Two pieces of code, walked side by side.

    A variable may have another name where the table says so, but then everywhere in the piece; and
    two variables must not have become one.
    """

    def __init__(self, renames: Renames) -> None:
        self._renames = renames
        self._new_of: dict[str, str] = {}
        self._old_of: dict[str, str] = {}

    def difference(self, old: Any, new: Any) -> tuple[Any, Any] | None:
        """Return the smallest parts that differ, or None where the two are the same."""
        if type(old) is not type(new):
            return old, new
        if isinstance(old, ast.Constant) and isinstance(old.value, str):
            return None if self._renames.text(old.value) == new.value else (old, new)
        if isinstance(old, ast.AST):
            return self._difference_of_nodes(old, new)
        if isinstance(old, list):
            if len(old) != len(new):
                return old, new
            each = (self.difference(a, b) for a, b in zip(old, new, strict=True))
            return next(filter(None, each), None)
        same = self._same_variable(old, new) if isinstance(old, str) else old == new
        return None if same else (old, new)

    def _difference_of_nodes(self, old: ast.AST, new: ast.AST) -> tuple[Any, Any] | None:
        for name in old._fields:
            before, after = getattr(old, name, None), getattr(new, name, None)
            if name in IGNORED_FIELDS:
                continue
            if isinstance(old, ast.Attribute | ast.keyword) and isinstance(before, str):
                # A tree does not tell whose attribute it is, so the table holds for each one alone.
                found = None if self._renames.same_name(before, str(after)) else (old, new)
            else:
                found = self.difference(before, after)
            if found is not None:
                # Strings and lists are shown with the node that contains them.
                return found if all(isinstance(each, ast.AST) for each in found) else (old, new)
        return None

    def _same_variable(self, old: str, new: str) -> bool:
        if "." in old or "." in new:
            return self._renames.same_reference(old, new)
        known = self._new_of.setdefault(old, new) == new, self._old_of.setdefault(new, old) == old
        return self._renames.same_name(old, new) and all(known)


def text_of(part: Any) -> str:
    """Return a part of a tree as source text in one line."""
    parts = part if isinstance(part, list) else [part]
    texts = (ast.unparse(each) if isinstance(each, ast.AST) else repr(each) for each in parts)
    return " ".join(" ".join(texts).split())
