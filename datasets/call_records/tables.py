"""`call_records`: call description records, and the suspicious numbers joined with them.

The columns of a call are those of section IV-B of the paper, and a mark; the queries of
`operators.streamcloud.queries` read them unchanged.
"""

from datasets.declare import Column, DatasetDeclaration, Table

DATASET = DatasetDeclaration(
    name="call_records",
    role="calls",
    title="Generated call records and suspicious numbers (StreamCloud)",
    tables=(
        Table(
            "calls",
            (
                Column("emitted", "int64", "s", "when the record was emitted, since 1970 UTC"),
                Column("row", "int64", "1", "place in time order, from 0"),
                Column("caller", "int64", "1", "number that called"),
                Column("called", "int64", "1", "number that was called"),
                Column("start", "int64", "s", "when the call began, since 1970 UTC"),
                Column("duration", "int64", "s", "length of the call, 1 or more"),
                Column("district", "int64", "1", "where it was made, from 1"),
                Column("x", "int64", "m", "coordinate to the east"),
                Column("y", "int64", "m", "coordinate to the north"),
                Column("called_often", "int64", "1", "1 where the called number is called often"),
            ),
            time="emitted",
            time_unit="s",
            row="row",
            key="district",
            value="duration",
        ),
        Table(
            "suspects",
            (
                Column("ts", "int64", "s", "when the number was announced, since 1970 UTC"),
                Column("row", "int64", "1", "place in time order, from 0"),
                Column("number", "int64", "1", "a number on the list, which may call"),
            ),
            time="ts",
            time_unit="s",
            row="row",
        ),
    ),
    # Five minutes, fifty, and two hours and three quarters.
    rows={"quick": 300_000, "laptop": 3_000_000, "paper": 10_000_000},
    # The paper's windows are in seconds. An advance of ten seconds has 10,000 calls.
    query_time_unit=1,
    decimals=0,
)
