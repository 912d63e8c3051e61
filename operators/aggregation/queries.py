"""The twelve queries of the paper's Table 2, and one of ours without a group-by.

Source: "Efficient data streaming multiway aggregation", section 7.1, Table 2, and the group
headings above its rows.

# ASSUME: the text of the table lost the units and the columns DS and K. A window is given in *query
# time units*, and each dataset states how many ticks of its time make one. DS and K are read from
# the descriptions: readings are grouped by meter, comments by song.
# ASSUME: w and W stand for different counts of windows (10 and 20), f and F for the cost of
# the function.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.contract import UsageError


class Query(NamedTuple):
    """A row of Table 2.

    Attributes
    ----------
    id : str
        The paper's id.
    file_name : str
        The id in files, where no two names differ in case only.
    role : str
        Data of the query: "meters" or "comments".
    window_size, window_advance : int
        In query time units.
    function : str
    description : str
        The paper's words.
    grouped : bool
        Whether it has a group-by; without one there is one group.
    """

    id: str
    file_name: str
    role: str
    window_size: int
    window_advance: int
    function: str
    description: str
    grouped: bool = True


_TABLE_2 = (
    Query("k-OS", "few-keys-os", "meters", 30, 3, "first",
          "Forward the first consumption reading, group by meter (243 distinct keys)"),
    Query("K-OS", "many-keys-os", "comments", 30, 3, "first",
          "Forward the first comment, group by song (40,000 distinct keys)"),
    Query("w-OS", "ten-windows-os", "meters", 20, 2, "first",
          "Forward the first consumption reading, group by meter"
          " (each tuple contributes to 10 windows)"),
    Query("W-OS", "twenty-windows-os", "meters", 40, 2, "first",
          "Forward the first consumption reading, group by meter"
          " (each tuple contributes to 20 windows)"),
    Query("f-OS", "mail-os", "comments", 20, 2, "first-mail",
          "Forward the first comment containing a mail address, group by song"),
    Query("F-OS", "mail-ip-os", "comments", 20, 2, "first-mail-ip",
          "Forward the first comment containing a mail or an IP address, group by song"),
    Query("k-OI", "few-keys-oi", "meters", 30, 3, "count",
          "Count the number of consumption readings, group by meter (243 distinct keys)"),
    Query("K-OI", "many-keys-oi", "comments", 30, 3, "count",
          "Count the number of comments, group by song (40,000 distinct keys)"),
    Query("w-OI", "ten-windows-oi", "meters", 20, 2, "avg",
          "Compute the average consumption, group by meter"
          " (each tuple contributes to 10 windows)"),
    Query("W-OI", "twenty-windows-oi", "meters", 40, 2, "avg",
          "Compute the average consumption, group by meter"
          " (each tuple contributes to 20 windows)"),
    Query("f-OI", "mail-oi", "comments", 20, 2, "count-mail",
          "Count the number of comments containing a mail address, group by song"),
    Query("F-OI", "mail-ip-oi", "comments", 20, 2, "count-mail-ip",
          "Count the number of comments containing a mail or an IP address, group by song"),
)  # fmt: skip

# In no paper: all tuples meet in one group, which is the highest contention between threads.
_ALL = Query("all-OI", "no-key-oi", "meters", 30, 3, "count",
             "Count the number of consumption readings, all meters together",
             grouped=False)  # fmt: skip

QUERIES: dict[str, Query] = {query.id: query for query in (*_TABLE_2, _ALL)}


def query(query_id: str) -> Query:
    """Return a query by its id or by its file name.

    Raises
    ------
    UsageError
        When there is none; the message lists the existing ones.

    Examples
    --------
    >>> query("few-keys-oi").id
    'k-OI'
    """
    for candidate in QUERIES.values():
        if query_id in (candidate.id, candidate.file_name):
            return candidate
    raise UsageError(f"unknown query {query_id!r}; there are: {', '.join(QUERIES)}")
