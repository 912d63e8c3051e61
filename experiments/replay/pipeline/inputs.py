"""From files to the records of a query, and the pipeline over them.

Numbers of items, users and tickets are coded by rank (integers by value, text by its UTF-8 bytes),
so that what is dense in the files need not be; the output has the files' own.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from datasets.formats import numbers
from datasets.formats.rejected import Rejected
from datasets.keys import code_keys
from experiments.replay.pipeline.request import Request
from experiments.replay.pipeline.tables import (
    column,
    hundredths,
    in_order,
    read,
    seconds,
    whole,
)
from experiments.replay.pipeline.usable import (
    ANYTHING,
    LABEL,
    MONEY,
    OPTIONAL,
    TIME,
    WHOLE,
    columns_of,
    read_usable,
)
from operators.contract import UsageError
from operators.pipeline.declare import Pipeline
from operators.pipeline.queries import q1, q2, q3, q4, q15
from operators.pipeline.queries.sessions import MISSING

# What a mapping may say, and what its columns are for.
MAPPED = ("columns", "keep")
ROLES = ("time", "ticket", "item")
KEPT_STORE, KEPT_CATEGORY = 10, 1


class Prepared(NamedTuple):
    """A query over files.

    Attributes
    ----------
    records : int64 array (rows, words)
    pipeline : callable
        ``pipeline(table_rows)``.
    items : array
        By code, the item as the files have it.
    rejected : list of Rejected
        Rows of the input that were set aside.
    """

    records: np.ndarray
    pipeline: Callable[[int], Pipeline]
    items: np.ndarray
    rejected: list[Rejected]


def prepare(request: Request) -> Prepared:
    """Read the files of a request.

    Raises
    ------
    UsageError
        When a file, a column or a row is no good: its name and number.
    """
    if request.mapping is not None:
        return _mapped(request)
    return _PREPARED[request.query](request)


def _input(
    request: Request, prefix: str, holding: Mapping[str, int]
) -> tuple[pa.Table, list[Rejected]]:
    """Read the input of a query, with its times as ``tables.seconds`` takes them."""
    names, day = columns_of(request.input), f"{prefix}_date_sk"
    if "time" not in names and day in names:
        return read_usable(request, {day: WHOLE, f"{prefix}_time_sk": WHOLE, **holding})
    return read_usable(request, {"time": TIME, **holding})


def coded(*columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return what columns hold, ascending, and each column by rank; MISSING stays."""
    known = np.unique(np.concatenate([each[each != MISSING] for each in columns]))
    codes = [np.where(c == MISSING, MISSING, np.searchsorted(known, c)) for c in columns]
    return known, codes


class _Items(NamedTuple):
    labels: np.ndarray  # by code
    codes: np.ndarray  # of the records
    categories: np.ndarray  # by code, MISSING where the items' file has none


def _items(request: Request, own: np.ndarray) -> _Items:
    """Bring the items of records and of the items' file to one code."""
    path = request.items
    table = read(path)
    listed, category = whole(path, table, "item_sk"), whole(path, table, "category_id")
    labels, (codes, listed) = coded(own, listed)
    categories = np.full(max(len(labels), 1), MISSING, dtype=np.int64)
    categories[listed] = category
    return _Items(labels, codes, categories)


class _Sales(NamedTuple):
    records: np.ndarray
    tickets: np.ndarray  # by code
    items: _Items
    rejected: list[Rejected]


def _sales(request: Request, paid: bool) -> _Sales:
    """Return the records of sales, and what their codes stand for."""
    path = request.input
    holding = {name: WHOLE for name in ("ticket_number", "item_sk", "store_sk")}
    table, rejected = _input(request, "sold", holding | ({"net_paid": MONEY} if paid else {}))
    items = _items(request, whole(path, table, "item_sk"))
    times = seconds(path, table, "sold")
    tickets, (ticket,) = coded(whole(path, table, "ticket_number"))
    store = whole(path, table, "store_sk")
    money = hundredths(path, table, "net_paid") if paid else np.zeros(len(times), np.int64)
    records = np.stack([times, ticket, items.codes, store, money], axis=1)
    return _Sales(records, tickets, items, rejected)


def _q1(request: Request) -> Prepared:
    sales = _sales(request, paid=False)
    pipeline = _baskets(sales.records, sales.items.categories, len(sales.tickets))
    return Prepared(sales.records, pipeline, sales.items.labels, sales.rejected)


def _baskets(
    records: np.ndarray, categories: np.ndarray, tickets: int
) -> Callable[[int], Pipeline]:
    """Return query 1 with room for the longest ticket."""
    longest = int(np.bincount(records[:, q1.TICKET]).max()) if len(records) else 1
    return lambda rows: q1.make(categories, max(tickets, 1), rows, longest)


def _q15(request: Request) -> Prepared:
    sales = _sales(request, paid=True)
    first, end = (
        int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp())
        for year in (request.year, request.year + 1)
    )
    return Prepared(
        sales.records,
        lambda rows: q15.make(sales.items.categories, request.store, first, end - 1),
        sales.items.labels,
        sales.rejected,
    )


class _Clicks(NamedTuple):
    records: np.ndarray
    users: int
    item: np.ndarray  # of each record, as the file has it
    rejected: list[Rejected]


