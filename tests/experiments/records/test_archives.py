"""Archives of results: nothing of their owner goes out, nothing unchecked comes in."""

from __future__ import annotations

import getpass
import hashlib
import io
import json
import lzma
import os
import platform
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.peers import rows as peer_rows
from experiments.records import archives, results
from experiments.records.archives import pack, take_in, unpack
from experiments.records.sets import opened
from operators.contract import UsageError
from tests.figures.peers_rows import peer, some
from tests.invented import KEY, MACHINE, PROVENANCE, two, write_raw

HOME = "/home/ada.lovelace/engine"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files of a set whose texts name its owner in every way that a row allows."""
    monkeypatch.setattr(platform, "node", lambda: "difference")
    monkeypatch.setattr(getpass, "getuser", lambda: "lovelace")
    reason = f"no file {HOME}/calls.csv, says difference to lovelace"
    rows = [
        each | {"valid": False, "invalid_reason": reason} if each["round"] == 1 and n == 0 else each
        for n, each in enumerate(two(repetitions=2))
    ]
    given = PROVENANCE | {"argv": [f"{HOME}/measure.py"], "owner": "Countess", "commit": "ab" * 20}
    write_raw(tmp_path / "set" / "raw", rows, given)
    with opened(str(tmp_path / "set")) as found:
        return found.files


@pytest.fixture
def archive(files, tmp_path):
    pack("mine", files, tmp_path / "mine.tar.xz")
    return tmp_path / "mine.tar.xz"


def members_of(archive):
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def write_archive(path, members, kinds=()):
    """Write members as a tar file that xz compresses, whatever their names."""
    with tarfile.open(path, "w:xz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in kinds:
            tar.addfile(member)


def test_no_byte_of_an_archive_is_of_its_owner(archive):
    content = lzma.decompress(archive.read_bytes())
    words = [HOME, "lovelace", "Countess", "argv", "difference"]
    words += [str(Path.home()), str(Path.cwd())]
    assert [word for word in words if word.encode() in content] == []
    assert b"no file calls.csv, says host to user" in content
    with tarfile.open(archive) as tar:
        assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in tar} == {(0, 0, "", "", 0)}


def test_rows_come_back_as_they_went_out(files, archive, tmp_path):
    about = unpack(archive, tmp_path / "back")
    assert (about["label"], about["rows"], about["commits"]) == ("mine", 8, ["ab" * 20])
    for group, each in files.items():
        for file in each:
            back = results.read(tmp_path / "back" / "raw" / group / KEY / file.name)
            given = results.read(file)
            assert [row["throughput_tps"] for row in back.rows] == [
                row["throughput_tps"] for row in given.rows
            ]
            assert back.provenances[PROVENANCE["id"]]["cpu_model"] == PROVENANCE["cpu_model"]


def test_equal_sets_give_equal_bytes(files, archive, tmp_path):
    pack("mine", files, tmp_path / "again.tar.xz")
    assert archive.read_bytes() == (tmp_path / "again.tar.xz").read_bytes()


def test_an_archive_that_exists_stays_unless_it_may_be_replaced(files, tmp_path):
    there = tmp_path / "there.tar.xz"
    there.write_bytes(b"something")
    with pytest.raises(UsageError, match="exists; choose another name, or give --overwrite"):
        pack("mine", files, there)
    assert there.read_bytes() == b"something"
    pack("mine", files, there, overwrite=True)
    assert members_of(there)


def test_a_failed_export_leaves_no_file(files, tmp_path, monkeypatch):
    def full(*given, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(OSError, match="No space"):
        pack("mine", files, tmp_path / "new.tar.xz")
    assert [path.name for path in tmp_path.iterdir() if "new" in path.name] == []


def about_with(members, **changes):
    about = json.loads(members["mine/set.json"])
    return {**members, "mine/set.json": json.dumps(about | changes).encode()}


def changed_row(members):
    name = next(name for name in members if "repetition-1" in name)
    return {**members, name: members[name].replace(b"1000000.0", b"1000009.0")}


BAD = {
    "a member too many": (lambda m: {**m, "mine/raw/a/b/repetition-9.jsonl": b"{}"}, "not list"),
    "an unknown name": (lambda m: {**m, "mine/run.sh": b""}, "unknown member"),
    "a way out": (lambda m: {**m, "mine/raw/../../x/repetition-1.jsonl": b""}, "unknown member"),
    "an absolute path": (lambda m: {"/etc/passwd": b"", **m}, "unknown member"),
    "another label": (lambda m: {**m, "x/raw/a/b/repetition-1.jsonl": b""}, "not list"),
    "a changed row": (changed_row, "size or digest"),
    "a member too few": (lambda m: dict(list(m.items())[:-1]), "lacks"),
    "no description": (lambda m: dict(list(m.items())[1:]), "begin with set.json"),
    "no JSON": (lambda m: {**m, "mine/set.json": b"["}, "none of Millrace"),
    "deep JSON": (lambda m: {**m, "mine/set.json": b"[" * 100_000}, "none of Millrace"),
    "a later format": (lambda m: about_with(m, format=3), "has format 3, .* reads 1 and 2"),
    "no file listed": (lambda m: about_with(m, files={}), "lists no file"),
    "other rows": (lambda m: about_with(m, rows=9), "other rows than"),
    "another machine": (lambda m: about_with(m, machine="x"), "another machine than"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_as_stated_is_refused_and_nothing_is_written(case, archive, tmp_path):
    change, words = BAD[case]
    members = members_of(archive)
    assert change(members) != members
    write_archive(tmp_path / "bad.tar.xz", change(members))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=words):
        unpack(tmp_path / "bad.tar.xz", tmp_path / "back")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_links_devices_and_folders_are_no_members(kind, archive, tmp_path):
    link = tarfile.TarInfo("mine/raw/a/b/repetition-1.jsonl")
    link.type, link.linkname = kind, "/etc/passwd"
    write_archive(tmp_path / "bad.tar.xz", members_of(archive), [link])
    with pytest.raises(UsageError, match="unknown member"):
        unpack(tmp_path / "bad.tar.xz", tmp_path / "back")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: content[: len(content) // 2], "it is cut|damaged"),
        (lambda content: content[:40] + b"\0" * 40 + content[80:], "damaged"),
        (lambda content: content + b"more", "behind its end"),
        (lambda content: b"PK" + content, "no archive of results"),
        (lambda content: lzma.compress(b"no tar"), "damaged|lacks"),
    ],
)
def test_damaged_files_are_refused(damage, words, archive, tmp_path):
    archive.write_bytes(damage(archive.read_bytes()))
    with pytest.raises(UsageError, match=words):
        unpack(archive, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_row_that_no_version_writes_is_refused(archive, tmp_path):
    # Sizes and digests are as stated: only the rows are wrong.
    members = members_of(archive)
    name = next(name for name in members if "repetition-1" in name)
    content = members[name].replace(b'"phase": "closed"', b'"phase": "clover"')
    about = json.loads(members["mine/set.json"])
    about["files"][name.removeprefix("mine/")] = archives._digest(content)
    members |= {name: content, "mine/set.json": json.dumps(about).encode()}
    write_archive(tmp_path / "bad.tar.xz", members)
    with pytest.raises(UsageError, match="rows that this version cannot read"):
        unpack(tmp_path / "bad.tar.xz", tmp_path / "back")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("MOST_ARCHIVE_BYTES", "has more than"),
        ("MOST_BYTES", "unpacked"),
        ("MOST_FILES", "one too many"),
        ("MOST_FILE_BYTES", "has over"),
    ],
)
def test_an_archive_over_a_limit_is_refused(limit, words, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, limit, 1)
    with pytest.raises(UsageError, match=words):
        unpack(archive, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_set_is_taken_in_under_its_label_or_another(archive, tmp_path):
    root = tmp_path / "results"
    folder, about = take_in(archive, root)
    assert folder == root / "mine" and (folder / "set.json").is_file()
    assert take_in(archive, root, "theirs")[0] == root / "theirs"
    with pytest.raises(UsageError, match="exists; give another --label, or --overwrite"):
        take_in(archive, root)
    assert take_in(archive, root, overwrite=True)[1] == about
    assert sorted(path.name for path in root.iterdir()) == ["mine", "theirs"]


def test_a_set_measured_here_is_never_replaced(archive, tmp_path):
    write_raw(tmp_path / "results" / "mine" / "raw", two())
    with pytest.raises(UsageError, match="was measured here and stays"):
        take_in(archive, tmp_path / "results", overwrite=True)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["mine"]


def test_an_imported_set_to_which_runs_were_added_here_is_not_replaced(archive, tmp_path):
    root = tmp_path / "results"
    folder, about = take_in(archive, root)
    first = folder / next(iter(about["files"]))
    added = first.with_name("repetition-9.jsonl")
    added.write_bytes(first.read_bytes())
    with pytest.raises(UsageError, match="was measured here and stays"):
        take_in(archive, root, overwrite=True)
    assert added.is_file() and [path.name for path in root.iterdir()] == ["mine"]


def test_the_label_of_a_set_that_is_measured_here_is_refused(archive, tmp_path):
    with pytest.raises(UsageError, match="mine is the set that make figures measures here"):
        take_in(archive, tmp_path / "results", reserved=("quick", "mine"))
    assert not (tmp_path / "results" / "mine").exists()


def test_a_set_that_cannot_be_moved_in_leaves_the_former_one(archive, tmp_path, monkeypatch):
    root = tmp_path / "results"
    folder, about = take_in(archive, root)
    move = archives.os.replace

    def failing(source, target):
        if Path(source).name == "set":
            raise OSError("no space left")
        move(source, target)

    monkeypatch.setattr(archives.os, "replace", failing)
    with pytest.raises(OSError, match="no space left"):
        take_in(archive, root, overwrite=True)
    assert json.loads((folder / "set.json").read_text()) == about


@pytest.mark.parametrize("name", ["profile", "size", "cores", "cpu_model", "commits"])
def test_what_is_said_of_a_set_must_be_true_of_its_rows(name, archive, tmp_path):
    members = members_of(archive)
    about = json.loads(members["mine/set.json"])
    del about[name]
    write_archive(archive, members | {"mine/set.json": json.dumps(about).encode()})
    with pytest.raises(UsageError, match=f"states another {name} than its rows"):
        take_in(archive, tmp_path / "results")
    assert list((tmp_path / "results").iterdir()) == []


# --- operators beside peers -----------------------------------------------------------------------


@pytest.fixture
def with_peers(files, tmp_path):
    """An archive of the set, and of rows of peers that name the owner."""
    given = {"id": "p", "cpu_model": "Xeon", "commit": "ab" * 20, "argv": [HOME]}
    reason = f"no file {HOME}/calls.csv, says difference to lovelace"
    wrong = {"valid": False, "invalid_reason": reason, "machine": MACHINE}
    beside = [replace(each, machine=MACHINE) for each in some()]
    beside.append(peer("slow", "Slow", 9, None, **wrong))
    key = tmp_path / "set" / "peers" / "multiway_aggregation" / "k2"
    # Of an earlier key, which is not carried.
    peer_rows.write(key.with_name("k1") / "repetition-1.jsonl", given, beside[:1])
    os.utime(key.with_name("k1") / "repetition-1.jsonl", (0, 0))
    peer_rows.write(key / "repetition-1.jsonl", given, beside)
    with opened(str(tmp_path / "set")) as found:
        pack("mine", files, tmp_path / "mine.tar.xz", peers=found.peers)
    return tmp_path / "mine.tar.xz", beside


def test_rows_of_peers_come_back_without_their_owner(with_peers, tmp_path):
    archive, beside = with_peers
    content = lzma.decompress(archive.read_bytes())
    assert [w for w in (HOME, "lovelace", "argv", "difference") if w.encode() in content] == []
    folder, about = take_in(archive, tmp_path / "results")
    assert (about["format"], about["rows"], about["peer_rows"]) == (2, 8, len(beside))
    with opened(str(folder)) as back, opened(str(archive)) as packed:
        for found in (back, packed):
            assert [each.whole_tps for each in found.beside_peers] == [
                each.whole_tps for each in beside
            ]
        assert [file.parent.name for file in back.peers["multiway_aggregation"]] == ["k2"]
    peer_rows.write(folder / "peers" / "pim_tree" / "k" / "repetition-1.jsonl", {"id": "p"}, [])
    with pytest.raises(UsageError, match="was measured here and stays"):
        take_in(archive, tmp_path / "results", overwrite=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"paper": "pim_tree"}, "has rows that this version cannot read"),
        ({"whole_tps": "fast"}, "has rows that this version cannot read"),
        ({"machine": "other"}, "another machine than all else"),
        (None, "other rows than"),
    ],
)
def test_rows_of_peers_are_checked_on_the_way_in(with_peers, tmp_path, change, words):
    members = members_of(with_peers[0])
    (name,) = (each for each in members if "/peers/" in each)
    first, *lines = members[name].decode().splitlines()
    lines = [json.loads(line) | (change or {}) for line in lines[: None if change else -1]]
    content = "".join(f"{each}\n" for each in (first, *map(json.dumps, lines))).encode()
    about = json.loads(members["mine/set.json"])
    about["files"][name.removeprefix("mine/")] = {
        "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip
    changed = {"mine/set.json": json.dumps(about).encode(), name: content}
    write_archive(tmp_path / "bad.tar.xz", members | changed)
    with pytest.raises(UsageError, match=words):
        unpack(tmp_path / "bad.tar.xz", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_peers_of_another_machine_are_not_packed(files, tmp_path):
    rows = tmp_path / "peers" / "multiway_aggregation" / "k" / "repetition-1.jsonl"
    peer_rows.write(rows, {"id": "p"}, some())
    with pytest.raises(UsageError, match="peers were measured on the machine m, and all else on"):
        pack("mine", files, tmp_path / "out.tar.xz", peers={"multiway_aggregation": [rows]})
    assert not (tmp_path / "out.tar.xz").exists()


@pytest.mark.parametrize("label", ["", "../x", "a/b", "-x", ".x", "x" * 101])
def test_a_label_that_could_lead_elsewhere_is_refused(label, files, archive, tmp_path):
    with pytest.raises(UsageError, match="cannot be"):
        archives.check_label(label)
    with pytest.raises(UsageError, match="cannot be"):
        pack(label, files, tmp_path / "out.tar.xz")
