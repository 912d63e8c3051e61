"""``millrace pack``: code and compiled kernels as an archive for executors without a checkout."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.output import print_json
from operators.contract import UsageError
from operators.running.outputs import to_be_made
from operators.running.pack import pack


def run(options: argparse.Namespace) -> int:
    """Compile the queries' kernels, write the archive and report its size."""
    output = Path(options.output)
    kernels = _kernels(options.query, options.strategy, options.instances) if options.query else []
    with to_be_made(output) as target:
        packed = pack(target, kernels, environment=options.environment, overwrite=options.overwrite)
    if options.json:
        print_json({"archive": str(output), **packed._asdict()})
        return 0
    print(
        f"{output}: {packed.files} files, {packed.kernels} of them of compiled kernels,"
        f" {packed.bytes / (1 << 20):.1f} MiB"
    )
    return 0


def _kernels(names: list[str], strategy: str, instances: int) -> list[Path]:
    """Compile the kernels of queries, and return the files of the compilation cache."""
    # Loads the compiler; mistakes in the options are reported before that.
    from operators.core.inside_numba.kept import cached_files
    from operators.core.jit import INTERPRETED, PLAIN
    from operators.streamcloud.coding import Coding, texts_of
    from operators.streamcloud.compiler import compile_query
    from operators.streamcloud.parts import Parts
    from operators.streamcloud.queries import QUERIES, query_of
    from operators.streamcloud.sources import nothing_to_send
    from operators.streamcloud.yaml_form import read_query

    if INTERPRETED or PLAIN:
        raise UsageError(
            "no kernels are kept with NUMBA_DISABLE_JIT or MILLRACE_PLAIN_NUMBA; unset them, or"
            " pack without --query"
        )
    parts = []
    for name in names:
        query = query_of(name) if name in QUERIES else read_query(Path(name))
        plan = compile_query(query, strategy, instances)
        parts.append(Parts(plan, nothing_to_send(plan), Coding(texts_of(query))))
        parts[-1].compile()
    return cached_files()
