"""``millrace replay`` of two checkouts over the same small files: bytes, messages, exit status."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.same.checkouts import CannotCompare, Checkout
from tests.same.files import differences, files_below
from tests.same.replay_inputs import write_inputs
from tests.same.report import Difference, Finding

# Values of the names in braces in a line.
PARTS = {
    "meters": "--input north.csv south.csv.gz --time ts --key meter",
    "energy": "--input north.csv south.csv.gz --time ts --key meter --value kwh",
    "words": "--input words.csv --time ts --value kwh",
    "often": "--window-size 300 --window-advance 45",
    "two": "--r r.csv --s s.csv.gz --key x --s-key a --half-width 0.5",
    "one": "--r r.csv --self --key x --half-width 0.3",
    "theta": "--r r.csv r1.csv --s s.csv.gz --window 60 --band x:a:4",
    "opposite": "--r r.csv --s s.csv.gz --window 60 --purge opposite --band x:a:4 y:b:9.5",
    "items": "--input sales.csv --items items.csv",
    "clicks": "--input clicks.csv.gz",
}
COMMANDS = """
aggregation mq {energy} {often} --function avg
aggregation mq-cached {energy} {often} --function sum
aggregation mqlf {energy} {often} --function min
aggregation mqlf-loser-tree {energy} {often} --function max
aggregation mqlf-rings {energy} {often} --function count
aggregation private-panes {energy} {often} --function sum
aggregation tumlmc {energy} {often} --function avg --update-threads 3
aggregation tumlsc {energy} {often} --function avg
aggregation tumlsc {energy} {often} --function sum --exact
aggregation tumlsc-batch {energy} {often} --function first
aggregation tumlsc-panes {energy} {often} --function avg
aggregation tumlsc-side-by-side {energy} {often} --function avg
aggregation wiml {energy} {often} --function avg
aggregation wiml-deferred {energy} {often} --function max
aggregation wiml-panes {energy} {often} --function avg
aggregation tumlsc {meters} {often} --function count --json
aggregation mq --input north.csv --time ts {often} --function count
aggregation tumlsc {meters} --text comment {often} --function first
aggregation tumlsc {meters} --text comment {often} --function count-mail
aggregation mq {meters} --text comment {often} --function first-mail
aggregation mq {words} {often} --function sum --rejected rejected.csv
join nested-loop {two} --window-count 100
join b-plus-tree {two} --window-time 60
join pim-tree {two} --window-count 300
join pim-tree {one} --window-count 200 --merge-ratio 0.03 --insertion-depth 6 --json
join im-tree {two} --window-count 300 --merge-ratio 0.5
join b-chain {two} --window-count 300 --chain-length 3
join ib-chain {one} --window-count 300 --chain-length 4
join pim-tree-lock-step {two} --window-count 256
join round-robin {two} --window-count 300
join round-robin {two} --window-count 300 --threads 1
join round-robin {two} --window-count 300 --threads 3 --index pim-tree
join round-robin {two} --window-count 64 --threads 4 --index nested-loop
join round-robin-as-printed {two} --window-count 64 --threads 3 --index nested-loop
join sequential {theta}
join scale-join {theta}
join scale-join {theta} --threads 3
join scale-join {opposite} --json
join scale-join --r r.csv --s s.csv.gz --window-count 80 --band x:a:4
join scale-join-hash --r r.csv r1.csv --s s.csv.gz --window 60 --band x:a:0
join scale-join-heartbeats {theta}
join scale-join-index {theta}
join handshake {opposite}
join handshake-low-latency {opposite} --threads 3
pipeline q1 {items}
pipeline q1 {items} --workers 3 --scheduler lp --reorder lock-based
pipeline q2 {clicks}
pipeline q2 {clicks} --scheduler qst --partition shared
pipeline q3 {clicks} --items items.csv
pipeline q4 {clicks} --pages pages.csv --scheduler et --partition partitioned
pipeline q15 {items} --store 10 --year 2002
pipeline q15 {items} --store 10 --year 2002 --scheduler ct-as-printed --json
"""
# Refusals and requests for help: the messages count.
REFUSED = """
aggregation tumlsc {energy} {often} --function median
aggregation tumlsc {energy} --window-size 10 --window-advance 20 --function sum
aggregation no-such {energy} {often} --function sum
aggregation tumlsc {words} {often} --function sum
aggregation tumlsc --input absent.csv --time ts {often} --function count
aggregation tumlsc --input empty.csv --time ts {often} --function count
join pim-tree --r falling.csv --self --key x --half-width 1 --window-count 9
join pim-tree {two} --window-count 0
join pim-tree {two} --window-count 9 --threads 1
join nested-loop {two} --window-count 9 --merge-ratio 0.5
join round-robin {two} --window-count 9 --threads 99
join scale-join {theta} --band q:a:1
join handshake {theta} --purge own
join handshake {theta} --purge opposite
pipeline q1 --input sales.csv
pipeline q3 {items}
pipeline q9 {items}
pipeline q2 {clicks} --workers 0
"""
SAID = ".said"
HELP = ("aggregation --help", "join --help", "join pim-tree --help", "join scale-join --help",
        "pipeline --help")  # fmt: skip


def commands() -> list[list[str]]:
    """Return the arguments of every command, without its output."""
    lines = [line for text in (COMMANDS, REFUSED) for line in text.strip().splitlines()]
    return [["replay", *shlex.split(line.format(**PARTS))] for line in (*lines, *HELP)]


def replay(checkout: Checkout, asked: Iterable[list[str]], folder: Path) -> None:
    """Run commands in a folder, which then contains their outputs and messages."""
    folder.mkdir()
    write_inputs(folder)
    for number, arguments in enumerate(asked):
        # A help text is as wide as the terminal.
        output = [] if "--help" in arguments else ["--output", f"{number}.parquet"]
        done = checkout.millrace([*arguments, *output], folder, {"COLUMNS": "100"})
        said = f"{shlex.join(arguments)}\nstatus {done.returncode}\n".encode()
        (folder / f"{number}{SAID}").write_bytes(said + done.stdout + done.stderr)


def compare(base: Checkout, new: Checkout, only: str = "") -> Iterator[Finding]:
    """Yield the finding for the commands: outputs, messages and exit status of each.

    Parameters
    ----------
    base, new : Checkout
    only : str
        Commands that contain this text; all by default.

    Raises
    ------
    CannotCompare
        When no command contains it.
    """
    asked = [each for each in commands() if only in shlex.join(each)]
    if not asked:
        raise CannotCompare(f"no replay command has {only!r} in it")
    with TemporaryDirectory(prefix="millrace-same-") as made:
        before, after = (Path(made, name) for name in ("base", "new"))
        replay(base, asked, before)
        replay(new, asked, after)
        found = [_with_command(each, asked) for each in differences(before, after)]
        said = [file.read_bytes() for name, file in files_below(before).items()
                if name.endswith(SAID)]  # fmt: skip
    done = sum(b"\nstatus 0\n" in each for each in said)
    yield Finding(
        f"replay: {len(said)} commands, {len(said) - done} of them refused by BASE", found
    )


def _with_command(difference: Difference, asked: Sequence[list[str]]) -> Difference:
    """Name the command that wrote a file by the number in the file's name."""
    number, _, ending = difference.where.partition(".")
    if not number.isdigit():
        return difference
    return Difference(shlex.join(asked[int(number)]), f"{ending}: {difference.what}")
