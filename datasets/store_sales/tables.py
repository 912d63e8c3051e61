"""`store_sales`: the lines of tickets, and the items sold."""

from datasets.declare import Column, DatasetDeclaration, Table
from datasets.shop_tables import ITEM

DATASET = DatasetDeclaration(
    name="store_sales",
    role="sales",
    title="Generated sales of a chain of stores (TPCx-BB)",
    tables=(
        Table(
            "sales",
            (
                Column("time", "int64", "s", "when the ticket was printed, since 1970 UTC"),
                Column("row", "int64", "1", "place in time order, from 0"),
                Column("ticket_number", "int64", "1", "the ticket, from 1"),
                Column("item_sk", "int64", "1", "the item sold"),
                Column("store_sk", "int64", "1", "the store, from 1"),
                Column("net_paid", "int64", "0.01", "what was paid for the line"),
            ),
            time="time",
            time_unit="s",
            row="row",
            key="ticket_number",
            value="net_paid",
        ),
        ITEM,
    ),
    rows={"quick": 100_000, "laptop": 400_000, "paper": 6_700_000},
    decimals=2,
)
