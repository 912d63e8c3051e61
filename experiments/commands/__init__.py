"""What each subcommand of ``millrace`` does: a module a command, over what the workflow calls.

``arguments`` has all of their options and imports nothing that takes time, so that ``--help`` and
a slip in an option are answered at once.
"""
