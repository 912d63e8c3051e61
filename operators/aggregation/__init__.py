"""Multiway aggregates: Add, S-Merge, Update and Output over many timestamp-sorted streams.

Read `reference` (what is right), `plan` and `functions` (what can be asked), then one variant:
`mq`, `mqlf` or `tumlsc`. What the output thread does, those three share: `update_output` on the
state of `winsets`, with `sink` for its rows.
"""
