"""What the replays of all families share: files read exactly and written whole.

``command`` has their common options, ``files`` names, lengths of time and outputs; ``reading``
turns CSV and Parquet into columns of integers, ``values`` keeps numbers exact, ``keys`` numbers
keys by rank, ``faults`` says what is wrong with a row; ``bands`` and ``windows`` are those of
joins, ``writing`` and ``handing`` how an output thread writes. Each family's own replay is in
``experiments/families/<family>/replay``.
"""
