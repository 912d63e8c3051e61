"""Resolution of a join and threads, as a user names them, to a variant and parameters.

The number of threads is one number, or a list of numbers with their duration in tuples::

    4                 four threads
    2,4,1@100000      two for the first 100000 tuples, four for the next 100000, then one
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from operators import registry
from operators.contract import UsageError, Variant, whole
from operators.join.family import MOST_THREADS

# A parameter of joins whose threads take tasks, and so may come and go between two of them.
TASK_SIZE = "task_size"
MOST_CHANGES = 1_000
MOST_TUPLES = 1 << 40
FORM = "as in 4 or in 2,4,1@100000 (two threads for 100000 tuples, four for as many, then one)"


class Threads(NamedTuple):
    """The number of threads of a join.

    Attributes
    ----------
    most : object
        The largest number at a time: a whole number, or the user's value, which is checked against
        the variant's parameters; None if not given.
    changes : tuple of int
        The numbers of active threads, one after the other; empty if constant.
    every : int
        Tuples until the next number.
    """

    most: object
    changes: tuple[int, ...] = ()
    every: int = 1


def threads_of(given: object) -> Threads:
    """Parse a number of threads, or a text in the form above.

    Raises
    ------
    UsageError
        When the text is malformed or out of its limits.

    Examples
    --------
    >>> threads_of("2,4,1@100000")
    Threads(most=4, changes=(2, 4, 1), every=100000)
    >>> threads_of("3")
    Threads(most='3', changes=(), every=1)
    """
    if not isinstance(given, str) or not set(given) & {",", "@"}:
        # Checked later, with the variant's parameters.
        return Threads(given)
    counts, at, tuples = given.partition("@")
    if not at or "@" in tuples:
        raise UsageError(
            f"threads that change need the tuples of each number, {FORM}; received {given!r}"
        )
    changes = tuple(whole("each number of threads", each.strip()) for each in counts.split(","))
    for each in changes:
        if not 1 <= each <= MOST_THREADS:
            raise UsageError(
                f"each number of threads must be between 1 and {MOST_THREADS}, received {each}"
                f" in {given!r}"
            )
    if len(changes) > MOST_CHANGES:
        raise UsageError(
            f"threads change {MOST_CHANGES} times at most, received {len(changes)} numbers of them"
        )
    every = whole("the tuples between two changes of threads", tuples.strip())
    if not 1 <= every <= MOST_TUPLES:
        raise UsageError(
            f"the tuples between two changes of threads must be between 1 and {MOST_TUPLES},"
            f" received {every} in {given!r}"
        )
    return Threads(max(changes), changes, every)


def join_for(
    variant_id: str, given: Mapping[str, Any], threads: object = None
) -> tuple[Variant, dict[str, Any]]:
    """Return the variant of a join for some threads, and all parameters.

    Parameters
    ----------
    variant_id : str
        If `threads` is more than this variant has, or `given` has a parameter that only its form
        for several threads takes, that form is returned.
    given : mapping
        The other parameters.
    threads : int or str, optional
        In the form above; the join's default if not given.

    Raises
    ------
    UsageError
        When there is no such join, or it does not take the parameters; for threads the message
        names the joins that do.
    """
    asked = threads_of(threads)
    chosen = registry.form_for(registry.variant("join", variant_id), given, asked.most)
    settings = registry.settings_for_threads(chosen, given, asked.most)
    if not asked.changes:
        return chosen, settings
    takers = registry.takers_of("join", TASK_SIZE)
    if chosen.id not in takers:
        raise UsageError(
            f"the threads of {chosen.id} stay as many as they are, received threads={threads};"
            f" those of {registry.listed(takers)} may change"
        )
    return chosen, {**settings, "changes": asked.changes, "every": asked.every}
