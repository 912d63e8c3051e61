"""Times in files: the units assumed for them, and the kinds that are read."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from tests.cases.files import Case, inputs_of, trying, values

HOUR = "--window-size 1h --window-advance 1h"
TIMES, KEYS = [1, 2, 11], ["a", "b", "a"]
TEXTS = {
    "ms_baskets.csv": "when,inv,item\n1291191960000,1,a\n1291191999001,1,b\n",
    "all.yaml": "columns: {time: when, ticket: inv, item: item}\n",
    "days.csv": values("20140623,a,5", "20140624,a,6", "20140701,a,7"),
    "s.csv": values("1403517600,a,5"),
    "ms.csv": values("1403517600000,a,6"),
    "ns.csv": values("1403517600000000000,a,6"),
    "fraction.csv": values("1403517600.5,a,5", "1403517601.25,a,6"),
    "fine_fraction.csv": values("1403517600.5,a,5", "1403517601.00025,a,6"),
    "ms_fraction.csv": values("1403517600000.5,a,5"),
    "day_first.csv": values("23/06/2014,a,5"),
    "before.csv": values("1969-12-31,a,5"),
    "utc.csv": values("2019-10-01 00:00:00 UTC,a,5"),
    "never.csv": values("9999-12-31,a,5"),
}  # fmt: skip
TABLES = {
    "double_us.parquet": {"t": [1403517600e6, 1403517601e6, 1403517661e6], "k": KEYS,
                          "v": [5, 6, 7]},
    "double_s.parquet": {"t": [1403517600.5, None, 1403517661.25], "k": KEYS, "v": [5, 6, 7]},
    "year_2300.parquet": {"t": pa.array([dt.datetime(2300, 1, 1)], pa.timestamp("us")),
                          "k": ["a"], "v": [5]},
}  # fmt: skip
CASES = {
    # Units of times.
    "baskets in ms without a unit": Case(
        "q1 --input ms_baskets.csv --mapping all.yaml",
        ("are taken as s since 1970 and end in the year 42886", "give --time-unit ms"),
        (), 2),
    "baskets in ms": Case("q1 --input ms_baskets.csv --mapping all.yaml --time-unit ms", (),
                          ((1291190400, "a", "b", 1),)),
    "one file in s and one in ms": Case(
        f"agg --input s.csv ms.csv --time-unit s {HOUR}",
        ("ms.csv are taken as s since 1970", "in ms they would end in 2014: give --time-unit ms"),
        ((1403517600, "a", 5), (1403517600000, "a", 6)), 2),
    "one file in s and one in ms of no unit": Case(
        "agg --input s.csv ms.csv", ("look like s since 1970", "ms.csv like ms"),
        ((1403517600, "a", 5), (1403517600000, "a", 6)), 2),
    "s taken as ms": Case(
        f"agg --input s.csv --time-unit ms {HOUR}",
        ("end in the year 1970; in s they would end in 2014: give --time-unit s",),
        ((1400400000, "a", 5),), 2),
    "ns taken as us": Case(
        f"agg --input ns.csv --time-unit us {HOUR}", ("divide them by 1000 and count in us",),
        ((1403517600000000000, "a", 6),), 2),
    "days in eight digits": Case(
        "agg --input days.csv --time-unit s --window-size 1d --window-advance 1d",
        ("such as 20140701, is also a date in eight digits; dates are written 2014-07-01",),
        ((20131200, "a", 18),), 2),
    # Kinds of times.
    "doubles in us": Case(
        "agg --input double_us.parquet --time-unit us --window-size 1m --window-advance 1m", (),
        ((1403517600000000, "a", 5), (1403517600000000, "b", 6), (1403517660000000, "a", 7))),
    "seconds with a fraction": Case(
        "agg --input fraction.csv --time-unit ms --window-size 1s --window-advance 1s",
        ("have fractions and are taken as s since 1970, counted in ms",),
        ((1403517600000, "a", 5), (1403517601000, "a", 6)), 2),
    "doubles with a fraction and a gap": Case(
        "agg --input double_s.parquet --time-unit us --window-size 1m --window-advance 1m"
        " --rejected aside.csv", ("have fractions", "1 rows set aside"),
        ((1403517600000000, "a", 5), (1403517660000000, "a", 7)), 2),
    "seconds with too fine a fraction": Case(
        "agg --input fine_fraction.csv --time-unit ms",
        ("row 2 (line 3)", "1403517601.00025 is finer than the time unit ms", "finer --time-unit")),
    "ms with a fraction": Case("agg --input ms_fraction.csv --time-unit ms",
                               ("1403517600000.5 is no whole number of ms since 1970",)),
    "seconds with a fraction and no unit": Case("agg --input fraction.csv",
                                                ("1403517600.5 is no time", "--time-unit s|ms|us")),
    "a time that ends in UTC": Case(f"agg --input utc.csv --time-unit s {HOUR}", (),
                                    ((1569888000, "a", 5),)),
    "a time after 2262": Case(
        "agg --input year_2300.parquet --time-unit s --window-size 1m --window-advance 1m", (),
        ((10413792000, "a", 5),)),
    "the year 9999": Case(
        "agg --input never.csv --time-unit s --window-size 1d --window-advance 1d", (),
        ((253402214400, "a", 5),)),
    "a day first": Case("agg --input day_first.csv --time-unit s",
                        ("23/06/2014 is no time (such as 2014-06-23T10:00:00Z",)),
    "a time before 1970": Case("agg --input before.csv --time-unit s", ("is before 1970",)),
}  # fmt: skip

inputs = inputs_of(TEXTS, TABLES)
test_a_file_is_read_as_meant_or_a_word_is_said = trying(CASES)
