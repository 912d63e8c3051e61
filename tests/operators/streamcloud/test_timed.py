"""The processor time of an instance's thread by activity, with a clock that is set by hand."""

from __future__ import annotations

from operators.running.control import block, make_control
from operators.streamcloud.carriers import timed
from operators.streamcloud.carriers.timed import Spent, TimedThread
from operators.streamcloud.parts import Sent
from operators.streamcloud.rows import Row, empty_batch

ROW = Row(0, 0, 0, 0, 0, empty_batch(3))


class Inbox:
    """An inbox whose every use takes time."""

    def __init__(self, clock, taking, putting):
        self._clock, self._taking, self._putting = clock, taking, putting

    def take(self, stopped):
        self._clock[0] += self._taking
        return [ROW]

    def put(self, row, stopped):
        self._clock[0] += self._putting
        return True

    def has_room(self, row):
        return True


def test_processor_time_is_split_into_steps_and_what_is_between_them(monkeypatch):
    clock = [1000]
    monkeypatch.setattr(timed, "thread_now", lambda: clock[0])
    spent = Spent()
    thread = TimedThread(make_control(1), block(0), spent)
    inboxes = {(0, 0): Inbox(clock, taking=3, putting=7)}
    assert spent.ns == (0, 0)
    for _ in range(2):
        assert thread.take(inboxes[0, 0]) == [ROW]
        with thread.stepping():
            assert spent.in_step
            clock[0] += 100
        assert not spent.in_step
        assert thread.send(inboxes, [Sent(0, ROW), Sent(0, ROW)])
    # Time after the last step is recorded with the next take.
    assert spent.ns == (200, 3 + 14 + 3)
    thread.take(inboxes[0, 0])
    assert spent.ns == (200, 3 + 14 + 3 + 14 + 3)
