"""The cache files of the compiled kernels of this process.

Separate from the compiler's modules, whose text is part of every kernel's key.
"""

from __future__ import annotations

import gc
from pathlib import Path

from numba.core.caching import FunctionCache

from operators.core.sources import cache_folder


def cached_files() -> list[Path]:
    """Return the cache files of the kernels of this process, for all types compiled so far.

    Returns
    -------
    list of Path
        Sorted; empty where nothing is compiled, or nothing kept. A kernel that ``gc.freeze`` has
        put aside is not found.
    """
    folder, found = cache_folder(), set()
    # Kernels are made by modules, factories and queries; no other list of them exists.
    for cache in (e for e in gc.get_objects() if issubclass(type(e), FunctionCache)):
        file = cache._cache_file
        if Path(file._cache_path) != folder:
            continue  # The cache of an installed package.
        names = file._load_index().values()
        if names:
            found |= {file._index_path, *map(file._data_path, names)}
    return sorted(map(Path, found))
