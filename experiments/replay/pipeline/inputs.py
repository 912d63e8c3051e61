"""The records of a query, made from files, and the pipeline over them.

Numbers of items, users and tickets are coded by rank (integers by value, text by its UTF-8 bytes),
so that they need not be dense in the files; the output has the files' numbers.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from datasets.declare import TICKS_A_SECOND
from datasets.formats.doubts import doubt_of_times
from datasets.formats.rejected import Rejected
from datasets.keys import code_keys
from experiments.replay.pipeline.mapping import SHOWN, kept, read_mapping
from experiments.replay.pipeline.request import Request
from experiments.replay.pipeline.tables import (
    column,
    hundredths,
    in_order,
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
    Usable,
    columns_of,
    declared_types,
    place,
    read_usable,
)
from experiments.replay.remarks import say
from operators.contract import UsageError
from operators.pipeline.declare import Pipeline
from operators.pipeline.queries import q1, q2, q3, q4, q15
from operators.pipeline.queries.sessions import MISSING

KEPT_STORE, KEPT_CATEGORY = 10, 1
MEND = "mend the row"
# The stores that query 1 asks for (`operators.pipeline.queries.q1.wanted`).
STORES = (10, 20, 33, 40, 50)


class Prepared(NamedTuple):
    """A query over files.

    Attributes
    ----------
    records : int64 array (rows, words)
    pipeline : callable
        ``pipeline(table_rows)``.
    items : array
        By code, the item as in the files.
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
        When a file, a column or a row is unusable: its name and number.
    """
    if request.mapping is not None:
        return _mapped(request)
    return _PREPARED[request.query](request)


def _input(request: Request, prefix: str, holding: Mapping[str, int]) -> Usable:
    """Read the input of a query, with times in a form that ``tables.seconds`` takes."""
    names, day = columns_of(request.input), f"{prefix}_date_sk"
    if "time" not in names and day in names:
        moments = {day: WHOLE, f"{prefix}_time_sk": WHOLE}
    else:
        moments = {"time": TIME}
    aside = request.rejected is not None
    return read_usable(request.input, {**moments, **holding}, request.time_unit, aside)


def _say_of_times(request: Request, read: Usable, moments: np.ndarray) -> None:
    """Report suspicious times of the input, which are in s."""
    if read.counted == "epoch" and len(moments):
        unit = request.time_unit or "s"
        say(doubt_of_times([(str(request.input), [moments * TICKS_A_SECOND[unit]])], unit))


def coded(*columns: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distinct values of columns, ascending, and each column by rank; MISSING stays."""
    known = np.unique(np.concatenate([each[each != MISSING] for each in columns]))
    codes = [np.where(c == MISSING, MISSING, np.searchsorted(known, c)) for c in columns]
    return known, codes


class _Items(NamedTuple):
    labels: np.ndarray  # by code
    codes: np.ndarray  # of the records
    categories: np.ndarray  # by code, MISSING if the items' file has none


def _items(request: Request, own: np.ndarray) -> _Items:
    """Encode the items of records and of the items' file alike."""
    path = request.items
    read = read_usable(path, {"item_sk": WHOLE, "category_id": WHOLE}, remedy=MEND)
    listed = whole(path, read.table, "item_sk")
    category = whole(path, read.table, "category_id")
    _check_once(path, read, listed, category, ("item", "category_id"))
    labels, (codes, listed) = coded(own, listed)
    categories = np.full(max(len(labels), 1), MISSING, dtype=np.int64)
    categories[listed] = category
    return _Items(labels, codes, categories)


def _check_once(
    path: Path, read: Usable, listed: np.ndarray, told: np.ndarray, called: tuple[str, str]
) -> None:
    """Refuse a table with two different values for one number; equal rows are allowed."""
    order = np.argsort(listed, kind="stable")
    same = listed[order[1:]] == listed[order[:-1]]
    for at in np.flatnonzero(same & (told[order[1:]] != told[order[:-1]]))[:1].tolist():
        first, second = order[at], order[at + 1]
        raise UsageError(
            f"{path} has {called[0]} {listed[first]} twice: {called[1]} {told[first]} in"
            f" {place(path, read.lines[first]).rsplit(', ')[-1]} and {told[second]} in"
            f" {place(path, read.lines[second]).rsplit(', ')[-1]}; leave one of them out"
        )


def _say_unasked(request: Request, what: str, found: np.ndarray, asked: np.ndarray) -> None:
    """Report that a query keeps no row, if no row has the value it asks for.

    Parameters
    ----------
    what : str
        The values asked for, in words.
    found : int64 array (rows,)
        The value of each row, MISSING if there is none.
    asked : bool array (rows,)
        Whether the row has an asked value.
    """
    if not len(found) or asked.any():
        return
    there = np.unique(found[found != MISSING])
    some = ", ".join(map(str, there[:SHOWN])) + (", ..." if len(there) > SHOWN else "")
    say(
        f"query {request.query} asks for {what}, which none of {len(found)} rows of {request.input}"
        f" has: {f'there are {some}' if len(there) else 'they have none at all'}"
    )


class _Sales(NamedTuple):
    records: np.ndarray
    tickets: np.ndarray  # by code
    items: _Items
    rejected: list[Rejected]


def _sales(request: Request, paid: bool) -> _Sales:
    """Return the records of sales, and the values that their codes stand for."""
    path = request.input
    holding = {name: WHOLE for name in ("ticket_number", "item_sk", "store_sk")}
    read = _input(request, "sold", holding | ({"net_paid": MONEY} if paid else {}))
    table = read.table
    items = _items(request, whole(path, table, "item_sk"))
    times = seconds(path, table, "sold")
    _say_of_times(request, read, times)
    tickets, (ticket,) = coded(whole(path, table, "ticket_number"))
    store = whole(path, table, "store_sk")
    money = hundredths(path, table, "net_paid") if paid else np.zeros(len(times), np.int64)
    records = np.stack([times, ticket, items.codes, store, money], axis=1)
    return _Sales(records, tickets, items, read.rejected)


