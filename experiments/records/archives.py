"""Sets of results as one file each, to be handed to others.

An archive is a tar file, compressed by xz::

    LABEL/set.json                                 format, label, profile, machine, digests
    LABEL/raw/GROUP/KEY/repetition-1.jsonl         rows and their provenance, as measured
    LABEL/peers/PAPER/KEY/repetition-1.jsonl       the same of operators beside peers

It has nothing of the person who measured: of a provenance only the fields of ``KEPT``, and no path,
host name or user name in a text. Equal sets give equal bytes.

An archive may come from anybody. It is refused as a whole unless each member has one of these
names, is a plain file, has the size and digest that ``set.json`` states, and holds rows that this
version reads. It is decompressed up to a limit, and nothing is written outside of one new folder.
"""

from __future__ import annotations

import getpass
import hashlib
import io
import json
import lzma
import os
import platform
import re
import shutil
import tarfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from experiments.peers import rows as peer_rows
from experiments.records import results
from operators.contract import UsageError
from operators.running.outputs import appearing, to_be_made

# A format that an earlier version of Millrace could not read has another number.
FORMAT, WITH_PEERS = FORMATS = (1, 2)
ABOUT = "set.json"
SAFE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
ROWS = rf"(?:raw|peers)/{SAFE}/{SAFE}/repetition-\d+\.jsonl"
MEMBER = re.compile(rf"(?P<label>{SAFE})/(?P<path>set\.json|{ROWS})")
LABEL = re.compile(SAFE)
# A row takes some 2 KB, and 100 bytes packed: there is room for some hundred thousand rows.
MOST_ARCHIVE_BYTES = 1 << 28
MOST_BYTES = 1 << 30
MOST_FILES = 50_000
MOST_FILE_BYTES = 1 << 28
DECODER_BYTES = 1 << 28
BLOCK = 1 << 20
# The fields of a provenance that describe a machine and its software, and nobody.
KEPT = ("id", "cpu_model", "cores", "cores_of_machine", "smt", "governor", "clock_source", "kernel",
        "memory_bytes", "python", "numba", "llvmlite", "numpy", "interpreted", "commit", "dirty",
        "lock", "machine", "load")  # fmt: skip
# An absolute path, or one below a home, where a word may begin.
PATH = re.compile(r"(?<![\w.])(?:~[\w-]*)?/(?:[^\s/\"'<>|:;,()]+/)*([^\s/\"'<>|:;,()]+)")


