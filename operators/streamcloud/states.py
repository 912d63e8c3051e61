"""The state of a stopped run as files, from which another process continues the run.

::

    folder/run.json              the plan, and the position: tuples of all streams
    folder/40960/source          the position in each stream
    folder/40960/stages/known/0  the state of instance 0 of the stage
    folder/40960/outputs/busy    the state of the merger of an output

Each state is that of its part behind the same tuples, those of the folder's number; the name is
40960-split if a state with other instances at the same tuples has the plain name. ``run.json`` is
put there last, by renaming, so that a process that ends while it writes leaves the earlier state
intact. It has the plan as text, and digests of the user's functions and of the streams: a state
does not fit another plan or other data, so these are refused. Another number of instances is no
other plan: the state is split anew (`operators.streamcloud.rescaling`). There is a digest of each
part, too: nearly any word of a state is valid, so that a damaged state would silently lead to wrong
rows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.running.whole import why, write_whole
from operators.streamcloud.algebra import Called, computed_by
from operators.streamcloud.compiler import with_instances
from operators.streamcloud.explain import explain
from operators.streamcloud.parts import Parts, part_names
from operators.streamcloud.plan import Plan
from operators.streamcloud.rescaling import rescaled

FORMAT = 2
_RUN = "run.json"


class Identity(NamedTuple):
    """The identity of a run, to which a state belongs.

    Attributes
    ----------
    plan : str
        As text, on one instance a stage.
    functions : str
        A digest of the code of the user's functions.
    streams : str
        A digest of all words of all streams.
    """

    plan: str
    functions: str
    streams: str


_OTHERS = {"plan": "another plan", "functions": "other functions", "streams": "other data"}


def identity_of(plan: Plan, streams: Mapping[str, Sequence[np.ndarray]]) -> Identity:
    """Return the identity of a run."""
    digest = sha256()
    for name, arrays in streams.items():
        for words in arrays:
            digest.update(f"{name} {words.shape}".encode())
            digest.update(np.ascontiguousarray(words))
    return Identity(text_of(plan), functions_of(plan), digest.hexdigest())


def text_of(plan: Plan) -> str:
    """Return a plan as text, independent of the numbers of instances."""
    return explain(with_instances(plan, 1))


def instances_of(plan: Plan) -> dict[str, int]:
    """Return the number of instances of each stage."""
    return {stage.name: stage.instances for stage in plan.stages}


def functions_of(plan: Plan) -> str:
    """Return a digest of the user's functions: a plan as text only has their names."""
    digest = sha256()
    for node in plan.query.operators:
        for each in computed_by(node):
            if isinstance(each, Called):
                digest.update(f"{node.name} {each.text} {_meaning(each.function)}".encode())
    return digest.hexdigest()


def _meaning(function: Callable[..., Any]) -> str:
    """Return the meaning of a function as text: the code, and plain values that it refers to."""
    function = getattr(function, "py_func", function)
    code = function.__code__
    known = {name: function.__globals__.get(name) for name in code.co_names}
    plain = {name: value for name, value in known.items() if isinstance(value, int | float | str)}
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return (
        f"{code.co_code.hex()} {constants} {code.co_names} {plain} {cells} {function.__defaults__}"
    )


def is_there(folder: Path) -> bool:
    """Say whether a folder holds the state of a run."""
    return (folder / _RUN).is_file()


def write(folder: Path, identity: Identity, parts: Parts) -> None:
    """Write the state of a run that has paused, and delete the earlier one.

    Raises
    ------
    UsageError
        When the folder cannot be written.
    """
    tuples, instances = parts.source.tuples, instances_of(parts.plan)
    try:
        before = json.loads((folder / _RUN).read_text()) if is_there(folder) else None
        inner = str(tuples)
        if before is not None and before["folder"] == inner and before["instances"] != instances:
            inner += "-split"  # the old state stays valid until this one is complete
        states = parts.save()
        for name, body in states.items():
            path = folder / inner / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, body)
        digests = {name: sha256(body).hexdigest() for name, body in states.items()}
        said = {
            "format": FORMAT,
            "tuples": tuples,
            **identity._asdict(),
            "instances": instances,
            "folder": inner,
            "parts": digests,
        }
        write_whole(folder / _RUN, json.dumps(said, indent=1).encode())
        if before is not None and before["folder"] != inner:
            shutil.rmtree(folder / before["folder"])
    except OSError as error:
        raise UsageError(f"{folder}: the state cannot be written: {why(error)}") from error


def read(folder: Path, identity: Identity, parts: Parts) -> None:
    """Let a run continue from the state in a folder, also with other numbers of instances.

    Raises
    ------
    UsageError
        When it is of another run, a part of it is missing or damaged, or it cannot be split
        for these instances.
    """
    said = _read_run(folder)
    for name, found in identity._asdict().items():
        if said.get(name) != found:
            raise UsageError(
                f"{folder}: the state in it is that of {_OTHERS[name]}: go on with the same query,"
                " settings and inputs, or give a new folder"
            )
    before = with_instances(parts.plan, said["instances"])
    found = {name: _read_part(folder / said["folder"] / name) for name in part_names(before)}
    for name, body in found.items():
        if said["parts"].get(name) != sha256(body).hexdigest():
            raise UsageError(
                f"{folder}: the state in it is damaged: {name} is not what was written; give a new"
                " folder"
            )
    if instances_of(before) != instances_of(parts.plan):
        try:
            found = rescaled(before, parts.plan, found, parts.coding.codes).states
        except UsageError as error:
            raise UsageError(f"{folder}: {error}") from error
    parts.load(found)


def _read_run(folder: Path) -> dict[str, Any]:
    path = folder / _RUN
    try:
        said = json.loads(path.read_text())
        written_as = said["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: cannot be read as the state of a run: {error}") from error
    if written_as != FORMAT:
        raise UsageError(
            f"{path}: has format {written_as}, and this version reads {FORMAT}: go on with the one"
            " that wrote it, or give a new folder"
        )
    kinds = {"tuples": int, "parts": dict, "instances": dict, "folder": str}
    if not all(isinstance(said.get(name), kind) for name, kind in kinds.items()):
        raise UsageError(f"{path}: cannot be read as the state of a run: it is not whole")
    return said


def _read_part(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