def _q1(request: Request) -> Prepared:
    sales = _sales(request, paid=False)
    store = sales.records[:, q1.STORE]
    _say_unasked(request, f"stores {', '.join(map(str, STORES))}", store, np.isin(store, STORES))
    _say_of_categories(request, sales.items, sales.records[:, q1.ITEM])
    pipeline = _baskets(sales.records, sales.items.categories, len(sales.tickets))
    return Prepared(sales.records, pipeline, sales.items.labels, sales.rejected)


def _say_of_categories(request: Request, items: _Items, codes: np.ndarray) -> None:
    """Report that no item is in the categories that queries 1 and 3 ask for."""
    category = np.where(codes == MISSING, MISSING, items.categories[codes])
    asked = (category >= q3.FIRST_CATEGORY) & (category <= q3.LAST_CATEGORY)
    what = f"categories {q3.FIRST_CATEGORY} to {q3.LAST_CATEGORY} of {request.items}"
    _say_unasked(request, what, category, asked)


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
    store, moment = sales.records[:, q1.STORE], sales.records[:, q1.TIME]
    _say_unasked(request, f"store {request.store}", store, store == request.store)
    years = moment.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    _say_unasked(request, f"sales of {request.year}", years, years == request.year)
    return Prepared(
        sales.records,
        lambda rows: q15.make(sales.items.categories, request.store, first, end - 1),
        sales.items.labels,
        sales.rejected,
    )


class _Clicks(NamedTuple):
    records: np.ndarray
    users: int
    item: np.ndarray  # of each record, as in the file
    rejected: list[Rejected]


def _clicks(request: Request) -> _Clicks:
    """Return the records of clicks, with coded users."""
    path = request.input
    names = ("user_sk", "item_sk", "web_page_sk", "sales_sk")
    read = _input(request, "click", dict.fromkeys(names, OPTIONAL))
    table = read.table
    times = seconds(path, table, "click")
    _say_of_times(request, read, times)
    user, item, page, sale = (whole(path, table, name, optional=True) for name in names)
    _say_unasked(request, "a user_sk", user, user != MISSING)
    users, (user,) = coded(user)
    records = np.stack([times, user, item, page, sale], axis=1)
    return _Clicks(records, max(len(users), 1), item, read.rejected)


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
    _say_of_categories(request, items, items.codes)
    most = q3.most_of(records, items.categories)
    pipeline = q3.make(items.categories, users, most)
    return Prepared(records, lambda rows: pipeline, items.labels, rejected)


def _q4(request: Request) -> Prepared:
    records, users, item, rejected = _clicks(request)
    path = request.pages
    read = read_usable(path, {"web_page_sk": WHOLE, "type": ANYTHING}, remedy=MEND)
    listed = whole(path, read.table, "web_page_sk")
    types = np.array(column(path, read.table, "type").fill_null("").to_pylist(), dtype=object)
    _check_once(path, read, listed, types, ("page", "type"))
    _say_of_types(path, types)
    pages, (records[:, q2.PAGE], listed) = coded(records[:, q2.PAGE], listed)
    kinds = np.full(max(len(pages), 1), MISSING, dtype=np.int64)
    kinds[listed] = np.select([types == "dynamic", types == "order"], [q4.DYNAMIC, q4.ORDER],
                              q4.OTHER)  # fmt: skip
    return Prepared(records, lambda rows: q4.make(kinds, users), coded(item)[0], rejected)


def _say_of_types(path: Path, types: np.ndarray) -> None:
    """Report that a type of page is missing without which query 4 finds no cart or no order."""
    absent = [name for name in ("dynamic", "order") if name not in types]
    if absent:
        there = sorted(set(types))
        some = ", ".join(map(repr, there[:SHOWN])) + (", ..." if len(there) > SHOWN else "")
        some = some or "no pages"
        say(f"query q4: no page of {path} has the type {' or '.join(absent)}; there are {some}")


_PREPARED = {"q1": _q1, "q2": _q2, "q3": _q3, "q4": _q4, "q15": _q15}


# --- baskets of another form ---------------------------------------------------------------------


def _mapped(request: Request) -> Prepared:
    """Read baskets: kept rows count as sold in a store and category that the query asks for.

    # ASSUME: recorded baskets have neither stores nor categories; kept rows pass query 1's filter,
    # and the others do not.
    """
    mapping = read_mapping(request.mapping)
    path, named = request.input, mapping.columns
    holding = dict.fromkeys([one.column for one in mapping.keep], ANYTHING)
    holding |= {named["time"]: TIME, named["ticket"]: LABEL, named["item"]: LABEL}
    read = read_usable(path, holding, request.time_unit, request.rejected is not None)
    table = read.table
    moment = in_order(path, whole(path, table, named["time"]))
    _say_of_times(request, read, moment)
    kept_rows = kept(path, table, declared_types(path), mapping.keep)
    ticket, tickets = code_keys(column(path, table, named["ticket"]))
    item, items = code_keys(column(path, table, named["item"]))
    store = np.where(kept_rows, KEPT_STORE, 0)
    records = np.stack([moment, ticket, item, store, np.zeros_like(store)], axis=1)
    categories = np.full(max(len(items), 1), KEPT_CATEGORY, dtype=np.int64)
    return Prepared(records, _baskets(records, categories, len(tickets)), items, read.rejected)
