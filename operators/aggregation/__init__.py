"""Multiway aggregates: Add, S-Merge, Update and Output over many timestamp-sorted streams.

Read `reference` (the correct rows), `plan` and `functions` (the possible queries), then one
variant: `mq`, `mqlf` or `tumlsc`. Each puts a gate into the frame of `one_output_thread`, which
does `update_output` on the state of `winsets`, with `sink` for the rows.
"""
