"""A variant of one's own, outside this repository: where it is written, and how it is checked.

For the notebook ``own_operator``. In a shell the same folder is added by ``PYTHONPATH=folder
millrace check FAMILY/ID``, and likewise ``millrace bench``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from operators import registry
from operators.contract import UsageError
from operators.core.sources import ROOT


def folder_for(family: str, root: str | Path) -> Path:
    """Make the folder that variants of a family are written into, and let the registry search it.

    A module there is imported at the first request for the family, and not again: after an edit,
    begin with a new process (in a notebook: restart the kernel).

    Parameters
    ----------
    family : str
    root : path
        Folder to extend Millrace from; made where it is missing.

    Returns
    -------
    Path
        ``root/operators/family``.

    Raises
    ------
    UsageError
        When there is no such family.
    """
    registry.family(family)
    folder = Path(root).resolve() / "operators" / family
    folder.mkdir(parents=True, exist_ok=True)
    registry.add_folder(Path(root))
    return folder


def check(name: str, root: str | Path) -> str:
    """Run the proving ground on a variant, in a process without compilation.

    Parameters
    ----------
    name : str
        FAMILY/ID.
    root : path
        The folder given to ``folder_for``.

    Returns
    -------
    str
        The report: schedules that were run, and that nothing was found.

    Raises
    ------
    UsageError
        With the report, when a failure was found or the variant is unknown.
    """
    path = os.pathsep.join([str(ROOT), str(Path(root).resolve())])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "operators.check", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    report = f"{done.stdout}{done.stderr}".strip()
    if done.returncode != 0:
        raise UsageError(f"millrace check {name} found a failure:\n{report}")
    return report
