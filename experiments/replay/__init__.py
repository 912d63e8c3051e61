"""What ``millrace replay`` does: an operator over the user's own files, a package a family.

Replays import operators and data sets only, and nothing that times or judges. A family's replay is
a module or a package here by the family's name: ``ABOUT`` and ``EXAMPLES`` for ``--help``,
``add_arguments(parser)`` and ``run(options)``; ``NAMED`` where no variant is named. A folder of the
same name elsewhere on Python's path joins in.

The modules are what all of them share. ``command`` has their common options, ``files`` names,
lengths of time and outputs; ``reading`` turns CSV and Parquet into columns of integers, ``values``
keeps numbers exact, ``keys`` numbers keys by rank, ``faults`` says what is wrong with a value;
``bands`` and ``windows`` are those of joins, ``writing`` how an output thread writes.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
