"""A faulty row is reported once: the first fault, by line, in one form of file."""

from __future__ import annotations

import numpy as np

from datasets.formats.numbers import FINE, NULL, TOO_WIDE, UNPARSABLE
from datasets.formats.rejected import (
    BELOW_0,
    Faults,
    Rejected,
    rejected_rows,
    write_rejected,
)
from datasets.formats.rows import Fault, Rows
from datasets.formats.times import OUT_OF_RANGE, TOO_FINE


def judged() -> tuple[Rows, Faults]:
    """Return six rows, of which only the third is usable, and two that could not be split."""
    split = [Fault(3, "3 columns, not 2", "a,b,c"), Fault(9, "1 column, not 2", "z")]
    rows = Rows(np.array([2, 4, 5, 6, 7, 8]), {}, "row {}".format, split)
    faults = Faults(6)
    faults.note("time", np.array([NULL, UNPARSABLE, FINE, FINE, OUT_OF_RANGE, TOO_FINE]))
    faults.note("price", np.array([UNPARSABLE, NULL, TOO_WIDE, BELOW_0, FINE, FINE]), "value 2")
    faults.note_null("key", np.array([False, False, False, True, True, False]))
    return rows, faults


def test_the_first_fault_of_a_row_is_its_reason():
    rows, faults = judged()
    assert [faults.reason(row) for row in faults.rows.tolist()] == [
        "null time", "unparsable time", "price below 0", "time out of range",
        "time finer than its unit",
    ]  # fmt: skip
    assert faults.usable.tolist() == [2]
    assert faults.column(3) == ("price", "value 2") and faults.column(0) == ("time", "time")


def test_rows_stand_by_line_those_that_could_not_be_split_among_them():
    rows, faults = judged()
    found = rejected_rows(1, rows, faults)
    assert [each.line for each in found] == [2, 3, 4, 6, 7, 8, 9]
    assert found[0] == Rejected("null time", 1, 2, "row 0")
    assert found[1] == Rejected("3 columns, not 2", 1, 3, "a,b,c")
    assert [each.line for each in rejected_rows(1, rows, faults, most=1)] == [2, 3, 9]


def test_a_file_of_them_has_a_header_and_quotes_what_needs_it(tmp_path):
    found = [Rejected("null time", 1, 2, 'a,"b"'), Rejected("null key", 0, 3, "c\nd")]
    for end in ("\n", "\r\n"):
        write_rejected(tmp_path / "rejected.csv", found, ["r.csv", "s.csv"], end)
        lines = [
            "reason,file,line,content",
            'null time,s.csv,2,"a,""b"""',
            'null key,r.csv,3,"c\nd"',
        ]
        assert (tmp_path / "rejected.csv").read_bytes().decode() == end.join([*lines, ""])
