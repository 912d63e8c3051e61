"""The live runs of the notebook: the operators behave as the text says."""

from __future__ import annotations

import pytest

from experiments.multiway_aggregation import live


def labels(snapshot, state):
    return [n.label for n in snapshot.nodes if n.state == state and n.under]


def test_nothing_is_ready_before_every_source_has_delivered():
    empty, *steps = live.fill_t_gate()
    assert empty.event == "3 sources, nothing delivered"
    for snapshot in steps[:3]:
        assert labels(snapshot, "ready") == []
        assert "c0" in {node.label for node in snapshot.nodes}


def test_a_sources_last_tuple_waits_until_it_delivers_again():
    steps = live.fill_t_gate()
    assert steps[4].event == "c delivers a tuple at 3"
    assert labels(steps[4], "ready") == ["a1"]
    assert labels(steps[4], "waiting") == ["b1", "c1", "a2"]
    assert steps[5].delivered == ("a at 1",)
    assert steps[8].delivered == ("b at 2", "c at 3")


def test_the_reader_gets_every_tuple_once_and_in_order():
    steps = live.fill_t_gate()
    got = [each for snapshot in steps for each in snapshot.delivered]
    wanted = sorted((time, name) for name, time in live.DELIVERIES if (name, time) != live.READ)
    assert got == [f"{name} at {time}" for time, name in wanted]


def test_what_is_ready_in_the_picture_is_what_the_reader_takes():
    deliveries = [("a", 1), ("b", 1), ("a", 1), ("b", 3), ("a", 2), live.READ]
    *_, before, after, _ = live.fill_t_gate(deliveries)
    ready = [node for node in before.nodes if node.state == "ready"]
    assert [f"{node.label[0]} at {node.under}" for node in ready] == list(after.delivered)
    assert after.delivered


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_nodes_are_as_high_as_the_gate_has_levels_at_most(levels):
    for snapshot in live.fill_t_gate(levels=levels):
        assert snapshot.levels == levels
        assert max(node.height for node in snapshot.nodes) <= levels


def test_a_winset_is_put_out_once_every_thread_has_passed_it():
    steps = live.fill_w_hive()
    fourth, fifth, sixth = steps[4:7]
    assert fourth.written == {"a": 1, "b": 0}
    assert [winset.state for winset in fourth.winsets[1:]] == ["open"] * 3
    assert fifth.written == {"a": 1, "b": 1}
    assert [winset.state for winset in fifth.winsets[1:]] == ["ready", "open", "open"]
    assert sixth.rows == ("[0, 4) x: 2", "[0, 4) y: 1")


def test_the_heads_part_at_a_winset_that_is_not_on_all_levels():
    ninth = live.fill_w_hive()[9]
    assert ninth.read_head != ninth.insert_head
    assert ninth.winsets[ninth.read_head].label == "w1"
    assert ninth.winsets[ninth.insert_head].label == "w0"
    assert ninth.winsets[ninth.read_head].height < ninth.levels


def test_a_hive_counts_every_tuple_in_every_window_it_falls_into():
    rows = [row for snapshot in live.fill_w_hive() for row in snapshot.rows]
    counted = sum(int(row.rpartition(" ")[2]) for row in rows)
    windows = live.WINDOW_SIZE // live.WINDOW_ADVANCE
    early = sum(1 for _, time, _ in live.TUPLES if time < live.WINDOW_ADVANCE)
    assert counted == windows * len(live.TUPLES) - early
    assert rows == sorted(rows, key=lambda row: int(row[1 : row.index(",")]))


def test_live_runs_take_turns_and_are_right(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(live, "LIVE_SECONDS", 0.01)
    runs = live.locks_against_no_locks(sources=2, rounds=2)
    assert [run.variant for run in runs] == list(live.GATES) * 2
    assert [run.round for run in runs] == [1] * 3 + [2] * 3
    assert all(run.valid and run.throughput_tps > 0 and run.threads == 3 for run in runs)


def test_a_tuple_that_is_not_taken_is_an_error():
    with pytest.raises(RuntimeError, match="status -1"):
        live.fill_t_gate((("a", 2), ("a", 1)))
