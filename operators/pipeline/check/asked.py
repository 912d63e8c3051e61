"""Of modules that pipelines of tuples and of blocks need, whose programs reach most of it."""

ASKED = dict.fromkeys(
    ("operators.pipeline.board", "operators.pipeline.stage", "operators.pipeline.state"),
    "pipeline/ct",
)
