"""`smart_meter`: readings of 243 meters in the form for the multiway aggregation's queries."""

from datasets.declare import Column, DatasetDeclaration, Table

DATASET = DatasetDeclaration(
    name="smart_meter",
    role="meters",
    title="Generated readings of 243 electricity meters",
    tables=(
        Table(
            "readings",
            (
                Column(
                    "time",
                    "int64",
                    "s",
                    "when the reading reached its concentrator, since 1970 UTC",
                ),
                Column("row", "int64", "1", "place in time order, from 0"),
                Column("key", "int64", "1", "the meter"),
                Column("value", "int64", "0.001 kWh", "energy of the quarter of an hour before"),
                Column("concentrator", "int32", "1", "through which the reading arrived"),
            ),
            time="time",
            time_unit="s",
            row="row",
            key="key",
            value="value",
        ),
    ),
    rows={"quick": 400_000, "laptop": 10_000_000, "paper": 10_000_000},
    # Three query units, 37,035 s, are 41.15 quarters of an hour: 10,000 readings of 243 meters.
    query_time_unit=12_345,
    decimals=3,  # kWh in whole Wh
)
