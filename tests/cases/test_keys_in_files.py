"""Keys, values and bands in files: their types, and the limits of exactness."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from tests.cases.files import Case, inputs_of, trying, values

TIMES, KEYS = [1, 2, 11], ["a", "b", "a"]
TEXTS = {
    "small.csv": values("1,a,5", "2,a,6"),
    "seven.csv": "t, k, v\n1, 7, 5\n2, 7, 6\n",
    "seven_plain.csv": values("1,7,5"),
    "digits.csv": values("1,a," + "3" * 5_000, "2,a,1"),
    "smallest.csv": values("1,a,-9223372036854775808", "2,a,5"),
    "too_small.csv": values("1,a,-9223372036854775809", "2,a,5"),
    "sensor.csv": values("1,a,69.88083514", "2,a,0.30000000000000004"),
    "below_zero.csv": values("1,a,-69.88083514", "2,a,-0.30000000000000004", "3,a,-7"),
    "more_digits.csv": values("1,a,0.1234567890123456789012", "2,a,7"),
    "no_key.csv": values("1,a,5", "2,,6"),
    "u64_text.csv": values("1,a,7", f"2,a,{2**64 - 1}"),
    "beyond.csv": values("1,a,1e400"),
    "digits_of_keys.csv": "ts,x\n1,0.1234567890123456789012\n2,0.1234567890123456789013\n",
    "pairs.csv": "ts,x\n1,5\n2,6\n",
    "far.csv": "ts,x\n1,1\n9,2\n",
}  # fmt: skip
TABLES = {
    "view.parquet": {"t": TIMES, "k": pa.array(KEYS).cast(pa.string_view()), "v": [5, 6, 7]},
    "large.parquet": {"t": TIMES, "k": pa.array(KEYS, pa.large_string()).dictionary_encode(),
                      "v": pa.array(["5", "6", "7"]).cast(pa.string_view())},
    "empty_key.parquet": {"t": TIMES, "k": ["a", "", "NULL"], "v": [5, 6, 7]},
    "null_key.parquet": {"t": TIMES, "k": ["a", None, "a"], "v": [5, 6, 7]},
    "double.parquet": {"t": TIMES, "k": KEYS, "v": [0.1 + 0.2, 2.5, 1e300]},
    "doubles.parquet": {"ts": [1, 2], "x": [0.1 + 0.2, 1e6 / 3]},
    "u64.parquet": {"t": TIMES, "k": pa.array([2**63 + 5, 1, 2**63 + 5], pa.uint64()),
                    "v": [5, 6, 7]},
    "u64_values.parquet": {"t": TIMES, "k": KEYS,
                           "v": pa.array([2**63 + 5, 1, 2**64 - 1], pa.uint64())},
    "sizes.parquet": {"ts": [1, 2, 3], "x": [1e300, 0.0, -1e-300]},
    "i64.parquet": {"t": TIMES, "k": [-5, 1, 1], "v": [5, 6, 7]},
    "double_keys.parquet": {"t": TIMES, "k": [7.0, -1.5, 7.0], "v": [5, 6, 7]},
    "nan_key.parquet": {"t": TIMES, "k": [7.0, float("nan"), 7.0], "v": [5, 6, 7]},
    "warehouse.parquet": {"t": TIMES, "k": pa.array([7, 8, 7]).cast(pa.decimal128(38, 0)),
                          "v": [5, 6, 7]},
    "warehouse_large.parquet": {"t": TIMES, "v": [5, 6, 7],
                                "k": pa.array([Decimal(10**22)] * 3, pa.decimal128(38, 0))},
    "warehouse_cents.parquet": {"t": TIMES, "v": [5, 6, 7],
                                "k": pa.array([Decimal("1.50")] * 3, pa.decimal128(10, 2))},
    "dates.parquet": {"t": TIMES, "k": [dt.date(2014, 6, 23)] * 3, "v": [5, 6, 7]},
}  # fmt: skip
CASES = {
    # Keys.
    "a key with a blank in one file": Case("agg --input seven.csv seven_plain.csv", (),
                                           ((0, 7, 16),)),
    "a view of text": Case("agg --input view.parquet", (),
                           ((0, "a", 5), (0, "b", 6), (10, "a", 7))),
    "a dictionary of large text": Case("agg --input large.parquet", (),
                                       ((0, "a", 5), (0, "b", 6), (10, "a", 7))),
    "the empty text as a key": Case("agg --input empty_key.parquet", (),
                                    ((0, "", 6), (0, "a", 5), (10, "NULL", 7))),
    "no key in text": Case("agg --input no_key.csv", ("row 2 (line 3)", "the key is empty")),
    "no key in Parquet": Case("agg --input null_key.parquet", ("row 2,", "the key is null")),
    "keys of unsigned 64 bits": Case("agg --input u64.parquet", (),
                                     ((0, 1, 6), (0, 2**63 + 5, 5), (10, 2**63 + 5, 7))),
    "keys that no integer of 64 bits has": Case(
        "agg --input u64.parquet i64.parquet",
        ("whole numbers from -5 to 9223372036854775813", "with a sign or without")),
    "keys that are doubles": Case("agg --input double_keys.parquet", (),
                                  ((0, -1.5, 6), (0, 7.0, 5), (10, 7.0, 7))),
    "doubles and whole numbers": Case("agg --input double_keys.parquet seven.csv", (),
                                      ((0, -1.5, 6), (0, 7.0, 16), (10, 7.0, 7))),
    "doubles and text": Case("agg --input double_keys.parquet small.csv",
                             ("holds numbers in", "'a' is no number")),
    "a key that is not a number": Case("agg --input nan_key.parquet",
                                       ("row 2,", "the key is null")),
    "decimals without a fraction": Case("agg --input warehouse.parquet", (),
                                        ((0, 7, 5), (0, 8, 6), (10, 7, 7))),
    "decimals beyond 64 bits": Case(
        "agg --input warehouse_large.parquet", ("'10000000000000000000000' is no whole number",)),
    "decimals with a fraction": Case(
        "agg --input warehouse_cents.parquet", ("holds decimal128(10, 2)", "write the column as")),
    "a key of another type": Case("agg --input dates.parquet",
                                  ("date32", "which cannot be used as key")),
    # Values.
    "the smallest integer": Case("agg --input smallest.csv --function min", (),
                                 ((0, "a", -(2**63)),)),
    "a smaller one": Case("agg --input too_small.csv --function min",
                          ("row 1", "does not fit 64 bits with a sign (-9223372036854775808 to")),
    "5,000 digits": Case("agg --input digits.csv", ("row 1", "does not fit 64 bits with a sign",)),
    "5,000 digits set aside": Case("agg --input digits.csv --rejected aside.csv",
                                   ("1 rows set aside",), ((0, "a", 1),)),
    "the largest double": Case("agg --input double.parquet --function max", (),
                               ((0, "a", 0.1 + 0.2), (0, "b", 2.5), (10, "a", 1e300))),
    "the first double": Case("agg --input double.parquet --function first", (),
                             ((0, "a", 0.1 + 0.2), (0, "b", 2.5), (10, "a", 1e300))),
    "the largest of a sensor": Case("agg --input sensor.csv --function max", (),
                                    ((0, "a", 69.88083514),)),
    "the smallest below zero": Case("agg --input below_zero.csv --function min", (),
                                    ((0, "a", -69.88083514),)),
    "the largest below zero": Case("agg --input below_zero.csv --function max", (),
                                   ((0, "a", -0.30000000000000004),)),
    "the smallest of many digits": Case("agg --input more_digits.csv --function min", (),
                                        ((0, "a", 0.12345678901234568),)),
    "values of unsigned 64 bits": Case(
        "agg --input u64_values.parquet", (), ((0, "a", 2**63 + 5), (0, "b", 1),
                                               (10, "a", 2**64 - 1))),
    "the smallest of unsigned 64 bits": Case(
        "agg --input u64_values.parquet --function min --window-size 20 --window-advance 20", (),
        ((0, "a", 2**63 + 5), (0, "b", 1))),
    "a sum that needs more": Case(
        "agg --input u64_values.parquet --window-size 20 --window-advance 20",
        ("sum 27670116110564327428 does not fit 64 bits", "--exact")),
    "the mean of unsigned 64 bits": Case(
        "agg --input u64_values.parquet --function avg --window-size 20 --window-advance 20", (),
        ((0, "a", 27670116110564327428 / 2), (0, "b", 1.0))),
    "unsigned 64 bits as text": Case("agg --input u64_text.csv --function max", (),
                                     ((0, "a", 2**64 - 1),)),
    "unsigned and below zero": Case(
        "agg --input u64_values.parquet below_zero.csv", ("u64_values.parquet, row 1",
                                                          "without one it does, and so would")),
    "no 64 bits at all": Case("agg --input beyond.csv", ("1e400 with 0 decimals does not fit 64",
                                                         "; leave the row out")),
    # Joins.
    "a band of doubles": Case(
        "pim --r doubles.parquet --s doubles.parquet --half-width 1e-9", (), ((0, 0), (1, 1))),
    "a band of sizes apart": Case(
        "pim --r sizes.parquet --self --half-width 1e-300", (), ((2, 1),)),
    "a theta join of doubles": Case(
        "replay join sequential --r doubles.parquet --s doubles.parquet --window 5"
        " --band x:x:1e-9 --purge opposite", (), ((1, 0, 0, 0, 0), (2, 0, 1, 0, 1))),
    "a band of unsigned 64 bits": Case(
        "pim --r u64.parquet --self --time t --key k --half-width 0", (), ((2, 0),)),
    "a band of 22 digits": Case("pim --r digits_of_keys.csv --self --half-width 1e-22", (),
                                ((1, 0),)),
    "a narrower band": Case("pim --r digits_of_keys.csv --self --half-width 9e-23", (), ()),
    "a half width of 20 digits": Case("pim --r i64.parquet --self --time t --key k --half-width"
                                      " 99999999999999999999", (), ((1, 0), (2, 0), (2, 1))),
    "a band of doubles in decimals": Case(
        "pim --r doubles.parquet --s doubles.parquet --half-width 1e-9 --decimals 12", (),
        ((0, 0), (1, 1))),
    "a half width of more decimals": Case(
        "pim --r doubles.parquet --s doubles.parquet --half-width 1e-9 --decimals 6",
        ("--half-width 1e-9 has 9 decimals", "give --decimals 9 at least")),
    "one thread of a join that has one": Case(
        "replay join b-plus-tree --key x --window-count 5 --r pairs.csv --s pairs.csv"
        " --half-width 0 --threads 1", (), ((0, 0), (1, 1))),
    "pairs further apart than the window": Case(
        "theta --purge own", ("1 of 3 pairs lie further apart than the window", "--purge opposite"),
        ((1, 0, 0, 0, 0), (9, 0, 1, 0, 0), (9, 0, 1, 0, 1)), 2),
    "pairs a window apart": Case("theta --purge opposite", (),
                                 ((1, 0, 0, 0, 0), (9, 0, 1, 0, 1))),
}  # fmt: skip

inputs = inputs_of(TEXTS, TABLES)
test_a_file_is_read_as_meant_or_a_word_is_said = trying(CASES)
