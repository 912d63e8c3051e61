"""The table that store sales and web clicks have in common."""

from datasets.declare import Column, Table

ITEM = Table(
    "items",
    (
        Column("item_sk", "int64", "1", "the item, from 1"),
        Column("category_id", "int64", "1", "its category, from 1"),
    ),
)