def _clicks(request: Request) -> _Clicks:
    """Return the records of clicks, whose users are coded."""
    path = request.input
    names = ("user_sk", "item_sk", "web_page_sk", "sales_sk")
    table, rejected = _input(request, "click", dict.fromkeys(names, OPTIONAL))
    times = seconds(path, table, "click")
    user, item, page, sale = (whole(path, table, name, optional=True) for name in names)
    users, (user,) = coded(user)
    records = np.stack([times, user, item, page, sale], axis=1)
    return _Clicks(records, max(len(users), 1), item, rejected)


def _q2(request: Request) -> Prepared:
    records, users, item, rejected = _clicks(request)
    labels, (records[:, q2.ITEM],) = coded(item)
    longest = q2.longest_session(records)
    if longest > q2.MOST_ITEMS_EVER:
        raise UsageError(
            f"{request.input} has a session of {longest} different items, and query q2 takes"
            f" {q2.MOST_ITEMS_EVER}; leave out the user who looks at so many"
        )
    return Prepared(records, lambda rows: q2.make(users, rows, longest), labels, rejected)


def _q3(request: Request) -> Prepared:
    records, users, item, rejected = _clicks(request)
    items = _items(request, item)
    records[:, q2.ITEM] = items.codes
    most = q3.most_of(records, items.categories)
    pipeline = q3.make(items.categories, users, most)
    return Prepared(records, lambda rows: pipeline, items.labels, rejected)


def _q4(request: Request) -> Prepared:
    records, users, item, rejected = _clicks(request)
    path = request.pages
    table = read(path, texts=("type",))
    listed = whole(path, table, "web_page_sk")
    types = np.array(column(path, table, "type").to_pylist(), dtype=object)
    pages, (records[:, q2.PAGE], listed) = coded(records[:, q2.PAGE], listed)
    kinds = np.full(max(len(pages), 1), MISSING, dtype=np.int64)
    kinds[listed] = np.select([types == "dynamic", types == "order"], [q4.DYNAMIC, q4.ORDER],
                              q4.OTHER)  # fmt: skip
    return Prepared(records, lambda rows: q4.make(kinds, users), coded(item)[0], rejected)


_PREPARED = {"q1": _q1, "q2": _q2, "q3": _q3, "q4": _q4, "q15": _q15}


# --- baskets of another form ---------------------------------------------------------------------


def read_mapping(path: Path) -> dict[str, Any]:
    """Return a mapping: ``columns`` (time, ticket, item) and ``keep`` (column to value or "> N").

    Raises
    ------
    UsageError
        When it is no such mapping.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        first = str(error).strip().splitlines()[0]
        raise UsageError(f"--mapping {path} cannot be read: {first}") from error
    if not isinstance(found, dict) or set(found) - set(MAPPED) or "columns" not in found:
        raise UsageError(f"--mapping {path} must have columns, and may have keep: nothing else")
    columns, keep = found["columns"], found.get("keep") or {}
    if not isinstance(columns, dict) or set(columns) != set(ROLES):
        raise UsageError(f"--mapping {path}: columns must be {', '.join(ROLES)}, no more or less")
    if not isinstance(keep, dict):
        raise UsageError(f"--mapping {path}: keep must have a value, or '> N', for each column")
    return {"columns": {role: str(name) for role, name in columns.items()}, "keep": keep}


def _mapped(request: Request) -> Prepared:
    """Read baskets: rows that are kept count as sold in an asked store and category.

    # ASSUME: recorded baskets have neither stores nor categories; what is kept passes query 1's
    # filter, and what is not does not.
    """
    mapping = read_mapping(request.mapping)
    path, named = request.input, mapping["columns"]
    holding = dict.fromkeys(map(str, mapping["keep"]), ANYTHING)
    holding |= {named["time"]: TIME, named["ticket"]: LABEL, named["item"]: LABEL}
    table, rejected = read_usable(request, holding)
    moment = in_order(path, whole(path, table, named["time"]))
    kept = np.ones(len(table), dtype=bool)
    for name, wanted in mapping["keep"].items():
        kept &= _kept(path, table, str(name), wanted)
    ticket, tickets = code_keys(column(path, table, named["ticket"]))
    item, items = code_keys(column(path, table, named["item"]))
    store = np.where(kept, KEPT_STORE, 0)
    records = np.stack([moment, ticket, item, store, np.zeros_like(store)], axis=1)
    categories = np.full(max(len(items), 1), KEPT_CATEGORY, dtype=np.int64)
    return Prepared(records, _baskets(records, categories, len(tickets)), items, rejected)


def _kept(path: Path, table: pa.Table, name: str, wanted: Any) -> np.ndarray:
    """Say of each row whether its value is the wanted one, or above the number behind ">".

    A row without a value is not kept.
    """
    given = column(path, table, name)
    text = str(wanted).strip()
    try:
        if text.startswith(">"):
            there = pc.if_else(numbers.is_null_text(given), None, given)
            found = pc.greater(there.cast(pa.float64()), float(text[1:]))
        else:
            found = pc.equal(given, text)
    except (pa.ArrowException, ValueError) as error:
        raise UsageError(
            f"{path}, column {name!r} cannot be compared with {text!r}; give a value, or '> N' for"
            " a column of numbers"
        ) from error
    return pc.fill_null(found, False).to_numpy(zero_copy_only=False)
