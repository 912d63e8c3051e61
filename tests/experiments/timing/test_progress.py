"""The progress of a group as shown to a user, on a terminal and in a file."""

from __future__ import annotations

import io

import pytest

from experiments.timing.progress import Rounds, duration
from tests.experiments.rows import a_row


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_terminal_sees_a_live_line_and_a_file_only_finished_rounds(stream):
    line = Rounds("aggregation-few-keys-os", 300.0, stream)
    line.said("mq inputs=20 closed")
    line.end("closed round 1 of 5", 20, 200)
    line.done()
    live = isinstance(stream, Terminal)
    assert ("mq inputs=20" in stream.getvalue()) == live
    assert ("\r" in stream.getvalue()) == live
    assert "aggregation-few-keys-os: closed round 1 of 5, 20 runs; about" in stream.getvalue()
    assert stream.getvalue().rstrip().endswith("min left") or live


def test_a_failure_is_told_at_once():
    stream = io.StringIO()
    row = a_row(variant="mq", valid=False, invalid_reason="it fell over")
    Rounds("gate", 1.0, stream).failed(row)
    assert stream.getvalue() == "millrace: gate: FAILED mq inputs=4 closed: it fell over\n"


def test_a_time_to_wait_is_told_in_seconds_and_then_in_minutes():
    assert [duration(s) for s in (-1, 119, 180)] == ["0 s", "119 s", "3 min"]
