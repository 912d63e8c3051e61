"""Of modules that several structures need, those whose programs reach most of them."""

ASKED = dict.fromkeys(
    (
        # Its timed markers are counted; of other families the times are only reported.
        "operators.core.histogram",
        "operators.pipeline.board",
        "operators.pipeline.stage",
        "operators.pipeline.state",
    ),
    "pipeline/ct",
)
