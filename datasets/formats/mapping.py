"""The mapping: a small YAML file that describes recorded files.

Keys of every mapping::

    name: umass443                  # a name for the set: letters, digits, _ - .
    role: meters                    # meters | comments | ...: the role of the set
    format: table                   # london-smart-meter | wide-electricity |
                                    # stack-exchange-comments | table
    files: umass443.csv.gz          # one or a list: paths relative to this mapping, globs,
                                    # archive.tar.gz, archive.tar.gz/member*.csv (also .zip);
                                    # ${NAME} is taken from the environment
    title: Power of 443 buildings   # optional, for figures
    unit: kW                        # optional, unit of the value
    decimals: 3                     # optional: digits to keep after the point; by default
                                    # as many as exact values need
    time_format: iso                # optional: epoch | iso | a strptime format with %;
    time_unit: s                    # s | ms | us: needed for epoch, optional otherwise
    duplicates: time-key            # optional: time-key | id | row | none

and further keys of a table::

    columns: {time: ts_s, key: meter, value: kw}    # meters; comments have text, not value, and
                                                    # may have user; calls also have caller and
                                                    # called; all may have stream and id
    delimiter: ","                  # optional; tab for .tsv. Also for wide-electricity (";")
    decimal_mark: "."               # optional; also for wide-electricity (",")
    quoted: true                    # optional: false where " is an ordinary character, as in .tsv

Duplicates: for meters, and other roles with a value and no further required columns, a second
reading of one key at one time (`time-key`; the first in file order is kept, whatever the values);
for comments, calls, and all others, a second row with the same id (`id`; in Stack Exchange files,
within the site), and without an id column a row equal in every column (`row`). Two comments at the
same time are not duplicates.

The roles are those of the generated data sets (`datasets.catalog`) whose main table is a keyed
stream and whose other tables, if any, are derived from it: a mapping names the time, key and
payload, and the role's further required columns. For calls, the key is the district, the value is
the duration, and the suspicious numbers are derived from the callers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from datasets import catalog
from datasets.declare import Table
from datasets.formats.layout import Layout
from datasets.formats.numbers import MOST_DECIMALS
from datasets.formats.times import TICKS_A_SECOND
from datasets.formats.yaml_texts import load_texts
from datasets.recorded import Derive, recorded
from operators.contract import UsageError

ROLE_OF_FORMAT = {
    "london-smart-meter": "meters",
    "wide-electricity": "meters",
    "stack-exchange-comments": "comments",
    "table": None,
}
"""The fixed role of a format; a table may have any."""

DUPLICATES = ("time-key", "id", "row", "none")
COMMON_KEYS = (
    "name",
    "role",
    "format",
    "files",
    "title",
    "unit",
    "decimals",
    "time_format",
    "time_unit",
    "duplicates",
)
TYPED = ("decimals", "quoted")
"""The keys whose values are not texts."""
DELIMITED_KEYS = ("delimiter", "decimal_mark")
KEYS = {
    "london-smart-meter": COMMON_KEYS,
    "wide-electricity": COMMON_KEYS + DELIMITED_KEYS,
    "stack-exchange-comments": COMMON_KEYS,
    "table": COMMON_KEYS + DELIMITED_KEYS + ("columns", "quoted"),
}


@dataclass(frozen=True)
class Mapping:
    """A checked mapping; the fields are the keys of the YAML file."""

    path: Path
    name: str
    role: str
    format: str
    files: tuple[str, ...]
    title: str
    unit: str
    decimals: int | None
    time_format: str | None
    time_unit: str | None
    duplicates: str
    delimiter: str | None
    decimal_mark: str
    quoted: bool | None
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder of relative file names."""
        return self.path.parent

    @property
    def layout(self) -> Layout:
        """The way to split the files into columns."""
        whole_rows = self.duplicates == "row"
        return Layout(self.columns, self.format, self.delimiter, self.quoted, whole_rows)

    @property
    def table(self) -> Table:
        """The main table of the role, which the recorded rows replace."""
        return main_table(self.role)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of that table required in addition to time, key and payload."""
        return recorded(self.role).needs

    @property
    def derived(self) -> dict[str, tuple[Table, Derive]]:
        """The role's other tables by name, and the function that derives each from the main one."""
        made = recorded(self.role).derived
        others = catalog.of_role(self.role)[0].tables[1:]
        return {table.name: (table, made[table.name]) for table in others}


