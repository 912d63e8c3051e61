"""Modules of pipelines that no thread of a program runs, and why the ordinary tests judge them."""

ELSEWHERE = {
    "operators.pipeline.blocks.layout": "divides a pipeline before there are threads",
    "operators.pipeline.blocks.sending visits_of": (
        "counts before there are threads; tests/operators/pipeline/test_scheduled_blocks.py"
    ),
    "operators.pipeline.stage partition_of": (
        "which partition a key has changes no output; tests/operators/test_small_numbers.py"
    ),
    "operators.pipeline.declare": "checks a pipeline before there are threads",
    "operators.pipeline.queries.parametric": "has the operators of benches; programs bring theirs",
    "operators.pipeline.queries.table_1": "has the operators of benches; programs bring theirs",
}
