"""Operators and peers take turns; whoever gives one wrong row has no turn any more and no point."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from experiments import profiles
from experiments.peers import catalog, measure, process, rows
from experiments.peers.process import PeerFailed
from experiments.peers.works.windowed_counts import WindowedCounts
from operators.contract import UsageError
from tests.experiments.peers import engines_for_tests
from tests.making_datasets import write_dataset

PAPER = "invented"
COMPARISON = catalog.Comparison(
    id="k", title="counts", family="aggregation", work="windowed_counts", lines=("mq", "wiml"),
    settings={"query": "k-OI", "inputs": 2}, about="Invented.",
)  # fmt: skip
PROFILE = replace(
    profiles.load("quick"), forks=3, closed_rounds=1, closed_seconds=0.01, point_timeout_seconds=20
)


@pytest.fixture
def house(tmp_path, monkeypatch):
    """Lay peers of a test over the house, for this process and those that it starts."""

    def lay(*names: str) -> list[catalog.Peer]:
        folder = engines_for_tests.write(tmp_path / "outside", *names)
        engines = folder / "experiments" / "peers" / "engines"
        monkeypatch.setattr(catalog.engines, "__path__", [*catalog.engines.__path__, str(engines)])
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
        found = [catalog.peer(name) for name in names]
        for name in names:
            # Another test has another module of that name.
            sys.modules.pop(f"{catalog.engines.__name__}.{name}")
        return found

    monkeypatch.setattr(catalog, "comparisons_of", lambda paper: (COMPARISON,))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return lay


def measured(tmp_path, peers) -> list[rows.Row]:
    folder = write_dataset(tmp_path / "data", "meters")
    output = tmp_path / "rows" / "repetition-1.jsonl"
    done = measure.measure(PAPER, PROFILE, peers, {"meters": str(folder)}, 1, output)
    assert done == output
    found, provenances = rows.read([output])
    assert {row.provenance for row in found} == set(provenances)
    return found


def test_all_run_in_the_same_rounds_on_the_same_input_and_who_fails_stops(tmp_path, house):
    found = measured(tmp_path, [catalog.peer("arrow"), *house("wrong", "raising", "unable")])
    runs = {name: [row for row in found if row.name == name] for name in {r.name for r in found}}
    for name in ("mq", "wiml", "arrow"):
        assert [row.round for row in runs[name]] == [1, 2, 3]
        assert all(row.valid and row.digest == row.oracle_digest for row in runs[name])
    # The digests are of the same rows in the same order, whoever made them.
    right = {row.digest for row in found if row.valid}
    assert len(right) == 1
    assert {row.tuples for row in found} == {3_000}
    assert len({row.dataset_digest for row in found}) == 1
    for name, told in (("wrong", "wrong output"), ("raising", "ValueError: no more of this")):
        first, second = runs[name]
        assert first.valid and not second.valid and told in second.invalid_reason
    (unable,) = runs["unable"]
    assert unable.invalid_reason == "MemoryError: too little" and unable.round == 1
    # A turn after the other.
    order = sorted(found, key=lambda row: row.started_at)
    assert all(one.ended_at <= other.started_at for one, other in pairwise(order))
    (arrow, *_) = runs["arrow"]
    assert (arrow.kind, arrow.shown, arrow.version) == (
        rows.PEER, "PyArrow", catalog.peer("arrow").version,
    )  # fmt: skip
    assert arrow.threads == arrow.cores and runs["mq"][0].kind == rows.OPERATOR
    assert arrow.whole_tps == pytest.approx(arrow.tuples / arrow.seconds)


@pytest.mark.parametrize(
    ("name", "told"), [("dying", "ended with status 3"), ("sleeping", "no answer within 2 s")]
)
def test_a_process_that_ends_or_hangs_is_a_failed_run(tmp_path, house, name, told):
    (peer,) = house(name)
    work = WindowedCounts(COMPARISON.settings, write_dataset(tmp_path / "data", "meters"))
    with process.started(peer, "windowed_counts", work, 1) as running:
        with pytest.raises(PeerFailed, match=told):
            running.run(2.0)
        # Others are timed from now on.
        assert running._child.poll() is not None


def test_what_an_engine_prints_is_no_answer(tmp_path, house):
    (peer,) = house("talking")
    work = WindowedCounts(COMPARISON.settings, write_dataset(tmp_path / "data", "meters"))
    with process.started(peer, "windowed_counts", work, 1) as running:
        assert running.run(30.0) > 0
        assert work.judge(running.output()).problem is None
    assert running._child.returncode == 0


def test_the_key_knows_the_peers_their_versions_the_data_and_the_profile(house, monkeypatch):
    arrow, spark = catalog.peer("arrow"), catalog.peer("spark")

    def key(peers, data="a", profile=PROFILE):
        return measure.key_of(PAPER, profile, peers, lambda role: data)

    first = key([arrow])
    assert key([arrow]) == first
    others = [key([arrow, spark]), key([arrow], "b"), key([arrow], profile=profiles.load("laptop"))]
    monkeypatch.setattr(catalog, "version", lambda package: "0.1")
    assert len({first, *others, key([arrow])}) == 5


def test_a_damaged_file_and_overlapping_runs_are_refused(tmp_path, house):
    found = measured(tmp_path, [catalog.peer("arrow")])
    file = tmp_path / "rows" / "repetition-1.jsonl"
    text = file.read_text()
    file.write_text(text[:-20])
    with pytest.raises(UsageError, match="is not a whole file of rows of peers"):
        rows.read([file])
    one, *others = found
    rows.write(file, {"id": one.provenance}, [one, replace(others[0], started_at=one.started_at)])
    with pytest.raises(UsageError, match="began before"):
        rows.read([file])
    with pytest.raises(ValueError, match="not a row"):
        replace(one, digest="00")