def main_table(role: str) -> Table:
    """Return the main table of the datasets of a role.

    Raises
    ------
    UsageError
        If no dataset has that role.
    """
    return catalog.of_role(role)[0].main


def importable_roles() -> tuple[str, ...]:
    """Return the roles for which files only have to provide the main table, a keyed stream."""

    def is_importable(role: str) -> bool:
        main, *others = catalog.of_role(role)[0].tables
        made = recorded(role).derived
        return main.is_keyed_stream and all(table.name in made for table in others)

    return tuple(filter(is_importable, catalog.roles()))


def read_mapping(path: str | Path) -> Mapping:
    """Read and check a mapping.

    Parameters
    ----------
    path : path
        A YAML file.

    Returns
    -------
    Mapping

    Raises
    ------
    UsageError
        If the file is missing or not YAML, or a key is unknown, missing or invalid.
    """
    path = Path(path)
    found = _load(path)
    where = f"mapping {path}"
    form = _choice(where, found, "format", tuple(KEYS))
    unknown = sorted(set(map(str, found)) - set(KEYS[form]))
    if unknown:
        raise UsageError(
            f"{where}: unknown key {unknown[0]!r}: a {form} mapping takes {', '.join(KEYS[form])}"
        )
    role = _choice(where, found, "role", importable_roles())
    if ROLE_OF_FORMAT[form] not in (None, role):
        raise UsageError(f"{where}: format {form} holds {ROLE_OF_FORMAT[form]}, not {role}")
    columns = _columns(where, found, role) if form == "table" else {}
    duplicates = _duplicates(where, found, form, role, columns)
    name = _text(where, found, "name")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise UsageError(f"{where}: name {name!r} must be letters, digits, '_', '-' and '.'")
    return Mapping(
        path=path,
        name=name,
        role=role,
        format=form,
        files=_files(where, found),
        title=_text(where, found, "title", name),
        unit=_text(where, found, "unit", ""),
        decimals=_decimals(where, found, role),
        time_format=_time_format(where, found),
        time_unit=_choice(where, found, "time_unit", tuple(TICKS_A_SECOND), None),
        duplicates=duplicates,
        delimiter=_delimiter(where, found),
        decimal_mark=_choice(
            where, found, "decimal_mark", (".", ","), "," if form == "wide-electricity" else "."
        ),
        quoted=_choice(where, found, "quoted", (True, False), None),
        columns=columns,
    )


def _load(path: Path) -> dict[Any, Any]:
    found = load_texts(f"mapping {path}", path)
    if not isinstance(found, dict):
        what = "is empty" if found is None else f"holds a {type(found).__name__}"
        raise UsageError(f"mapping {path} {what}: it must hold the keys {', '.join(COMMON_KEYS)}")
    # Names stay as written, such as NO or 007; these keys get the values that YAML parses.
    typed = {key: yaml.safe_load(found[key]) for key in TYPED if isinstance(found.get(key), str)}
    return found | typed


_REQUIRED = object()


def _choice(where: str, found: dict, key: str, choices: tuple, default: Any = _REQUIRED) -> Any:
    if found.get(key) is None and default is not _REQUIRED:
        return default
    listed = " | ".join(str(one).lower() if isinstance(one, bool) else one for one in choices)
    if found.get(key) is None:
        raise UsageError(f"{where}: key {key!r} is missing: one of {listed}")
    value = found[key]
    if not any(value is one or (type(value) is type(one) and value == one) for one in choices):
        raise UsageError(f"{where}: {key} is {value!r}: it must be one of {listed}")
    return value


