"""Files as programs write them: encodings, delimiters, ways to write numbers, broken containers."""

from __future__ import annotations

import gzip

import pyarrow as pa

from tests.cases.files import Case, inputs_of, trying, values

SMALL = values("1,a,5", "2,a,6")
WIDE = [f"c{number}" for number in range(5_000)]
TEXTS = {
    # Encodings and lines.
    "bom.csv": b"\xef\xbb\xbf" + b'"t","k","v"\n1,"a",5\n',
    "utf16.csv": SMALL.encode("utf-16"),
    "utf16_no_bom.csv": SMALL.encode("utf-16-le"),
    "latin.csv": values("1,a,5", "2,ä,6").encode("latin-1"),
    "mixed.csv": b"t,k,v\r\n1,a,5\n2,a,6\r\n",
    "zero_byte.csv": values("1,a\0,5"),
    "empty.csv": "",
    "header.csv": "t,k,v\n",
    # Delimiters and headers.
    "semicolons.csv": SMALL.replace(",", ";"),
    "tabs.csv": SMALL.replace(",", "\t"),
    "quoted_tabs.csv": '"t"\t"k"\t"v"\n1\ta\t5\n',
    "no_names.csv": "t,k,v,,\n1,a,5,,\n",
    "wide.csv": f"t,k,v,{','.join(WIDE)}\n1,a,5,{','.join('0' for _ in WIDE)}\n",
    "comment.csv": f"# of 2014\n{SMALL}",
    "one_more.csv": "t,k,v\n1,a,5,\n",
    # Numbers.
    "thousands.csv": values('1,a,"1,000"'),
    "comma.csv": values('1,a,"1,5"'),
    "hexadecimal.csv": values("1,a,0x10"),
    "underscore.csv": values("1,a,1_000"),
    "powers.csv": values("1,a,1e3", "1e1,a,2.5E-1"),
    "plus.csv": values("+1,a,+5", "02,a,06"),
    "no_digits.csv": values("1,a,.5", "2,a,5."),
    "zeros.csv": values("1,007,5", "2,7,6"),
    "infinite.csv": values("1,a,inf"),
    "nan.csv": values("1,a,5", "2,a,NaN"),
    "yes.csv": values("1,a,true"),
    "total.csv": values("1,a,5", "Total,,5"),
    # Containers.
    "plain.csv.gz": SMALL,
    "short.csv.gz": gzip.compress((SMALL + "3,a,1\n" * 9_999).encode())[:-20],
    "behind.csv.gz": gzip.compress(SMALL.encode()) + b"no gzip",
    "two.csv.gz": gzip.compress(SMALL.encode()) + gzip.compress(b"3,a,1\n"),
    "gzip.csv": gzip.compress(SMALL.encode()),
    "text.parquet": SMALL,
    "other.txt": SMALL,
}  # fmt: skip
TABLES = {
    "no_rows.parquet": {"t": pa.array([], pa.int64()), "k": pa.array([], pa.string()),
                        "v": pa.array([], pa.int64())},
    "blank_name.parquet": {"t": [1], "k ": ["a"], "v": [5]},
    "true.parquet": {"t": [1], "k": [True], "v": [5]},
    "lists.parquet": {"t": [1], "k": [["a"]], "v": [5]},
    "nan.parquet": {"t": [1, 2], "k": ["a", "a"], "v": [5.0, float("nan")]},
    "coded.parquet": {"t": pa.array([1, 2]).dictionary_encode(),
                      "k": pa.array([7, 8]).dictionary_encode(),
                      "v": pa.array([5, 6]).dictionary_encode()},
}  # fmt: skip
ELEVEN = ((0, "a", 11),)
CASES = {
    "a byte order mark in front of quotes": Case("agg --input bom.csv", (), ((0, "a", 5),)),
    "UTF-16": Case("agg --input utf16.csv", ("holds UTF-16 text", "convert it to UTF-8")),
    "UTF-16 without a mark": Case("agg --input utf16_no_bom.csv", ("binary", "UTF-8")),
    "Latin-1": Case("agg --input latin.csv", ("row 2 (line 3): not UTF-8", "--rejected")),
    "ends of lines of two kinds": Case("agg --input mixed.csv", (), ELEVEN),
    "a zero byte": Case("agg --input zero_byte.csv", (), ((0, "a\0", 5),)),
    "no bytes": Case("agg --input empty.csv", ("is empty (0 bytes)",)),
    "a header only": Case("agg --input header.csv", ("0 rows from 0 tuples",), ()),
    "semicolons": Case("agg --input semicolons.csv",
                       ("its header is t;k;v", "parted by ';'", "convert the file")),
    "tabs": Case("agg --input tabs.csv", ("parted by '\\t', and commas are read",)),
    "tabs and quotes": Case("agg --input quoted_tabs.csv", ("parted by '\\t'",)),
    "columns without a name": Case("agg --input no_names.csv", (), ((0, "a", 5),)),
    "thousands of columns": Case("agg --input wide.csv", (), ((0, "a", 5),)),
    "a comment": Case("agg --input comment.csv", ("its header is # of 2014",)),
    "a comma at the end": Case("agg --input one_more.csv", ("row 1 (line 2)", "too many fields")),
    "marks of thousands": Case("agg --input thousands.csv", ("1,000 is no number", "--rejected")),
    "a decimal comma": Case("agg --input comma.csv", ("1,5 is no number",)),
    "a hexadecimal number": Case("agg --input hexadecimal.csv", ("0x10 is no number",)),
    "an underscore": Case("agg --input underscore.csv", ("1_000 is no number",)),
    "powers of ten": Case("agg --input powers.csv", (), ((0, "a", 1000.0), (10, "a", 0.25))),
    "signs and zeros in front": Case("agg --input plus.csv", (), ELEVEN),
    "a point at an end": Case("agg --input no_digits.csv", (), ((0, "a", 5.5),)),
    "zeros in front of a key": Case("agg --input zeros.csv", (), ((0, "007", 5), (0, "7", 6))),
    "an infinite value": Case("agg --input infinite.csv", ("inf is no number",)),
    "what is no number": Case("agg --input nan.csv", ("row 2", "the value is null (NaN)")),
    "what is no number in Parquet": Case("agg --input nan.parquet", ("the value is null (nan)",)),
    "what is no number set aside": Case("agg --input nan.csv --rejected aside.csv",
                                        ("1 rows set aside",), ((0, "a", 5),)),
    "a truth value": Case("agg --input yes.csv", ("true is no number",)),
    "a line of totals": Case("agg --input total.csv", ("row 2 (line 3)", "Total is no time")),
    "text named gzip": Case("agg --input plain.csv.gz", ("not gzip: it holds plain text",)),
    "half a gzip": Case("agg --input short.csv.gz", ("broken or cut short", "fetch")),
    "something behind a gzip": Case("agg --input behind.csv.gz", ("broken or cut short",)),
    "two gzips in one": Case("agg --input two.csv.gz", (), ((0, "a", 12),)),
    "gzip named text": Case("agg --input gzip.csv", ("holds gzip", "rename it")),
    "text named Parquet": Case("agg --input text.parquet", ("is not Parquet", "rename it")),
    "another ending": Case("agg --input other.txt", (".csv, .csv.gz, .parquet", "rename it")),
    "Parquet without rows": Case("agg --input no_rows.parquet", ("0 rows from 0",), ()),
    "a blank behind a name": Case("agg --input blank_name.parquet", ("no column named 'k'",
                                                                     "is t, 'k ', v")),
    "that name": Case("agg --input blank_name.parquet --key 'k '", (), ((0, "a", 5),)),
    "keys that are true": Case("agg --input true.parquet", ("holds bool", "write the column as")),
    "keys that are lists": Case("agg --input lists.parquet", ("cannot be used as key",)),
    "dictionaries of numbers": Case("agg --input coded.parquet", (), ((0, 7, 5), (0, 8, 6))),
}  # fmt: skip

inputs = inputs_of(TEXTS, TABLES)
test_a_file_is_read_as_meant_or_a_word_is_said = trying(CASES)
