"""StreamCloud: queries, how they are split into subqueries, and the plans these run by.

Read `algebra` (what a query is made of), `yaml_form` (how it is written), `reference` (what it must
put out), then how it becomes a plan: `partition`, `plan` and `compiler`.
"""