def pack(
    label: str,
    files: Mapping[str, list[Path]],
    output: Path,
    overwrite: bool = False,
    peers: Mapping[str, list[Path]] | None = None,
) -> dict:
    """Write a set of results as an archive.

    Parameters
    ----------
    label : str
    files : mapping of str to list of Path
        Raw files by group, each in a folder that bears its key.
    output : Path
        Written whole or not at all.
    overwrite : bool
        Whether a file that exists may be replaced.
    peers : mapping of str to list of Path, optional
        Files of operators beside peers by paper, each in a folder that bears its key.

    Returns
    -------
    dict
        The content of ``set.json``: ``format``, ``label``, ``profile``, ``size``, ``machine``,
        ``cpu_model``, ``cores``, ``commits``, ``rows`` and ``files``, which gives ``bytes`` and
        ``sha256`` by name; with peers also ``peer_rows``.

    Raises
    ------
    UsageError
        When the output exists, the label cannot be one, a file is no whole file of results, or the
        rows are of several machines.
    """
    check_label(label)
    if output.is_dir():
        raise UsageError(f"{output} is a folder; name a file in it, such as {label}.tar.xz")
    if output.exists() and not overwrite:
        raise UsageError(f"{output} exists; choose another name, or give --overwrite")
    if not output.parent.is_dir():
        raise UsageError(f"there is no folder {output.parent} to write {output.name} to; make it")
    contents: dict[str, bytes] = {}
    every = results.Raw([])
    for group in sorted(files):
        for file in sorted(files[group]):
            raw = results.read(file)
            every.rows.extend(raw.rows)
            every.provenances.update(raw.provenances)
            contents[f"raw/{group}/{file.parent.name}/{file.name}"] = _anonymous_lines(file)
    results.one_machine(every)
    beside: list[peer_rows.Row] = []
    for paper, measured in sorted((peers or {}).items()):
        for file in sorted(measured):
            beside += peer_rows.read([file])[0]
            contents[f"peers/{paper}/{file.parent.name}/{file.name}"] = _anonymous_lines(file)
    if others := {row.machine for row in beside} - set(every.machines):
        raise UsageError(
            f"peers were measured on the machine {min(others)}, and all else on"
            f" {every.machines[0]}: remove one of the two"
        )
    about = _about(label, every, contents, beside)
    told = json.dumps(about, indent=1, sort_keys=True).encode()
    with to_be_made(output) as target, appearing(target) as partial:
        with lzma.open(partial, "wb", preset=6 | lzma.PRESET_EXTREME) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
                for name, content in {ABOUT: told, **contents}.items():
                    # Of the member's owner and time nothing is set.
                    member = tarfile.TarInfo(f"{label}/{name}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    return about


def check_label(label: str) -> str:
    """Return a label that may name a folder of results.

    Raises
    ------
    UsageError
        When it may not.
    """
    if not LABEL.fullmatch(label):
        raise UsageError(
            f"the label {label!r} cannot be; it may be up to 100 letters, digits, '_', '.' and '-',"
            " no sign in front"
        )
    return label


def _about(
    label: str, raw: results.Raw, contents: Mapping[str, bytes], beside: list[peer_rows.Row]
) -> dict[str, Any]:
    return {
        "format": WITH_PEERS if beside else FORMAT,
        "label": label,
        "profile": sorted({row["profile"] for row in raw.rows}),
        "size": sorted({row["size"] for row in raw.rows}),
        "machine": next(iter(raw.machines), None),
        "cpu_model": _anonymous(next((p.get("cpu_model") for p in raw.provenances.values()), None)),
        "cores": min((row["cores"] for row in raw.rows), default=None),
        "commits": sorted({p["commit"] for p in raw.provenances.values() if p.get("commit")}),
        "rows": len(raw.rows),
        **({"peer_rows": len(beside)} if beside else {}),
        "files": {name: _digest(content) for name, content in contents.items()},
    }


# --- without the owner ----------------------------------------------------------------------------


def _anonymous_lines(file: Path) -> bytes:
    """Return a raw file without anything of its owner."""
    lines = []
    with open(file, encoding="utf-8") as content:
        for line in map(json.loads, content):
            if "provenance" in line and isinstance(line["provenance"], dict):
                given = line["provenance"]
                kept = {name: _anonymous(given[name]) for name in KEPT if name in given}
                line = {"provenance": kept}
            else:
                line["invalid_reason"] = _anonymous(line["invalid_reason"])
                # What is measured beside peers has none.
                for name in {"settings"} & line.keys():
                    line[name] = {k: _anonymous(v) for k, v in line[name].items()}
            lines.append(json.dumps(line, allow_nan=False))
    return "".join(f"{line}\n" for line in lines).encode()


def _anonymous(value: Any) -> Any:
    """Return a value; of a text, each path shortened to its last part, host and user unnamed."""
    if not isinstance(value, str):
        return value
    text = PATH.sub(lambda path: path[1], value)
    for name, instead in ((platform.node(), "host"), (_user(), "user")):
        if name:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", instead, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A process whose user has no name.
        return ""


# --- on the way in --------------------------------------------------------------------------------


def unpack(archive: Path, folder: Path) -> dict[str, Any]:
    """Check an archive and unpack its ``raw`` and ``set.json`` into a new folder.

    Parameters
    ----------
    archive : Path
    folder : Path
        It does not exist, and appears when everything was checked.

    Returns
    -------
    dict
        The content of ``set.json``, see ``pack``.

    Raises
    ------
    UsageError
        When the archive is too large, cut, of another format, or has a member that is unknown,
        missing, changed, or no file of results. The folder does not exist then.
    """
    partial = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with _decompressed(archive) as tar:
            about = _write_members(archive, tar, partial)
        _check_rows(archive, about, partial)
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return about


def is_archive(path: Path) -> bool:
    """Say whether a file begins as one that xz has compressed."""
    try:
        with open(path, "rb") as file:
            return file.read(6) == b"\xfd7zXZ\x00"
    except OSError:
        return False


def _refused(archive: Path, problem: str) -> UsageError:
    return UsageError(f"{archive} is not taken: {problem}; ask for a new millrace export")


def _decompressed(archive: Path) -> IO[bytes]:
    """Return the tar file in an archive, of limited size, as a temporary file."""
    if not is_archive(archive):
        raise _refused(archive, "it is no archive of results, which xz compresses")
    if archive.stat().st_size > MOST_ARCHIVE_BYTES:
        raise _refused(archive, f"it has more than {MOST_ARCHIVE_BYTES >> 20} MiB")
    tar = TemporaryFile()
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=DECODER_BYTES)
    try:
        with open(archive, "rb") as packed:
            while not decoder.eof:
                block = packed.read(BLOCK) if decoder.needs_input else b""
                if decoder.needs_input and not block:
                    raise _refused(archive, "it is cut")
                tar.write(decoder.decompress(block, BLOCK))
                if tar.tell() > MOST_BYTES:
                    raise _refused(archive, f"it has more than {MOST_BYTES >> 20} MiB unpacked")
            if decoder.unused_data or packed.read(1):
                raise _refused(archive, "something follows behind its end")
    except lzma.LZMAError as error:
        tar.close()
        raise _refused(archive, f"it is damaged ({error})") from None
    except BaseException:
        tar.close()
        raise
    tar.seek(0)
    return tar


