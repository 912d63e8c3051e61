"""What the replays of all families share: files read exactly and written whole.

``files`` has their names, lengths of time and outputs, ``reading`` turns CSV and Parquet into
columns of integers, ``keys`` numbers keys by rank. Each family's own replay is in
``experiments/families/<family>/replay``.
"""
