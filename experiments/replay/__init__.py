"""An operator over the user's own files: real threads, no timing, the same bytes every time.

``request`` checks what is asked for, before a file is opened; ``reading`` turns CSV and Parquet
into columns of integers; ``running`` gives each file an input thread and drains the output thread;
``writing`` makes the output appear whole or not at all.
"""
