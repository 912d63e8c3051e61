"""Common parts of the entry points for arrays: refused arguments, and compilation in advance."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.atomics import RELAXED, load
from operators.core.user_functions import user_function
from operators.running.control import STOP, end, fail, meet
from operators.running.library import checked_integers, checked_times, run_to_the_end
from operators.running.run_threads import Role, RunFailed
from tests.sorted_streams import KINDS, sorted_streams


def test_arrays_come_back_as_kernels_take_them():
    given = np.arange(20, dtype=np.uint16)[::2]
    given.flags.writeable = False
    found = checked_integers("keys", given)
    assert found.tolist() == given.tolist()
    assert found.dtype == np.int64 and found.flags.c_contiguous and found.flags.writeable
    for kind in KINDS:
        assert all(len(checked_times(kind, each)) == len(each) for each in sorted_streams(kind))


def test_kernels_are_entered_over_nothing_and_told_to_stop_before_threads_start():
    entered = []

    def kernel(control, own, tuples, failure):
        entered.append((tuples, load(control, STOP, RELAXED)))
        meet(control, own)
        if failure:
            fail(control, own, failure)
        end(control, own)

    def roles(tuples, failure=0):
        return [Role("output", kernel, (tuples, failure), output=True)]

    run_to_the_end(roles(5), roles(0), 5, {})
    assert entered == [(0, 1), (5, 0)]
    with pytest.raises(RunFailed, match="output: it broke"):
        run_to_the_end(roles(5, -9), roles(0), 5, {-9: "it broke"})


def test_the_state_that_kernels_are_compiled_with_is_gone_before_the_run():
    there = []

    def kernel(control, own, state, small):
        meet(control, own)
        there.append(small() is not None)
        end(control, own)

    def role(state, small):
        return Role("output", kernel, (state, small), output=True)

    def nothing(state):
        refs.append(weakref.ref(state))
        return [role(state, refs[0])]

    refs = []
    run_to_the_end([role(np.zeros(1), lambda: refs[0]())], nothing(np.zeros(1)), 1, {})
    assert there == [True, False]


@pytest.mark.parametrize("function", [lambda word: word, len, eval("lambda: 0"), 7])
def test_a_function_without_name_or_file_is_refused(function):
    with pytest.raises(UsageError, match="a condition is a function with a name, in a file, recei"):
        user_function("a condition", function)
