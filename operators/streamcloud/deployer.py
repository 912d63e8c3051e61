"""The processors of instances: a descriptor of processors, and a plan's instances put on them.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-G: "given a deployment
descriptor with the IPs and ports of the processors to be used", the deployer fills in the
placeholders of a plan.

A descriptor names one processor a line, all of one kind::

    # two nodes with two instances each        # three processors of this machine
    10.0.0.1:7000                              cpu 0
    10.0.0.1:7001                              cpu 1
    10.0.0.2:7000                              cpu 2
    10.0.0.2:7001

As YAML it is a list of the same words, alone or under the key ``processors``. Comments and empty
lines are skipped; a wrong line is refused with its number.

# ASSUME: an address is that of one instance, since two cannot listen on it; a cpu may be named
# again, and the instances on it take turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from operators.contract import UsageError
from operators.streamcloud.plan import Plan

PORTS = 65535
_KEY = "processors"
_HOST = re.compile(
    r"(?P<host>\[[\w:.%]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):(?P<port>\d+)"
)
_CPU = re.compile(r"cpu\s+(?P<number>\d+)")


@dataclass(frozen=True)
class Place:
    """One processor of a descriptor: a processor of this machine, or an address.

    Attributes
    ----------
    line : int
        The line number in the descriptor, from 1 on.
    cpu : int or None
    host : str
    port : int
        Of an address.
    """

    line: int
    cpu: int | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        """Return it in the form of a descriptor."""
        return f"{self.host}:{self.port}" if self.cpu is None else f"cpu {self.cpu}"


@dataclass(frozen=True)
class Deployment:
    """A plan whose instances are assigned to processors.

    Attributes
    ----------
    plan : Plan
    places : tuple of Place
        One a processor of the plan, in the order of ``Plan.processors``.
    idle : tuple of Place
        The processors that the plan does not need.
    """

    plan: Plan
    places: tuple[Place, ...]
    idle: tuple[Place, ...]

    def place_of(self, stage: str, instance: int) -> Place:
        """Return the processor of an instance of a stage.

        Raises
        ------
        UsageError
            When there is no such instance.
        """
        count = self.plan.stage(stage).instances
        for place, runs in zip(self.places, self.plan.processors, strict=True):
            if (stage, instance) in runs:
                return place
        raise UsageError(f"{stage}: no instance {instance}, they are 0 to {count - 1}")

    def cores(self) -> dict[tuple[str, int], int]:
        """Return the core that the thread of each instance is bound to, by stage and number.

        Raises
        ------
        UsageError
            When the descriptor names addresses.
        """
        found = {}
        for place, runs in zip(self.places, self.plan.processors, strict=True):
            if place.cpu is None:
                raise UsageError(
                    f"{self.plan.query.name}: threads run on this machine, and line {place.line} of"
                    f' the descriptor is an address, {place}: name processors such as "cpu 0"'
                )
            found |= dict.fromkeys(runs, place.cpu)
        return found


def deploy(plan: Plan, places: tuple[Place, ...]) -> Deployment:
    """Put the instances of a plan on the processors of a descriptor, in order.

    Raises
    ------
    UsageError
        When there are too few.
    """
    needed = len(plan.processors)
    if len(places) < needed:
        stages = ", ".join(f"{stage.name} {stage.instances}" for stage in plan.stages)
        raise UsageError(
            f"{plan.query.name}: its {plan.strategy} plan takes {needed} processors ({stages}), and"
            f" the descriptor has {len(places)}: name more, or compile it for fewer instances"
        )
    return Deployment(plan, places[:needed], places[needed:])


def read_descriptor(path: str | Path, cpus: int | None = None) -> tuple[Place, ...]:
    """Return the processors that a descriptor names, in order.

    Parameters
    ----------
    path : str or Path
        YAML if the suffix says so, else text.
    cpus : int, optional
        The number of processors of this machine, if ``cpu N`` shall be checked against it.

    Raises
    ------
    UsageError
        When the file cannot be read, or a line is wrong: file, line number, content and valid
        alternatives.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a descriptor: {error}") from None
    return parse_descriptor(text, str(path), path.suffix in (".yaml", ".yml"), cpus)


def parse_descriptor(
    text: str, where: str = "descriptor", as_yaml: bool = False, cpus: int | None = None
) -> tuple[Place, ...]:
    r"""Return the processors that the text of a descriptor names.

    Parameters
    ----------
    text : str
    where : str
        The name of the descriptor in messages.
    as_yaml : bool
    cpus : int, optional
        As of ``read_descriptor``.

    Examples
    --------
    >>> [str(place) for place in parse_descriptor("cpu 0\n\n# and\ncpu 1")]
    ['cpu 0', 'cpu 1']
    """
    found: list[Place] = []
    taken: dict[tuple[str, int], int] = {}
    for line, words in _yaml_lines(text, where) if as_yaml else _text_lines(text):
        here = f"{where}: line {line}"
        place = _place(here, line, words, cpus)
        if found and (found[0].cpu is None) != (place.cpu is None):
            raise UsageError(
                f'{here}: "{words}" among others such as "{found[0]}" of line {found[0].line}: name'
                " addresses, or processors of this machine, not both"
            )
        if place.cpu is None:
            address = (place.host, place.port)
            if address in taken:
                raise UsageError(
                    f'{here}: "{words}" is in line {taken[address]}, too: one address is that of'
                    " one instance; take another port"
                )
            taken[address] = line
        found.append(place)
    if not found:
        raise UsageError(f'{where}: names no processor: give one a line, "host:port" or "cpu 0"')
    return tuple(found)


def _place(here: str, line: int, words: str, cpus: int | None) -> Place:
    if cpu := _CPU.fullmatch(words):
        number = int(cpu["number"])
        if cpus is not None and number >= cpus:
            raise UsageError(
                f'{here}: "{words}" is not there: this machine has cpu 0 to cpu {cpus - 1}'
            )
        return Place(line, cpu=number)
    if address := _HOST.fullmatch(words):
        port = int(address["port"])
        if not 1 <= port <= PORTS:
            raise UsageError(f'{here}: the port of "{words}" must be between 1 and {PORTS}')
        return Place(line, host=address["host"].lower(), port=port)
    raise UsageError(
        f'{here}: "{words}" is no processor: give "host:port", such as "10.0.0.1:7000", or "cpu 0"'
    )


def _text_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is not empty, with the line number."""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#", 1)[0].strip()
        if words:
            yield number, words


def _yaml_lines(text: str, where: str) -> Iterator[tuple[int, str]]:
    """Yield each item of a list, as written, with the line number."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise UsageError(
            f"{where}: {line}is no YAML: {getattr(error, 'problem', None) or error}"
        ) from None
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if key.value != _KEY or keys.count(_KEY) > 1:
                raise UsageError(
                    f'{where}: line {key.start_mark.line + 1}: key "{key.value}" where there may be'
                    f' one, "{_KEY}"'
                )
        node = node.value[0][1] if node.value else None
    if node is None:
        return
    if not isinstance(node, yaml.SequenceNode):
        raise UsageError(
            f"{where}: line {node.start_mark.line + 1}: give a list of processors, one an item"
        )
    for item in node.value:
        line = item.start_mark.line + 1
        if not isinstance(item, yaml.ScalarNode):
            raise UsageError(
                f'{where}: line {line}: give a processor as "host:port", without a space and in'
                ' quotes where it has brackets, or as "cpu 0"'
            )
        yield line, item.value.strip()
