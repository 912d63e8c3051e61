"""States in segments: a saved state is read back, and only new data is written."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.streamcloud.algebra import Aggregate, CountWindow, Input, Join, Query, TimeWindow
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance
from operators.streamcloud.plan import SUBQUERY_CLUSTER
from operators.streamcloud.rows import Row
from operators.streamcloud.saved import Log, pack_saved, unpack_saved
from operators.streamcloud.segments import RADIX, cut, pack_head, unpack_head, whole
from tests.covering import with_always

WORD = 8


def plain(saved):
    """Return a state as lists."""
    return [
        ("log", each.first, each.words.tolist()) if isinstance(each, Log) else each.tolist()
        for each in saved
    ]


class Kept:
    """The versions of one state, as a carrier keeps them: bytes by number."""

    def __init__(self):
        self.heads, self.segments = {}, {}

    def keep(self, saved, number):
        """Keep a version, twice as a repeated batch would; return the number of bytes written."""
        before = unpack_head(self.heads[max(self.heads)]) if self.heads else None
        head, segment = cut(saved, number, before)
        again, same = cut(saved, number, before)
        assert (pack_head(again), same) == (pack_head(head), segment)
        self.heads[number] = pack_head(head)
        if segment is not None:
            self.segments[number] = segment
        return len(self.heads[number]) + len(segment or b"")

    def read(self, number):
        return whole(unpack_head(self.heads[number]), self.segments.__getitem__)

    def forget(self, number):
        """Delete data that no version from `number` on needs."""
        needed = set(unpack_head(self.heads[number]).needed)
        self.heads = {each: body for each, body in self.heads.items() if each >= number}
        self.segments = {
            each: body for each, body in self.segments.items() if each >= number or each in needed
        }


# --- any logs -------------------------------------------------------------------------------------


def tuples_at(first, end):
    """Return tuples of two words that contain their position in the log."""
    places = np.arange(first, end)
    return np.array([places, -places])


@given(
    moves=st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=3,
                            max_size=3), max_size=30),
    keeping=st.integers(1, 3),
)  # fmt: skip
@settings(max_examples=100)
def test_what_is_read_is_what_was_saved(moves, keeping):
    kept, spans = Kept(), [(0, 0)] * 3
    versions = {}
    for number, step in enumerate(moves):
        spans = [
            (min(first + gone, end + come), end + come)
            for (first, end), (come, gone) in zip(spans, step, strict=True)
        ]
        logs = [Log(first, tuples_at(first, end)) for first, end in spans]
        versions[number] = plain([np.arange(number % 3), *logs[:2], np.zeros((2, 0)), logs[2]])
        kept.keep([np.arange(number % 3), *logs[:2], np.zeros((2, 0), np.int64), logs[2]], number)
        oldest = max(0, number - keeping + 1)
        kept.forget(oldest)
        for each in range(oldest, number + 1):
            assert plain(kept.read(each)) == versions[each]


def test_a_state_without_logs_has_no_segments():
    head, segment = cut([np.arange(3)], 5)
    assert segment is None and head.needed == []
    assert plain(whole(unpack_head(pack_head(head)), {}.__getitem__)) == [[0, 1, 2]]


def test_a_batch_that_brings_nothing_writes_no_segment():
    log = Log(4, tuples_at(4, 9))
    head, segment = cut([log], 0)
    assert segment is not None and head.needed == [0]
    later, nothing = cut([Log(6, tuples_at(6, 9))], 1, head)
    assert nothing is None and later.needed == [0]
    gone, nothing = cut([Log(9, tuples_at(9, 9))], 2, later)
    assert nothing is None and gone.needed == []


MANY = [RADIX - 1, RADIX, 3 * RADIX, RADIX**2 + RADIX]


@pytest.mark.parametrize("versions", with_always(MANY, MANY[:3]))
def test_a_window_of_many_batches_has_few_segments(versions):
    kept, written, most = Kept(), 0, 0
    for number in range(versions):
        kept.keep([Log(0, tuples_at(0, number + 1))], number)
        kept.forget(number)
        written += len(kept.segments.get(number, b"")) // (2 * WORD)
        most = max(most, len(kept.segments))
    levels = 1 if versions < RADIX else 2 if versions < RADIX**2 else 3
    assert most <= levels * (RADIX - 1)
    # Each tuple once a level; in a segment two words precede the tuples.
    assert written <= levels * versions + versions
    assert plain(kept.read(versions - 1)) == plain([Log(0, tuples_at(0, versions))])


def test_a_log_that_goes_back_is_refused():
    head, _ = cut([Log(0, tuples_at(0, 5))], 0)
    with pytest.raises(ValueError, match=r"logs end at \[4\], and at \[5\] in version 0"):
        cut([Log(0, tuples_at(0, 4))], 1, head)
    with pytest.raises(ValueError, match="logs end at"):
        cut([Log(0, tuples_at(0, 5))] * 2, 1, head)


def test_a_segment_that_is_not_what_was_cut_is_found():
    head, mine = cut([Log(0, tuples_at(0, 5))], 3)
    _, other = cut([Log(0, tuples_at(1, 6))], 3)
    assert len(other) == len(mine)
    for body in (other, mine[:-WORD]):
        with pytest.raises(ValueError, match="segment 3 is not what was written"):
            whole(head, lambda number: body)  # noqa: B023


def test_bytes_that_are_cut_off_are_refused():
    saved = [np.arange(2), Log(3, tuples_at(3, 5))]
    body = pack_saved(saved)
    assert plain(unpack_saved(body)) == plain(saved)
    head = pack_head(cut(saved, 0)[0])
    for found, unpack in ((body, unpack_saved), (head, unpack_head)):
        for end in range(4 * WORD, len(found), WORD):
            with pytest.raises(ValueError, match="cut off|a head of 2 parts|not enough values"):
                unpack(found[:end])


# --- instances ------------------------------------------------------------------------------------

A, B = Input("a", {"a": "int64"}), Input("b", {"a": "int64"})
BATCH, WINDOW = 100, 60


def instance_of(node):
    plan = compile_query(Query("one", node), SUBQUERY_CLUSTER, 1, "transparent")
    return Instance(plan, "op", 0)


def second(side, number, progress=None):
    """Return the tuples of a second of one side, as a row."""
    position = np.arange(number * BATCH, (number + 1) * BATCH)
    batch = np.array([position // BATCH, np.full(BATCH, side), position, position % 97])
    return Row(0, side, 0, number, number + 1 if progress is None else progress, batch)


def written(instance, batches, sides=2, progress=None):
    """Return, for each second, the bytes written in segments and the size of the whole state."""
    kept, found = Kept(), []
    for number in range(batches):
        promised = (progress or {}).get
        instance.step([second(side, number, promised(side)) for side in range(sides)])
        saved = instance.saved()
        found.append((kept.keep(saved, number), len(pack_saved(saved))))
        kept.forget(number)
    other = type(instance)(instance.plan, instance.stage.name, instance.number)
    other.restore(kept.read(batches - 1))
    assert other.save() == instance.save()
    return found


JOIN = Join("op", (A, B), TimeWindow(WINDOW), {"a": "left.a"}, on=[("a", "a")])
COUNTED = Join("op", (A, B), CountWindow(BATCH * WINDOW), {"a": "left.a"}, on=[("a", "a")])


@pytest.mark.parametrize("node", [JOIN, COUNTED], ids=["time", "count"])
def test_a_batch_writes_what_a_window_got_and_not_the_window(node):
    found = written(instance_of(node), WINDOW + 20)
    new = 2 * BATCH * 4 * WORD
    for wrote, of_all in found[WINDOW + 2 :]:
        assert of_all > WINDOW * new
        # The head lists as many segments as the window has batches.
        assert new < wrote < new + 6_000


def test_a_window_keeps_its_positions_when_it_moves_to_the_front_of_its_room():
    node = Join("op", (A, B), TimeWindow(3), {"a": "left.a"}, where="left.ts < 0", on=[("a", "a")])
    instance, kept = instance_of(node), Kept()
    for number in range(30):
        instance.step([second(side, number) for side in (0, 1)])
        saved = instance.saved()
        kept.keep(saved, number)
        windows = [each for each in saved if isinstance(each, Log) and each.words.shape[1]]
        first = BATCH * max(0, number - 2)
        assert [(log.first, log.end) for log in windows] == [(first, BATCH * (number + 1))] * 2
        for log in windows:
            assert log.words[2].tolist() == list(range(log.first, log.end))
    other = instance_of(node)
    other.restore(kept.read(29))
    assert other.save() == instance.save()


def test_a_batch_writes_the_panes_that_are_whole_and_the_last_one():
    node = Aggregate("op", A, TimeWindow(WINDOW, 1), {"n": "count()", "s": "sum(a)"}, ["a"])
    found = written(instance_of(node), WINDOW + 20, sides=1)
    pane = 97 * 4 * WORD
    for wrote, of_all in found[WINDOW + 2 :]:
        assert of_all > (WINDOW - 2) * pane
        # The pane completed since, the pane of this second, and the entries of segments.
        assert 2 * pane < wrote < 2 * pane + 5_000


def test_a_batch_writes_what_began_to_wait_for_a_sender_that_is_silent():
    found = written(instance_of(JOIN), 50, progress={1: 0})
    new = 2 * BATCH * 4 * WORD
    for number, (wrote, of_all) in enumerate(found):
        assert of_all > (number + 1) * new
        assert new < wrote < new + 6_000


@pytest.mark.parametrize("advance", [1, 7])
def test_an_aggregate_goes_on_in_the_pane_it_was_in(advance):
    node = Aggregate("op", A, TimeWindow(9, advance), {"n": "count()", "s": "sum(a)"}, ["a"])
    random, kept = Random(advance), Kept()
    once, often = instance_of(node), instance_of(node)
    time = 0
    for number in range(150):
        count = random.randint(0, 30)
        times = time + np.sort(np.array([random.randint(0, 3) for _ in range(count)], np.int64))
        time = int(times[-1]) if count else time
        values = np.array([random.randint(0, 5_000) for _ in range(count)], dtype=np.int64)
        batch = np.array([times, np.zeros_like(times), np.arange(count) + 100 * number, values])
        row = Row(0, 0, 0, number, time, batch)
        mine, other = once.step([row]), often.step([row])
        for [a], [b] in zip(mine, other, strict=True):
            assert a[:5] == b[:5] and a.batch.tolist() == b.batch.tolist()
        kept.keep(often.saved(), number)
        kept.forget(number)
        assert often.save() == once.save()
        often = instance_of(node)
        often.restore(kept.read(number))


def test_a_pane_of_more_groups_than_the_table_has_room_for_is_one_run():
    node = Aggregate("op", A, TimeWindow(10, 10), {"n": "count()"}, ["a"])
    instance, groups = instance_of(node), 10_000
    for number in range(2):
        values = np.arange(groups)[:: 1 - 2 * number]
        zeros = np.zeros(groups, dtype=np.int64)
        batch = np.array([zeros, zeros, np.arange(groups) + number * groups, values])
        instance.step([Row(0, 0, 0, number, 0, np.ascontiguousarray(batch))])
    *_, runs, cells, last = instance.saved()
    assert runs.words.tolist() == [[0], [0]] and cells.words.shape[1] == 0
    assert last.tolist() == [[group, 2] for group in range(groups)]
    other = instance_of(node)
    other.load(instance.save())
    later = batch + np.array([[0], [0], [groups], [0]])
    for each in (instance, other):
        each.step([Row(0, 0, 0, 2, 0, later.copy())])
    assert other.save() == instance.save()
    assert instance.saved()[-1].tolist() == [[group, 3] for group in range(groups)]
