"""`web_clickstreams`: clicks of visitors and buyers, the items and the pages of the shop."""

from datasets.declare import Column, DatasetDeclaration, Table
from datasets.shop_tables import ITEM

DATASET = DatasetDeclaration(
    name="web_clickstreams",
    role="clicks",
    title="Generated clicks in a web shop (TPCx-BB)",
    tables=(
        Table(
            "clicks",
            (
                Column("time", "int64", "s", "when it was clicked, since 1970 UTC"),
                Column("row", "int64", "1", "place in time order, from 0"),
                Column("user_sk", "int64", "1", "who clicked, from 1", nullable=True),
                Column("item_sk", "int64", "1", "the item looked at", nullable=True),
                Column("web_page_sk", "int64", "1", "the page, from 1", nullable=True),
                Column("sales_sk", "int64", "1", "the sale, where the click bought", nullable=True),
            ),
            time="time",
            time_unit="s",
            row="row",
        ),
        ITEM,
        Table(
            "pages",
            (
                Column("web_page_sk", "int64", "1", "the page, from 1"),
                Column("type", "string", "", "one of eight kinds"),
            ),
        ),
    ),
    rows={"quick": 100_000, "laptop": 400_000, "paper": 6_800_000},
)
