"""The figures of "Efficient data streaming multiway aggregation", by their numbers there."""

# What the report puts together, in its order: a short heading, one sentence, and the figures.
GROUPS = (
    (
        "Sorting alone",
        "Many sorted streams become one: the step that a single thread does in MQ and MQLF.",
        ("fig_07",),
    ),
    (
        "What the threads do, and how long it takes",
        "20 inputs: the duration of the threads' operations, the throughput that follows from"
        " them, and the latency at every rate up to saturation.",
        ("fig_08", "fig_09", "fig_10", "fig_11"),
    ),
    (
        "Few keys and many",
        "243 meters against 40,000 songs: more keys, more output.",
        ("fig_13", "fig_14", "fig_15", "fig_16"),
    ),
    (
        "Ten windows a tuple, and twenty",
        "Every tuple updates each window that it falls into.",
        ("fig_18", "fig_19", "fig_20", "fig_21"),
    ),
    (
        "Dearer functions",
        "The function reads the text of a comment, for one kind of address and for two.",
        ("fig_23", "fig_24", "fig_25", "fig_26"),
    ),
    (
        "More update threads",
        "TuMLMC: the keys of one aggregate divided among threads that all read every tuple.",
        ("fig_28", "fig_29", "fig_30", "fig_31", "fig_32", "fig_33"),
    ),
)
