"""Multiway aggregates: Add, S-Merge, Update and Output over many timestamp-sorted streams.

Read `reference` (what is right), `plan` and `functions` (what can be asked), then one variant:
`mq`, `mqlf` or `tumlsc`. Each puts a gate into the frame of `one_output_thread`, which does
`update_output` on the state of `winsets`, with `sink` for its rows.
"""
