"""What each subcommand of ``millrace`` does: one module a command, over the harness's functions.

``arguments`` has all of their options and imports nothing that takes time, so that ``--help`` and
a slip in an option are answered at once.
"""
