"""An aggregate's output equals the result of the same query in Spark SQL on the same data.

Other tests compare every variant with the oracle, so one variant is enough here to show that both
mean the same as Spark; ``-m full`` compares every one.

The implementations share nothing: Spark groups by ``window``, adds decimals, searches texts by
regular expressions, and sorts. Spark's windows reach back before 0 and Millrace's do not, so the
queries leave those out. The first tuple is determined by the total order, so Spark is given each
tuple's rank in that order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from datasets.read import load, split
from operators.aggregation.functions import (
    CODES,
    COUNT_MAIL,
    COUNT_MAIL_IP,
    COUNTS,
    LOW_BITS,
    NAMES,
    TEXT,
    averages,
    fixed_point,
    text_of,
)
from operators.aggregation.plan import AggregationPlan, Text, make_plan
from operators.aggregation.queries import QUERIES
from operators.aggregation.reference import text_matches
from operators.contract import Variant
from operators.registry import variants
from tests.covering import with_always
from tests.drivers import Streams, in_total_order, random_streams, scaled, through_aggregate
from tests.operators.aggregation.test_text_predicates import matches_of_all

DECIMALS = 3
# One or two of each set of queries that differ only in their windows: Spark takes seconds for each.
IN_EACH_RUN = ("K-OS", "k-OI", "W-OS", "w-OI", "f-OS", "F-OI")

MAIL = r"[A-Za-z0-9._%+-]@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2}"
OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"(?<![0-9.])(?:{OCTET}\.){{3}}{OCTET}(?![0-9]|\.[0-9])"

SELECT = {
    "count": "count(*)",
    # Exact in any order of addition: whole numbers are added, and divided once.
    "sum": "sum(cast(value as decimal(38, 0)))",
    "avg": f"cast(sum(cast(value as decimal(38, 0))) as double) / (count(*) * {10**DECIMALS})",
    "min": "min(value)",
    "max": "max(value)",
    "first": "min_by(value, place)",
    "count-mail": f"count_if(text rlike r'{MAIL}')",
    "count-mail-ip": f"count_if(text rlike r'{MAIL}|{IPV4}')",
    "first-mail": f"min_by(text, place) filter (where text rlike r'{MAIL}')",
    "first-mail-ip": f"min_by(text, place) filter (where text rlike r'{MAIL}|{IPV4}')",
}
MESSAGES = [
    "",
    "nothing here",
    "a@b.cc",
    "reach me at x.y@mail.org or 10.0.0.1",
    "v 1.2.3.4",
    "a@b",
]


def in_spark_sql(spark, functions: list[str], size: int, advance: int) -> dict[str, list[tuple]]:
    """Run the queries, in one pass, over the view `tuples` (time in s, key, value, text, place)."""
    results = ", ".join(f"{SELECT[name]} as `{name}`" for name in functions)
    rows = spark.sql(
        f"""
        select * from (
            select cast(window.start as bigint) as window_start, key, {results}
            from tuples
            group by window(timestamp_seconds(time), '{size} seconds', '{advance} seconds'), key
        )
        where window_start >= 0
        order by window_start, key
        """
    ).collect()
    # A group without a match gives no row.
    return {
        name: [
            (start, key, value) for start, key, *values in rows if (value := values[i]) is not None
        ]
        for i, name in enumerate(functions)
    }


def view(spark, streams: Streams, texts: list[str] | None = None) -> None:
    """Give Spark the tuples in no particular order, each with the rank."""
    timestamp, _, key, value = in_total_order(streams)
    shuffled = np.random.default_rng(0).permutation(len(timestamp))
    columns = {"time": timestamp, "key": key, "value": value, "place": np.arange(len(timestamp))}
    table = {name: pa.array(column[shuffled]) for name, column in columns.items()}
    chosen = [texts[v] for v in value[shuffled].tolist()] if texts else [""] * len(timestamp)
    table["text"] = pa.array(chosen)
    spark.createDataFrame(pa.table(table)).createOrReplaceTempView("tuples")


EACH = pytest.mark.parametrize(
    "most", [1, pytest.param(None, marks=pytest.mark.full)], ids=["one variant", "every variant"]
)


def offering(function: str, most: int | None) -> list[Variant]:
    """Return the variants that offer a function, at most `most` of them."""
    return [
        variant for variant in variants("aggregation") if function in variant.operations.functions
    ][:most]


def finished(plan: AggregationPlan, rows: np.ndarray, text: Text | None = None) -> list[tuple]:
    """Return (window start, key, value) of each row, as Spark gives it: fixed-point numbers."""
    name = NAMES[plan.function]
    if name in COUNTS or name in TEXT:
        values = rows[:, 2].tolist()
    elif name == "avg":
        values = averages(rows, DECIMALS).tolist()
    else:
        words = zip(*(part.tolist() for part in fixed_point(plan.function, rows)), strict=True)
        values = [(high << LOW_BITS) + low for high, low in words]
    if NAMES[plan.function].startswith("first-"):
        values = [text_of(*text, reference) for reference in values]
    return list(zip(rows[:, 0].tolist(), rows[:, 1].tolist(), values, strict=True))


@pytest.fixture(scope="module")
def numbers(spark) -> Streams:
    streams = random_streams(7, 4, scaled(2_000), keys=9, spread=2)
    return streams._replace(value=streams.value % 2_000_001 - 1_000_000)


@EACH
@pytest.mark.parametrize(("size", "advance"), [(30, 3), (30, 7)])
def test_numeric_functions_equal_spark_sql(spark, numbers, size, advance, most):
    view(spark, numbers)
    right = in_spark_sql(spark, sorted(set(CODES) - TEXT), size, advance)
    for function, answer in right.items():
        assert len(answer) > 20
        plan = make_plan(function, size, advance, keys=9, rows_capacity=9)
        for variant in offering(function, most):
            rows, _ = through_aggregate(variant, plan, numbers, ahead=16, threads=True)
            assert finished(plan, rows) == answer, (function, variant.id)


@EACH
def test_text_functions_equal_spark_sql(spark, numbers, most):
    streams = numbers._replace(value=np.abs(numbers.value) % len(MESSAGES))
    view(spark, streams, MESSAGES)
    right = in_spark_sql(spark, sorted(TEXT), 20, 2)
    encoded = [text.encode() for text in MESSAGES]
    text = Text(
        np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        np.frombuffer(b"".join(encoded), dtype=np.uint8),
    )
    for function, answer in right.items():
        plan = make_plan(function, 20, 2, keys=9, rows_capacity=9)
        for variant in offering(function, most):
            rows, _ = through_aggregate(variant, plan, streams, ahead=16, text=text, threads=True)
            assert finished(plan, rows, text) == answer, (function, variant.id)


@pytest.fixture(scope="module")
def sets(generated):
    """Return a small dataset of each role."""
    meters, comments = (generated(name).folder for name in ("smart_meter", "soundcloud"))
    made = [load(meters), load(comments, text=True)]
    return {dataset.info["role"]: dataset for dataset in made}


@pytest.fixture(scope="module")
def generated_text(sets) -> tuple[Text, list[str]]:
    """Return the texts of the generated comments, in the aggregate's form and as strings."""
    comments = sets["comments"]
    text = Text(comments.text_offsets, comments.text_bytes)
    return text, [text_of(*text, row) for row in range(len(comments.time))]


