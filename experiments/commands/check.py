"""``millrace check``: the proving ground, in a process of its own without compilation."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys

from experiments.timing import machine

INTERRUPTED = 130


def run(options: argparse.Namespace) -> int:
    """Start the checks with the same arguments, and return their exit status."""
    command = [sys.executable, "-m", "operators.check"]
    if options.variant is not None:
        command.append(options.variant)
    command += [f"--{name}" for name in ("deep", "mutants", "json") if getattr(options, name)]
    for name in ("schedule", "mutant", "write"):
        if getattr(options, name) is not None:
            command += [f"--{name}", getattr(options, name)]
    path = os.pathsep.join(filter(None, [str(machine.ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen(command, env=environment) as process:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            # The terminal has told the process as well; it says so itself.
            status = process.wait()
    return INTERRUPTED if status == -signal.SIGINT else status
