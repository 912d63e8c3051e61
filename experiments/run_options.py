"""The options of a run of the workflow: each with the intended type, or a line about the mistake.

Snakemake reads ``--config label=2024`` as a number, and ``label=True`` as a truth value. The
allowed values and the defaults are in ``workflow/config/config.schema.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from experiments.profiles import CONFIG
from operators.contract import UsageError
from operators.running.spark_settings import check_master

SCHEMA = CONFIG / "config.schema.yaml"
MOST_LETTERS = 100


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every option.

    Parameters
    ----------
    given : mapping of str to object
        The options as Snakemake has read them; one without a value, or none, has the default.

    Raises
    ------
    UsageError
        When there is no such option, or the value is not allowed.

    Examples
    --------
    >>> checked({"label": 2024})["label"]
    '2024'
    """
    options = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["properties"]
    for name in given:
        if name not in options:
            raise UsageError(f"there is no option {name!r}; the options are {', '.join(options)}")
    found = {}
    for name, option in options.items():
        value = given.get(name)
        found[name] = option["default"] if value is None else READ[option["type"]](name, value)
    _check_label(found["label"], options["label"])
    least = options["repetitions"]["minimum"]
    if found["repetitions"] < least:
        raise _refused("repetitions", found["repetitions"], f"a whole number of at least {least}")
    check_master(found["spark_master"])
    return found


def _check_label(label: str, option: Mapping[str, Any]) -> None:
    if label in option["not"]["enum"]:
        raise UsageError(
            f"label={label} is a file or folder that all sets of results have in common; take"
            " another label"
        )
    if not re.fullmatch(option["pattern"], label) or len(label) > MOST_LETTERS:
        may_be = f"up to {MOST_LETTERS} letters, digits, '_', '.' and '-', no sign in front"
        raise _refused("label", label, may_be)


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool | float) or not isinstance(value, str | int):
        quoted = f"in quotes for it to stay text: \"{name}='{value}'\""
        raise _refused(name, value, f"text; give it {quoted}")
    return str(value)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refused(name, value, "a whole number")
    return value


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refused(name, value, "True or False")
    return value


def _refused(name: str, value: Any, may_be: str) -> UsageError:
    return UsageError(f"{name}={value} cannot be; it may be {may_be}")


READ = {"string": _text, "integer": _whole, "boolean": _truth}
