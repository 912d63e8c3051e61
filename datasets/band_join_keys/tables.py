"""`band_join_keys`: keys of R and S, one table per distribution, and a drifting stream."""

from datasets.declare import Column, DatasetDeclaration, Table


def two_streams(name: str, distribution: str) -> Table:
    """Return the table of a distribution; row n of R arrives before row n of S."""
    return Table(
        name,
        (
            Column("row", "int64", "1", "place in each of the two streams, from 0"),
            Column("r", "int32", "1", f"key of the tuple of R, {distribution}"),
            Column("s", "int32", "1", f"key of the tuple of S, {distribution}"),
        ),
        row="row",
    )


DATASET = DatasetDeclaration(
    name="band_join_keys",
    role="keys",
    title="Generated keys of two streams (PIM-Tree)",
    tables=(
        two_streams("uniform", "uniform over all of 32 bits"),
        two_streams("gaussian", "N(0.5, 0.125) times 2**29"),
        two_streams("gamma_3_3", "Gamma of shape 3 and scale 3 times 2**24"),
        two_streams("gamma_1_5", "Gamma of shape 1 and scale 5 times 2**24"),
        Table(
            "drift",
            (
                Column("row", "int64", "us", "place in the stream, from 0"),
                Column("normal", "float64", "1", "standard normal variate"),
                Column("shift", "float64", "1", "how far the drift has come, 0 to 1"),
            ),
            # ASSUME: one tuple per tick. The paper counts windows in tuples and gives no times;
            # here the time is that of Figure 13c. The tables above need none.
            time="row",
            time_unit="us",
            row="row",
        ),
    ),
    # `drift` has twice as many rows, and at most the paper's 16 * 2**20.
    rows={"quick": 1 << 19, "laptop": 1 << 23, "paper": 1 << 26},
)
