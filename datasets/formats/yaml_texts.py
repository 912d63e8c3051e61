"""YAML in which plain words stay texts: NO is not a truth value, 010 is not an octal number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from operators.contract import UsageError

_NULL = "tag:yaml.org,2002:null"


class _Texts(yaml.SafeLoader):
    """Loads plain words as texts, except null, and refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping without duplicate keys; YAML would keep the last of two."""
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value!r} is there twice", key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


_Texts.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0] == _NULL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_texts(called: str, path: Path) -> Any:
    """Return the content of a YAML file: mappings, lists, texts, and None for null or nothing.

    Parameters
    ----------
    called : str
        The name of the file in messages.
    path : Path

    Raises
    ------
    UsageError
        When it cannot be read, is not YAML, or has a duplicate key in a mapping.
    """
    try:
        # A byte order mark is not part of a word.
        return yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_Texts)
    except FileNotFoundError:
        raise UsageError(f"{called} does not exist: give the path of a YAML file") from None
    except OSError as error:
        raise UsageError(f"{called} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{called} is not UTF-8 text: a mapping is a YAML file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "cannot be read"
        raise UsageError(f"{called} is not YAML{line}: {problem}") from None