@EACH
@pytest.mark.parametrize("query_id", with_always(QUERIES, IN_EACH_RUN))
def test_the_queries_on_generated_data_equal_spark_sql(spark, sets, generated_text, query_id, most):
    query = QUERIES[query_id]
    dataset = sets[query.role]
    unit = dataset.info["query_time_unit"]
    size, advance = query.window_size * unit, query.window_advance * unit
    given = split(dataset, inputs=5)
    origin = given.timestamp.min() // advance * advance - size
    key = given.key if query.grouped else np.zeros_like(given.key)
    streams = Streams(given.offsets, given.timestamp - max(0, origin), key, given.value)
    text, texts = generated_text if query.function in TEXT else (None, None)
    view(spark, streams, texts)
    right = in_spark_sql(spark, [query.function], size, advance)[query.function]
    assert right, "nothing to compare"
    keys = int(key.max()) + 1
    plan = make_plan(query.function, size, advance, keys, rows_capacity=keys)
    for variant in offering(query.function, most):
        rows, _ = through_aggregate(variant, plan, streams, ahead=64, text=text, threads=True)
        assert finished(plan, rows, text) == right, variant.id


@pytest.mark.parametrize("code", [COUNT_MAIL, COUNT_MAIL_IP])
def test_the_scanners_are_the_regular_expressions_on_generated_text(generated_text, code):
    text, texts = generated_text
    right = [text_matches(NAMES[code], each.encode()) for each in texts]
    assert matches_of_all(code, *text).tolist() == right
    assert 0 < sum(right) < len(right)
