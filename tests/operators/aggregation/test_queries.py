"""Table 2, typed a second time from the paper."""

from __future__ import annotations

import pytest

from operators.aggregation.functions import CODES, ORDER_SENSITIVE
from operators.aggregation.queries import QUERIES, query
from operators.contract import UsageError

# ID, WS, WA, F as printed in section 7.1; the group heading says which are order-sensitive.
PRINTED = """
k-OS 30 3 first()        K-OS 30 3 first()        w-OS 20 2 first()
W-OS 40 2 first()        f-OS 20 2 first-mail()   F-OS 20 2 first-mail/IP()
k-OI 30 3 count()        K-OI 30 3 count()        w-OI 20 2 avg()
W-OI 40 2 avg()          f-OI 20 2 count-mail()   F-OI 20 2 count-mail/IP()
"""


def test_the_table_is_as_printed():
    words = iter(PRINTED.split())
    printed = {q: (int(ws), int(wa), f) for q, ws, wa, f in zip(*[words] * 4, strict=True)}
    declared = {
        q.id: (q.window_size, q.window_advance, q.function.replace("-ip", "/IP") + "()")
        for q in QUERIES.values()
    }
    # Not from the paper: the one query without a group-by.
    assert declared.pop("all-OI") == (30, 3, "count()")
    assert declared == printed
    assert [q.id for q in QUERIES.values() if not q.grouped] == ["all-OI"]


def test_order_sensitivity_is_the_group_of_the_id():
    assert {q.id for q in QUERIES.values() if q.function in ORDER_SENSITIVE} == {
        q for q in QUERIES if q.endswith("OS")
    }


def test_the_windows_a_tuple_contributes_to_are_as_described():
    for name, count in (("w-OS", 10), ("W-OS", 20), ("w-OI", 10), ("W-OI", 20), ("k-OI", 10)):
        assert QUERIES[name].window_size == count * QUERIES[name].window_advance


def test_meters_and_comments_follow_the_descriptions():
    for q in QUERIES.values():
        assert q.role == ("comments" if "comment" in q.description else "meters")
        assert q.function in CODES


def test_file_names_differ_in_more_than_case():
    assert len({q.file_name.lower() for q in QUERIES.values()}) == len(QUERIES) == 12 + 1


def test_a_query_is_found_by_both_names():
    assert query("K-OS") is query("many-keys-os") is QUERIES["K-OS"]
    with pytest.raises(UsageError, match="unknown query 'x'; there are: k-OS, K-OS"):
        query("x")