def _members(archive: Path, tar: IO[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Yield label, path and content of each member; refuse names and kinds that are unknown."""
    seen: set[str] = set()
    try:
        with tarfile.open(fileobj=tar, mode="r:") as opened:
            for member in opened:
                named = MEMBER.fullmatch(member.name)
                if named is None or not member.isreg() or member.issparse():
                    raise _refused(archive, f"it has an unknown member, {member.name[:200]!r}")
                if member.name in seen or len(seen) >= MOST_FILES:
                    raise _refused(archive, f"{member.name!r} is there twice, or one too many")
                seen.add(member.name)
                if member.size > MOST_FILE_BYTES:
                    raise _refused(archive, f"{member.name!r} has over {MOST_FILE_BYTES >> 20} MiB")
                yield named["label"], named["path"], opened.extractfile(member).read()
    except tarfile.TarError as error:
        raise _refused(archive, f"it is damaged ({error})") from None


def _write_members(archive: Path, tar: IO[bytes], folder: Path) -> dict[str, Any]:
    """Write the members as they are stated, and return the statement, ``set.json``."""
    about: dict[str, Any] | None = None
    missing: set[str] = set()
    for label, path, content in _members(archive, tar):
        if about is None:
            if path != ABOUT:
                raise _refused(archive, f"it does not begin with {ABOUT}")
            about = _checked_about(archive, label, content)
            missing = set(about["files"])
        elif path not in missing or label != about["label"]:
            raise _refused(archive, f"it has a member that {ABOUT} does not list, {path!r}")
        elif about["files"][path] != _digest(content):
            raise _refused(archive, f"size or digest of {path!r} is not as {ABOUT} states")
        missing.discard(path)
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if about is None or missing:
        raise _refused(archive, f"it lacks {min(missing, default=ABOUT)!r}")
    return about


def _digest(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _checked_about(archive: Path, label: str, content: bytes) -> dict[str, Any]:
    try:
        about = json.loads(content)
        number = about["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _refused(archive, f"its {ABOUT} is none of Millrace") from None
    if number not in FORMATS:
        raise UsageError(
            f"{archive} has format {number}, and this version of Millrace reads {FORMAT} and"
            f" {WITH_PEERS}: take the version that wrote it, or ask for an export of this one"
        )
    listed = about.get("files")
    if about.get("label") != label or not isinstance(listed, dict) or not listed:
        raise _refused(archive, f"its {ABOUT} is of another label, or lists no file")
    return about


def _check_rows(archive: Path, about: Mapping[str, Any], folder: Path) -> None:
    """Refuse files whose rows this version cannot read, or that are not as stated."""
    raw = results.Raw([])
    beside: list[peer_rows.Row] = []
    for path in about["files"]:
        try:
            kind, paper, *_ = path.split("/")
            if kind == "peers":
                own = peer_rows.read([folder / path])[0]
                if {row.paper for row in own} - {paper}:
                    raise UsageError("rows of another paper")
                beside += own
                continue
            found = results.read(folder / path)
        except UsageError:
            raise _refused(archive, f"{path!r} has rows that this version cannot read") from None
        raw.rows.extend(found.rows)
        raw.provenances.update(found.provenances)
    results.one_machine(raw)
    true = _about(about["label"], raw, {}, beside)
    if (about.get("rows"), about.get("peer_rows")) != (len(raw.rows), true.get("peer_rows")):
        raise _refused(archive, f"it has other rows than {ABOUT} states")
    if not {row.machine for row in beside} <= set(raw.machines):
        raise _refused(archive, "its peers were measured on another machine than all else")
    for name in ("format", "profile", "size", "machine", "cpu_model", "cores", "commits"):
        if about.get(name, ...) != true[name]:
            raise _refused(archive, f"its {ABOUT} states another {name} than its rows")


def take_in(
    archive: Path,
    root: Path,
    label: str | None = None,
    overwrite: bool = False,
    reserved: Collection[str] = (),
) -> tuple[Path, dict[str, Any]]:
    """Unpack an archive below a folder of results, under its label or another one.

    Parameters
    ----------
    archive : Path
    root : Path
        Made if it does not exist.
    label : str, optional
    overwrite : bool
        Whether a set that was imported before may be replaced. One that was measured here never is,
        nor one to which runs of this machine were added.
    reserved : collection of str
        Labels of sets that this machine measures.

    Returns
    -------
    Path
        The folder of the set.
    dict
        The content of ``set.json``, see ``pack``.

    Raises
    ------
    UsageError
        As for ``unpack``; or when the folder of that label exists and may not be replaced.
    """
    root.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=root, prefix=".import-") as new:
        about = unpack(archive, Path(new, "set"))
        name = check_label(label or about["label"])
        if name in reserved:
            raise UsageError(
                f"{name} is the set that make figures measures here; give another --label"
            )
        folder, before = root / name, Path(new, "before")
        if folder.exists():
            if not (folder / ABOUT).is_file() or _added_to(folder):
                raise UsageError(f"{folder} was measured here and stays; give another --label")
            if not overwrite:
                raise UsageError(f"{folder} exists; give another --label, or --overwrite")
            os.replace(folder, before)
        try:
            os.replace(Path(new, "set"), folder)
        except BaseException:
            if before.exists():
                os.replace(before, folder)
            raise
    return folder, about


def _added_to(folder: Path) -> bool:
    """Return whether an imported set has raw files that the archive did not bring."""
    listed = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["files"]
    # Also the partial file of a run that is going on.
    found = [each for kind in ("raw", "peers") for each in folder.glob(f"{kind}/*/*/*repetition-*")]
    return any(each.relative_to(folder).as_posix() not in listed for each in found)
