"""The subcommands of ``millrace``: a module per command, over the code that the workflow calls.

``arguments`` has the options of all commands and imports nothing slow, so that ``--help`` and
mistakes in the options are answered at once.
"""
