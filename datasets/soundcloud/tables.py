"""`soundcloud`: comments on 40,000 songs in the form for the multiway aggregation's queries."""

from datasets.declare import Column, DatasetDeclaration, Table

DATASET = DatasetDeclaration(
    name="soundcloud",
    role="comments",
    title="Generated comments on 40,000 songs",
    tables=(
        Table(
            "comments",
            (
                Column("time", "int64", "ms", "when the comment was written, since 1970 UTC"),
                Column("row", "int64", "1", "place in time order, from 0"),
                Column("key", "int64", "1", "the song"),
                Column("text", "string", "1", "the comment, UTF-8"),
                Column("user", "int64", "1", "who wrote it; null if the account is gone", True),
            ),
            time="time",
            time_unit="ms",
            row="row",
            key="key",
            text="text",
        ),
    ),
    rows={"quick": 400_000, "laptop": 10_000_000, "paper": 10_000_000},
    # Three query units, 10 hours, have 10,000 comments on average.
    query_time_unit=12_000_000,
)
