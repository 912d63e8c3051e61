"""The code of ``millrace replay``: an operator over the user's files, a package per family.

Replays import operators and data sets only, and no code that times or judges. A family's replay is
a module or a package here, named like the family: ``ABOUT`` and ``EXAMPLES`` for ``--help``,
``add_arguments(parser)`` and ``run(options)``; ``NAMED`` if no variant is named. A folder of the
same name elsewhere on Python's path is merged in.

The modules are shared by all of them: ``command`` has the common options; ``files`` checks names,
lengths of time and outputs; ``reading`` turns CSV and Parquet into columns of integers; ``values``
keeps numbers exact; ``keys`` numbers keys by rank; ``faults`` describes faulty values; ``stages``
is the clock of a replay's parts and the live line; ``bands`` and ``windows`` are for joins;
``writing`` is for output threads.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
