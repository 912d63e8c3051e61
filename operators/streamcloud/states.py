"""The state of a stopped run as files: with them another process goes on where it was.

::

    folder/run.json              what ran, and how far it was: tuples of all streams
    folder/40960/source          how far each stream is
    folder/40960/stages/known/0  what instance 0 of the stage remembers
    folder/40960/outputs/busy    what the merger of an output still has

Each state is that of its part behind the same tuples, those of the folder's number. ``run.json`` is
put in its place last, by renaming, so that a process that ends while it writes leaves the state of
before. It has the plan as text, and digests of the user's functions and of the streams: a state
means nothing to another plan, or in the middle of other data, so these are refused. It has a digest
of each part, too: most words of a state are as good as others, so that a damaged one would go on to
wrong rows.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.streamcloud.algebra import Called, computed_by
from operators.streamcloud.explain import explain
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import Plan

FORMAT = 1
_RUN = "run.json"


class Identity(NamedTuple):
    """What a state belongs to.

    Attributes
    ----------
    plan : str
        As text.
    functions : str
        A digest of what the user's functions do.
    streams : str
        A digest of all words of all streams.
    """

    plan: str
    functions: str
    streams: str


_OTHERS = {"plan": "another plan", "functions": "other functions", "streams": "other data"}


def identity_of(plan: Plan, streams: Mapping[str, Sequence[np.ndarray]]) -> Identity:
    """Return what the state of a run belongs to."""
    digest = sha256()
    for name, arrays in streams.items():
        for words in arrays:
            digest.update(f"{name} {words.shape}".encode())
            digest.update(np.ascontiguousarray(words))
    return Identity(explain(plan), _functions_of(plan), digest.hexdigest())


def _functions_of(plan: Plan) -> str:
    """Return a digest of the user's functions: a plan as text has their names alone."""
    digest = sha256()
    for node in plan.query.operators:
        for each in computed_by(node):
            if isinstance(each, Called):
                digest.update(f"{node.name} {each.text} {_meaning(each.function)}".encode())
    return digest.hexdigest()


def _meaning(function: Callable[..., Any]) -> str:
    """Return what a function does, as text: its code, and the plain values that it refers to."""
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
    """Write the state of a run that has paused, and let go of the one of before.

    Raises
    ------
    UsageError
        When it cannot be written there.
    """
    tuples = parts.source.tuples
    try:
        before = json.loads((folder / _RUN).read_text()) if is_there(folder) else None
        states = parts.save()
        for name, body in states.items():
            _replace(folder / str(tuples) / name, body)
        digests = {name: sha256(body).hexdigest() for name, body in states.items()}
        said = {"format": FORMAT, "tuples": tuples, **identity._asdict(), "parts": digests}
        _replace(folder / _RUN, json.dumps(said, indent=1).encode())
        if before is not None and before["tuples"] != tuples:
            shutil.rmtree(folder / str(before["tuples"]))
    except OSError as error:
        raise UsageError(f"{folder}: the state cannot be written: {error.strerror}") from error


def _replace(path: Path, body: bytes) -> None:
    """Write a file under a hidden name, and rename it when it is whole and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with open(partial, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def read(folder: Path, identity: Identity, parts: Parts) -> None:
    """Let a run go on from the state in a folder.

    Raises
    ------
    UsageError
        When it is that of another run, or a part of it is missing or damaged.
    """
    said = _read_run(folder)
    for name, found in identity._asdict().items():
        if said.get(name) != found:
            raise UsageError(
                f"{folder}: the state in it is that of {_OTHERS[name]}: go on with the same query,"
                " settings and inputs, or give a new folder"
            )
    states = {name: _read_part(folder / str(said["tuples"]) / name) for name in parts.names()}
    for name, body in states.items():
        if said["parts"].get(name) != sha256(body).hexdigest():
            raise UsageError(
                f"{folder}: the state in it is damaged: {name} is not what was written; give a new"
                " folder"
            )
    parts.load(states)


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
    if not (isinstance(said.get("tuples"), int) and isinstance(said.get("parts"), dict)):
        raise UsageError(f"{path}: cannot be read as the state of a run: it is not whole")
    return said


def _read_part(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
