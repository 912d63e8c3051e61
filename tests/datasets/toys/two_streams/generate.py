"""Rows of the toy: S has half as many as R, and there are ten items."""

from pyspark.sql import functions as F

from datasets.expressions import Generator, TableRows, below, happens, uniform

ITEMS = 10


def timed_r(frame, seed, ids):
    """Spread the rows over as many ms, so that some tie."""
    return frame.select(below(seed, "R time", ids, F.col("id")).alias("ts"), "id")


def completed_r(frame, seed):
    """Add coordinates and item."""
    row_id = F.col("id")
    return frame.withColumns(
        {
            "x": below(seed, "x", 1_000, row_id).cast("int"),
            "y": uniform(seed, "y", row_id),
            "item": below(seed, "item", ITEMS, row_id),
        }
    )


def timed_s(frame, seed, ids):
    """Drop a row in eight."""
    row_id = F.col("id")
    kept = frame.where(~happens(seed, "lost", 0.125, row_id))
    return kept.select(below(seed, "S time", ids, row_id).alias("at"), "id")


def completed_s(frame, seed):
    """Add coordinate, flag and note."""
    row_id = F.col("id")
    flag = F.when(~happens(seed, "unknown", 0.25, row_id), happens(seed, "flag", 0.5, row_id))
    return frame.withColumns(
        {
            "a": below(seed, "a", 1_000, row_id).cast("int"),
            "flag": flag,
            "note": F.concat(F.lit("note "), row_id.cast("string")),
        }
    )


def completed_items(frame, seed):
    """Number the items."""
    row_id = F.col("id")
    price = F.when(row_id > F.lit(0), uniform(seed, "price", row_id))
    return frame.withColumns(
        {"item": row_id, "price": price, "name": F.concat(F.lit("é"), row_id.cast("string"))}
    )


GENERATOR = Generator(
    tables={
        "R": TableRows(ids=lambda rows: rows, completed=completed_r, timed=timed_r),
        "S": TableRows(ids=lambda rows: max(1, rows // 2), completed=completed_s, timed=timed_s),
        "items": TableRows(ids=lambda rows: ITEMS, completed=completed_items),
    },
    parameters=lambda rows: {"rows": rows, "items": ITEMS},
)
