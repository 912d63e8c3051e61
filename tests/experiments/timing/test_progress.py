"""What a waiting person sees of a group, on a terminal and in a file."""

from __future__ import annotations

import io

from experiments.timing.progress import LiveLine, result
from tests.experiments.rows import a_row


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_a_live_line_and_a_file_only_finished_points():
    for stream in (Terminal(), io.StringIO()):
        line = LiveLine("aggregation-few-keys-os", 2, stream)
        line.begin("mq inputs=20 closed")
        line.said("40 %", force=True)
        line.end(a_row(), seconds_left=120)
        line.done()
        live = isinstance(stream, Terminal)
        assert ("40 %" in stream.getvalue()) == live
        assert "1/2 mq inputs=20 closed: " in stream.getvalue()
        assert "about 2 min left" in stream.getvalue()
        assert ("\r" in stream.getvalue()) == live


def test_the_result_of_a_row_names_its_states():
    row = a_row(throughput_tps=1_234_567.0, latency_ms_mean=0.5, latency_ms_p99=2.0, noisy=True)
    assert result(row) == "1.23 Mtuples/s, latency 0.5 ms (p99 2) (noisy)"
    assert result(a_row(valid=False, invalid_reason="why")) == "FAILED: why"
