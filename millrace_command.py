"""The door of the ``millrace`` command, under a name that nobody else has.

The packages behind it are called ``operators``, ``datasets``, ``experiments`` and ``figures``, and
so are folders of many people. Were one of these the door, Python would look for it in folders of
``PYTHONPATH`` first. Those still join in, behind ours (see ``operators/__init__.py``).
"""

import sys
import time
from pathlib import Path


def main() -> int:
    """Run the command over the arguments of this process, and return its exit status."""
    began = time.perf_counter()
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from experiments import cli

    return cli.start(began)


if __name__ == "__main__":
    sys.exit(main())
