"""``millrace check``: the proving ground, in a separate process without compilation."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from experiments.timing import machine
from operators.running.interrupts import BEYOND, Ended


def run(options: argparse.Namespace) -> int:
    """Start the checks with the same arguments, and return their exit status."""
    command = [sys.executable, "-m", "operators.check"]
    if options.variant is not None:
        command.append(options.variant)
    command += [
        f"--{name}" for name in ("deep", "mutants", "orders", "json") if getattr(options, name)
    ]
    for name in ("schedule", "mutant", "write", "automatic", "seed"):
        if getattr(options, name) is not None:
            command += [f"--{name}", str(getattr(options, name))]
    path = os.pathsep.join(filter(None, [str(machine.ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen(command, env=environment) as process:
        try:
            status = process.wait()
        except Ended as end:
            # This signal reached only us.
            process.send_signal(end.number)
            process.wait()
            raise
        except KeyboardInterrupt:
            # The terminal has sent Ctrl-C to the child as well.
            status = process.wait()
    return BEYOND - status if status < 0 else status
