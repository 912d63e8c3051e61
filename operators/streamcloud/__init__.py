"""StreamCloud: queries, the subqueries they are split into, and the plans that run them.

Read `algebra` (the operators of a query), `yaml_form` (the file format), `reference` (the output
that every run must match), then the way to a plan: `partition`, `plan` and `compiler`.
"""
