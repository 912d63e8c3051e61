"""The environment of a process, and the parts of it that are kept out: streams, settings, paths.

A shell, a container or another project may have set things that are not meant for us. A process
that a person starts (the command, the workflow) calls `settle` first of all; the processes that it
starts inherit the result. In a library's process, which belongs to the caller, nothing is changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from operators.contract import UsageError
from operators.core.sources import ROOT

OF_NUMBA = "NUMBA_"
# Where kernels are cached, whether they are compiled, and for which processor.
HEEDED = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
# numba reads it in the working folder, for every process, again and again.
FILE_OF_NUMBA = ".numba_config.yaml"
LEFT_ASIDE: list[str] = []
"""The settings that `settle` has found and dropped, for `millrace doctor` to report."""


def settle() -> None:
    """Make the environment of this process, and of those it will start, as if we were alone.

    Raises
    ------
    UsageError
        When a heeded setting has an impossible value; the message names it.
    """
    open_streams()
    check_heeded(os.environ)
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working folder is gone; change to one that is there") from None
    check_folder(folder)
    for name in not_heeded(os.environ):
        LEFT_ASIDE.append(name)
        del os.environ[name]
    lead_to_us()


def open_streams() -> None:
    """Open those of the three standard streams that are closed, and let each print any character.

    Otherwise the next opened file gets the number of standard output, and everything that prints,
    such as Java, prints into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            _open_nowhere(number)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            # Nobody closes it at the end, about which Python would complain.
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        # Names of files need not be UTF-8, nor has every terminal all letters.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _open_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
    os.set_inheritable(number, True)


def not_heeded(environment: Mapping[str, str]) -> list[str]:
    """Return the settings of numba that are kept out: they change, slow down or break kernels.

    Parameters
    ----------
    environment : mapping of str to str
        Names that begin with ``NUMBA_``, except those in `HEEDED`, are kept out.
    """
    return sorted(name for name in environment if name.startswith(OF_NUMBA) and name not in HEEDED)


def check_heeded(environment: Mapping[str, str]) -> None:
    """Refuse an impossible value of a heeded setting.

    Raises
    ------
    UsageError
        Naming the variable, the value and the allowed values.
    """
    given = environment.get("NUMBA_DISABLE_JIT", "")
    if given not in ("", "0", "1"):
        raise UsageError(
            f"NUMBA_DISABLE_JIT is {given!r} in the environment; it may be 1 (kernels are"
            " interpreted) or 0: set it to one of these, or unset it"
        )
    if given == "":
        # numba warns about an empty value and about any other that is no number.
        os.environ.pop("NUMBA_DISABLE_JIT", None)


def check_folder(folder: Path) -> None:
    """Refuse a working folder in which numba would find settings of another project.

    Raises
    ------
    UsageError
        Naming the file.
    """
    file = folder / FILE_OF_NUMBA
    if file.is_file():
        raise UsageError(
            f"numba takes settings from {file} in every process that works in that folder, and they"
            " change kernels or break them; start in another folder, or take the file away"
        )


def lead_to_us() -> None:
    """Let the Python processes that we start find our packages before others of the same names.

    ``python -m`` searches the working folder first, and then ``PYTHONPATH``.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    if str(ROOT) not in others[:1]:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *others])


def in_utf8() -> None:
    """Restart this process in UTF-8 where the locale is ASCII only; else do nothing.

    Python does so by itself, unless configured otherwise. Without UTF-8 a column's name on the
    command line differs from that in a file, and libraries cannot open files of such names.
    """
    if sys.flags.utf8_mode or sys.getfilesystemencoding() not in ("ascii", "us-ascii"):
        return
    os.environ["PYTHONUTF8"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
