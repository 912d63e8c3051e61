"""Small programs for a chain of cores whose pairs come in no order, and the collector.

As for the ordered chain, but in the next row S's tuple is a partner of R's, whose home it may pass
before R's tuple is there. Cores go on while the other stream is late.

If rings have room, a core ends without waiting, and without preemptions there are some tens of
schedules, among the first one in which S is far ahead. If rings hold one message, each wait is a
choice of the next thread, and the schedules are too many to try: only some are explored, in
addition to the random ones.
"""

from __future__ import annotations

from operators.check.scenario import Scenario
from operators.contract import Variant
from operators.join.check.round_robin import ALONE, SOME, scenario

# The most of one exploration; that of two cores would not end otherwise.
SCHEDULES = 2_000
__all__ = ["ALONE", "scenarios"]


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a chain without order."""
    some, few = ({"ahead": 4, "schedules": most} for most in (SCHEDULES, SOME))
    return [
        scenario(variant, "with-room", [9, 3], [4, 4], 1, 2, room=8, **some),
        scenario(variant, "one-core", [9, 3], [4, 4], 1, 1, **some),
        # The first row has left the window, though there is room for all.
        scenario(variant, "a-time-window", [4, 9, 4], [4, 4, 4], 3, 2, room=8, span=1, **few),
        # The first row only enters the windows.
        scenario(variant, "filled", [4, 4], [4, 4], 2, 2, room=8, probing=False, **few),
        scenario(variant, "three-cores-and-room", [9, 3], [4, 4], 2, 3, room=8, **few),
        # Where S is ahead to its end, no tuple of R that comes later displaces its last but one.
        scenario(variant, "ahead-to-the-end", [9, 3, 3], [4, 4, 4], 1, 2, room=8, **few),
        scenario(variant, "two-cores", [9, 3], [4, 4], 1, 2, **some),
        scenario(variant, "a-window-of-two", [9, 3], [4, 4], 2, 2, deep=True, **some),
        scenario(variant, "three-cores", [9, 3], [4, 4], 2, 3, deep=True, **some),
    ]
