"""A band join of two streams over count windows, as in the paper on the PIM-Tree.

R and S alternate: row i of R arrives, then row i of S. A tuple meets those of the other stream that
are among its last `window` rows when it arrives, so that a pair (r, s) of positions meets when
``-window <= s - r <= window - 1``, whatever came first::

    position    0 ........ window ........ 2 window
                | windows  |    windows    |
                |  fill    |   are full    |

A peer is given both parts as tables ``r`` and ``s`` with ``position`` and ``x``, and puts out all
pairs as ``r_position`` and ``s_position``, in any order. ``bucket`` is the width of a bucket such
that a band reaches no further than the neighbouring ones. The operators join later parts of the
same streams, round by round, with the same windows and band; each run has its own oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from datasets import read
from experiments.dataset_of import dataset_path
from experiments.families.join.expected import Expected
from experiments.families.join.streams import half_width_for, keys_of
from experiments.peers.catalog import Judged
from experiments.timing.bench import data_of
from operators.contract import UsageError
from operators.core.integers import mix64, wrapping_add, wrapping_mul
from operators.core.jit import kernel

COLUMNS = ("r_position", "s_position")
R, S = 0, 1


class BandJoin:
    """The first two windows of two streams, joined; see ``experiments.peers.catalog.Work``.

    Parameters
    ----------
    settings : mapping
        Every setting of the family: ``keys``, ``window``, ``match_rate``, ``sigma``, ``kind``.
    dataset : Path or str
        The dataset's folder.
    """

    def __init__(self, settings: Mapping[str, Any], dataset: object) -> None:
        folder = dataset_path(dataset, "keys")
        place = (folder, settings["keys"], settings["drift"], settings["sigma"])
        keys, window = keys_of(*place), settings["window"]
        if settings["kind"] != "two-way" or settings["keys"] == "drift":
            raise UsageError(
                "peers join two streams of keys that do not drift, received"
                f" kind={settings['kind']} keys={settings['keys']}"
            )
        if len(keys.r) < 2 * window:
            raise UsageError(
                f"two windows of {window} rows are needed, and {settings['keys']} has"
                f" {len(keys.r)}; give a smaller window, or make a larger set"
            )
        half_width = half_width_for(*place, window, settings["match_rate"])
        self._expected = Expected(keys, window, half_width, sides=2)
        self._rows = 2 * window
        self.tuples = 2 * self._rows
        positions = np.arange(self._rows)
        self.tables = {
            name: pa.table({"position": positions, "x": own[: self._rows].astype(np.int64)})
            for name, own in zip("rs", keys, strict=True)
        }
        self.settings = {
            "window": window,
            "half_width": half_width,
            "bucket": half_width + 1,
        }
        self.data = data_of(read.read_info(folder))

    def judge(self, output: pa.Table) -> Judged:
        """Compare the set of pairs: its digest and its size."""
        wanted, pairs = self._expected.digest(0, self._rows, ordered=False)
        if missing := [name for name in COLUMNS if name not in output.column_names]:
            return Judged(output.num_rows, 0, wanted, f"wrong output: no column {missing[0]!r}")
        if any(output[name].null_count for name in COLUMNS):
            return Judged(output.num_rows, 0, wanted, "wrong output: there are nulls")
        columns = (output[name].to_numpy().astype(np.int64) for name in COLUMNS)
        digest = digest_of_pairs(*columns)
        problem = None
        if output.num_rows != pairs:
            problem = f"wrong output: {output.num_rows} pairs, and there are {pairs}"
        elif digest != wanted:
            problem = "wrong output: other pairs than those of the oracle"
        return Judged(output.num_rows, digest, wanted, problem)


def digest_of_pairs(r_position: np.ndarray, s_position: np.ndarray) -> int:
    """Return the digest of a set of pairs that ``Expected.digest`` gives, not `ordered`.

    Parameters
    ----------
    r_position, s_position : int64 array (pairs,)
    """
    return int(_add_pairs(np.ascontiguousarray(r_position), np.ascontiguousarray(s_position)))


@kernel
def _add_pairs(r_position, s_position):
    digest = np.int64(0)
    for pair in range(len(r_position)):
        r, s = r_position[pair], s_position[pair]
        # The S tuple of a row comes after its R tuple: of equal positions S probes.
        probe, side, partner = (r, R, s) if r > s else (s, S, r)
        word = wrapping_mul(mix64(2 * probe + side) | 1, mix64(partner))
        digest = wrapping_add(digest, word)
    return digest


make = BandJoin