def _text(where: str, found: dict, key: str, default: Any = _REQUIRED) -> str:
    value = found.get(key)
    if value is None and default is not _REQUIRED:
        return default
    if value is None or isinstance(value, (dict, list)) or not str(value).strip():
        raise UsageError(f"{where}: key {key!r} is missing or empty: it must be a text")
    return str(value)


def _files(where: str, found: dict) -> tuple[str, ...]:
    files = found.get("files")
    if isinstance(files, str):
        files = [files]
    if (
        not isinstance(files, list)
        or not files
        or not all(isinstance(one, str) and one.strip() for one in files)
    ):
        raise UsageError(f"{where}: 'files' must be a path or a list of paths")
    return tuple(files)


def _columns(where: str, found: dict, role: str) -> dict[str, str]:
    table = main_table(role)
    needed = ("time", "key", table.payload, *recorded(role).needs)
    has_user = any(column.name == "user" for column in table.columns)
    optional = (("user",) if has_user else ()) + ("stream", "id")
    valid = ", ".join(needed) + " and, if there, " + ", ".join(optional)
    columns = found.get("columns")
    if not isinstance(columns, dict):
        raise UsageError(f"{where}: 'columns' must name the columns of {valid}")
    for key, column in columns.items():
        if key not in needed + optional:
            raise UsageError(f"{where}: unknown key {key!r} in columns: {role} take {valid}")
        if column is None or isinstance(column, (dict, list)):
            raise UsageError(f"{where}: columns.{key} must be the name of a column")
    for key in needed:
        if key not in columns:
            raise UsageError(f"{where}: columns.{key} is missing: {role} take {valid}")
    return {key: str(column) for key, column in columns.items()}


def _duplicates(where: str, found: dict, form: str, role: str, columns: dict) -> str:
    has_id = "id" in columns or form == "stack-exchange-comments"
    has_identity = main_table(role).payload == "value" and not recorded(role).needs
    usual = "id" if has_id else "time-key" if has_identity else "row"
    chosen = _choice(where, found, "duplicates", DUPLICATES, usual)
    if chosen == "id" and not has_id:
        raise UsageError(f"{where}: duplicates: id needs columns.id, the column that holds it")
    if "id" in columns and chosen != "id":
        raise UsageError(f"{where}: columns.id is used with duplicates: id only; leave one out")
    return chosen


def _decimals(where: str, found: dict, role: str) -> int | None:
    decimals = found.get("decimals")
    if decimals is None:
        return None
    if main_table(role).payload == "text":
        valued = [one for one in importable_roles() if main_table(one).payload == "value"]
        raise UsageError(
            f"{where}: decimals belong to the values of {' and '.join(valued)}; {role} have none"
        )
    if type(decimals) is not int or not 0 <= decimals <= MOST_DECIMALS:
        raise UsageError(
            f"{where}: decimals is {decimals!r}: it must be an integer from 0 to {MOST_DECIMALS}"
        )
    return decimals


def _time_format(where: str, found: dict) -> str | None:
    form = found.get("time_format")
    if form is None:
        return None
    if form == "epoch" and found.get("time_unit") is None:
        raise UsageError(f"{where}: time_format: epoch needs time_unit: s | ms | us")
    if form not in ("epoch", "iso"):
        try:
            if "%" not in str(form):
                raise ValueError
            datetime.strptime(datetime(2012, 10, 12, 13, 30).strftime(form), form)
        except (ValueError, TypeError):
            raise UsageError(
                f"{where}: time_format is {form!r}: it must be epoch, iso or a strptime format "
                "such as '%d/%m/%Y %H:%M'"
            ) from None
    return form


def _delimiter(where: str, found: dict) -> str | None:
    delimiter = found.get("delimiter")
    if delimiter is None:
        return None
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise UsageError(f"{where}: delimiter is {delimiter!r}: it must be one character")
    if not delimiter.isascii():
        raise UsageError(f"{where}: delimiter is {delimiter!r}: it must be an ASCII character")
    return delimiter
