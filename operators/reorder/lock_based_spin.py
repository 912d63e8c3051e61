"""The lock-based reorder buffer under a spin lock.

No paper has it. The operating system is part of the cost of blocking in
`operators.reorder.lock_based`: a worker that sleeps in a mutex must be woken again. This variant
shows the scheme without that.
"""

from __future__ import annotations

from operators.contract import Look, Variant
from operators.core.spin_lock import acquire, make_spin_locks, release
from operators.reorder import lock_based
from operators.reorder.family import ReorderOperations
from operators.reorder.lock_based import (
    LockBasedState,
    check_invariants,
    next_serial,
    sending_under,
)
from operators.reorder.shape import SLOTS


def make_state(slots: int) -> LockBasedState:
    """Return an empty buffer; the limits are those of `operators.reorder.lock_based`."""
    return lock_based.make_state(slots)._replace(lock=make_spin_locks(1))


VARIANT = Variant(
    id="lock-based-spin",
    family="reorder",
    title="Lock-based (spin)",
    paper="none",
    section="beside 3.1",
    operations=ReorderOperations(
        make_state, sending_under(acquire, release), next_serial, check_invariants
    ),
    order="serial numbers",
    progress="blocking",
    threads={"worker": "any number"},
    capacity="slots outputs; one too far ahead is told FULL",
    parameters=(SLOTS,),
    extended=True,
    look=Look("grey", "P"),
    extends={"ordered_processing": ("12",)},
)
