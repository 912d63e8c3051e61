"""`cell_join`: the streams R and S of the CellJoin benchmark, and sending rates."""

from datasets.declare import Column, DatasetDeclaration, Table

# ASSUME: one tuple per millisecond. The paper varies the sending rates; for another rate, a reader
# assigns other times to the same rows.
TIME = Column("ts", "int64", "us", "when the tuple was made: 1,000 times its row")

DATASET = DatasetDeclaration(
    name="cell_join",
    role="streams",
    title="Generated streams R and S of the CellJoin benchmark (ScaleJoin)",
    tables=(
        Table(
            "r",
            (
                TIME,
                Column("row", "int64", "1", "place in R, from 0"),
                Column("x", "int32", "1", "uniform whole number, 1 to 10,000"),
                Column("y", "float32", "1", "uniform in [1, 10,000]"),
                Column("z", "string", "", "20 letters and digits, one byte each"),
            ),
            time="ts",
            time_unit="us",
            row="row",
        ),
        Table(
            "s",
            (
                TIME,
                Column("row", "int64", "1", "place in S, from 0"),
                Column("a", "int32", "1", "uniform whole number, 1 to 10,000"),
                Column("b", "float32", "1", "uniform in [1, 10,000]"),
                Column("c", "float64", "1", "uniform in [0, 1)"),
                Column("d", "bool", "", "true for half of the tuples"),
            ),
            time="ts",
            time_unit="us",
            row="row",
        ),
        # Independent of size and seed: see `profiles`.
        Table(
            "rates",
            (
                Column("profile", "string", "", "case study: constant, sinusoid or peaks"),
                Column("side", "string", "", "the logical stream: r or s"),
                Column("stream", "int32", "1", "physical stream of that side, from 0"),
                Column("second", "int64", "s", "from 0 to 299"),
                Column("tuples", "int64", "1", "tuples delivered in that second"),
            ),
        ),
    ),
    # ASSUME: the number of tuples per stream, which the paper does not give. The largest covers a
    # window of 15 minutes at 4,600 tuples per second, more than the 3,000 that the paper's system
    # S1 sustains there.
    rows={"quick": 1 << 18, "laptop": 1 << 20, "paper": 1 << 22},
)
