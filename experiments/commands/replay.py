"""``millrace replay``: an operator over the user's own files."""

from __future__ import annotations

import argparse
import json
import sys

from experiments.families.aggregation.replay.request import make_request


def run(options: argparse.Namespace) -> int:
    """Replay files and say on stderr what was done; with --json on stdout."""
    request = make_request(
        options.variant,
        options.input,
        options.output,
        time=options.time,
        function=options.function,
        window_size=options.window_size,
        window_advance=options.window_advance,
        key=options.key,
        value=options.value,
        text=options.text,
        time_unit=options.time_unit,
        decimals=options.decimals,
        max_keys=options.max_keys,
        update_threads=options.update_threads,
        rejected=options.rejected,
        overwrite=options.overwrite,
    )
    # Loads the compiler, which a slip in the options need not wait for.
    from experiments.families.aggregation.replay.running import replay
    from experiments.timing.crew import RunFailed

    try:
        done = replay(request)
    except RunFailed as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({**done._asdict(), "output": str(request.output)}))
    else:
        told = f"{done.rows} rows from {done.tuples} tuples in {request.output}"
        if request.rejected is not None:
            told += f", {done.rejected} rows set aside in {request.rejected}"
        print(f"millrace: {told}", file=sys.stderr)
    return 0
