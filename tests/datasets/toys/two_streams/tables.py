"""A toy: two streams of different columns, each sorted by time, and an untimed table."""

from datasets.declare import Column, DatasetDeclaration, Table

DATASET = DatasetDeclaration(
    name="two_streams",
    role="band joins",
    title="Two streams and what their items cost",
    tables=(
        Table(
            "R",
            (
                Column("ts", "int64", "ms", "when it came"),
                Column("x", "int32", "1", "first coordinate"),
                Column("y", "float64", "1", "second coordinate"),
                Column("item", "int64", "1", "of the items"),
            ),
            time="ts",
            time_unit="ms",
            key="item",
        ),
        Table(
            "S",
            (
                Column("at", "int64", "s", "when it came"),
                Column("place", "int64", "1", "in the order of time"),
                Column("a", "int32", "1", "first coordinate"),
                Column("flag", "bool", "", "something or not", nullable=True),
                Column("note", "string", "", "a word"),
            ),
            time="at",
            time_unit="s",
            row="place",
        ),
        Table(
            "items",
            (
                Column("item", "int64", "1", "its number"),
                Column("price", "float64", "EUR", "what it costs", nullable=True),
                Column("name", "string", "", "what it is called"),
            ),
            key="item",
        ),
    ),
    rows={"quick": 1_000},
)
