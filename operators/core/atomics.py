"""Atomic words, locks, waiting and clocks: the only access to words under contention.

Each function has one meaning and two forms. The Python bodies below *are* the meaning: they run
when JIT compilation is off, after calling ``scheduling_hook``, through which a test may choose the
next thread to run. Compiled, each is one LLVM atomic instruction or a call of libc. A structure is
written once, and the measured source is the tested source.

Words are elements of one-dimensional C-contiguous int64 arrays: naturally aligned, so indivisible
on every processor numba supports. Each call spells its memory order; there is no default:

==========  =====================================================================================
RELAXED     indivisible, orders nothing
ACQUIRE     a load: later accesses stay after it, and see all that came before the RELEASE it read
RELEASE     a store: earlier accesses stay before it
ACQ_REL     a read-modify-write that is both
SEQ_CST     both, and in one order that all threads agree on
==========  =====================================================================================

Interpreted, every access is sequentially consistent: the global interpreter lock makes a single
load indivisible, and one lock in this module a read-modify-write. A store takes that lock too:
between the read and the write of an update it would be lost.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError

from operators.core.c_library import call, nanoseconds
from operators.core.jit import compiled_as
from operators.core.noise import disturb

RELAXED = 0
ACQUIRE = 1
RELEASE = 2
ACQ_REL = 3
SEQ_CST = 4

_LLVM_ORDER = {
    RELAXED: "monotonic",
    ACQUIRE: "acquire",
    RELEASE: "release",
    ACQ_REL: "acq_rel",
    SEQ_CST: "seq_cst",
}
_LOADS = {RELAXED, ACQUIRE, SEQ_CST}
_STORES = {RELAXED, RELEASE, SEQ_CST}
_UPDATES = {RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST}

# pthread_mutex_t takes 40 bytes on Linux and 64 on macOS; two cache lines hold either, and keep
# neighbouring mutexes from sharing one.
MUTEX_WORDS = 16
_CLOCK_MONOTONIC, _CLOCK_THREAD = (6, 16) if sys.platform == "darwin" else (1, 3)

# A test sets this to a function of (operation, array, index) that may switch virtual threads.
scheduling_hook: Callable[[str, np.ndarray | None, int], None] | None = None

_update_lock = threading.Lock()
_mutexes: dict[int, threading.Lock] = {}


def _hook(operation: str, array: np.ndarray | None = None, index: int = 0) -> None:
    if scheduling_hook is not None:
        scheduling_hook(operation, array, index)


# --- the definition ------------------------------------------------------------------------------


def load(array: np.ndarray, index: int, order: int) -> int:
    """Return the word at `index`."""
    _hook("load", array, index)
    return int(array[index])


def store(array: np.ndarray, index: int, value: int, order: int) -> None:
    """Set the word at `index` to `value`."""
    _hook("store", array, index)
    with _update_lock:
        array[index] = value


def cas(array: np.ndarray, index: int, expected: int, desired: int, order: int) -> bool:
    """Set the word to `desired` if it is `expected`, and say whether it was.

    `order` holds for a success; a failure is a load of the strongest order `order` contains.
    """
    _hook("cas", array, index)
    with _update_lock:
        if array[index] != expected:
            return False
        array[index] = desired
        return True


def fetch_add(array: np.ndarray, index: int, value: int, order: int) -> int:
    """Add `value` to the word, wrapping at 64 bits, and return the previous value."""
    _hook("fetch_add", array, index)
    with _update_lock:
        old = int(array[index])
        array[index] = (old + int(value) + 2**63) % 2**64 - 2**63
        return old


def exchange(array: np.ndarray, index: int, value: int, order: int) -> int:
    """Set the word to `value` and return the previous value."""
    _hook("exchange", array, index)
    with _update_lock:
        old = int(array[index])
        array[index] = value
        return old


def fence(order: int) -> None:
    """Order this thread's accesses before the call against those after it."""
    _hook("fence")


def pause() -> None:
    """Tell the processor that this thread spins."""
    _hook("pause")


def yield_thread() -> None:
    """Offer the core to another thread that is ready to run."""
    _hook("yield_thread")
    os.sched_yield()


def sleep_us(microseconds: int) -> None:
    """Give up the core for about `microseconds`."""
    _hook("sleep_us")
    time.sleep(microseconds / 1e6)


def now() -> int:
    """Return the monotonic clock in nanoseconds."""
    return time.monotonic_ns()


def thread_now() -> int:
    """Return the processor time of the calling thread in nanoseconds."""
    return time.thread_time_ns()


def init_lock(array: np.ndarray, index: int) -> None:
    """Make the `MUTEX_WORDS` words at `index` an unlocked pthread mutex."""
    _mutexes[array.ctypes.data + 8 * index] = threading.Lock()


def lock(array: np.ndarray, index: int) -> None:
    """Take the mutex at `index`; sleeps in the kernel while another thread has it."""
    _hook("lock", array, index)
    _mutexes[array.ctypes.data + 8 * index].acquire()


def unlock(array: np.ndarray, index: int) -> None:
    """Release the mutex at `index`."""
    _hook("unlock", array, index)
    _mutexes[array.ctypes.data + 8 * index].release()


# --- the compiled form ---------------------------------------------------------------------------


def _order_of(order: types.Type, allowed: set[int], name: str) -> int:
    if not isinstance(order, types.IntegerLiteral) or order.literal_value not in allowed:
        spelled = getattr(order, "literal_value", order)
        raise TypingError(f"{name} takes a constant memory order out of {allowed}, not {spelled}")
    return order.literal_value


def _check_array(array: types.Type, name: str) -> None:
    fits = (
        isinstance(array, types.Array)
        and array.ndim == 1
        and array.layout == "C"
        and array.dtype == types.int64
    )
    if not fits:
        raise TypingError(f"{name} takes a one-dimensional C-contiguous int64 array, not {array}")


def _address(context, builder, signature, args):
    disturb(builder, _CLOCK_MONOTONIC)
    array = context.make_array(signature.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], signature.args[1], types.intp)
    return builder.gep(array.data, [index])


def _word(context, builder, signature, args, place):
    return context.cast(builder, args[place], signature.args[place], types.int64)


@compiled_as(load)
def _load(typing_context, array, index, order):
    _check_array(array, "load")
    ordering = _LLVM_ORDER[_order_of(order, _LOADS, "load")]

    def generate(context, builder, signature, args):
        return builder.load_atomic(_address(context, builder, signature, args), ordering, 8)

    return types.int64(array, index, order), generate


@compiled_as(store)
def _store(typing_context, array, index, value, order):
    _check_array(array, "store")
    ordering = _LLVM_ORDER[_order_of(order, _STORES, "store")]

    def generate(context, builder, signature, args):
        value = _word(context, builder, signature, args, 2)
        builder.store_atomic(value, _address(context, builder, signature, args), ordering, 8)
        return context.get_dummy_value()

    return types.void(array, index, value, order), generate


@compiled_as(cas)
def _cas(typing_context, array, index, expected, desired, order):
    _check_array(array, "cas")
    success = _order_of(order, _UPDATES, "cas")
    # A failed exchange stores nothing, so only the acquiring half of the order applies.
    failure = {RELEASE: RELAXED, ACQ_REL: ACQUIRE}.get(success, success)

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        expected = _word(context, builder, signature, args, 2)
        desired = _word(context, builder, signature, args, 3)
        result = builder.cmpxchg(
            address, expected, desired, _LLVM_ORDER[success], _LLVM_ORDER[failure]
        )
        return builder.extract_value(result, 1)

    return types.boolean(array, index, expected, desired, order), generate


def _update(function: Callable, operation: str) -> None:
    name = function.__name__

    @compiled_as(function)
    def update(typing_context, array, index, value, order):
        _check_array(array, name)
        ordering = _LLVM_ORDER[_order_of(order, _UPDATES, name)]

        def generate(context, builder, signature, args):
            value = _word(context, builder, signature, args, 2)
            address = _address(context, builder, signature, args)
            return builder.atomic_rmw(operation, address, value, ordering)

        return types.int64(array, index, value, order), generate


_update(fetch_add, "add")
_update(exchange, "xchg")


@compiled_as(fence)
def _fence(typing_context, order):
    ordering = _LLVM_ORDER[_order_of(order, _UPDATES - {RELAXED}, "fence")]

    def generate(context, builder, signature, args):
        builder.fence(ordering)
        return context.get_dummy_value()

    return types.void(order), generate


@compiled_as(pause)
def _pause(typing_context):
    # LLVM's names of the instruction; inline assembly would need a parser that numba leaves out.
    names = {"x86_64": "llvm.x86.sse2.pause", "aarch64": "llvm.aarch64.hint"}
    names["arm64"] = names["aarch64"]

    def generate(context, builder, signature, args):
        name = names.get(os.uname().machine)
        if name is not None:
            hint = [ir.IntType(32)(1)] if "hint" in name else []
            kinds = [value.type for value in hint]
            function_type = ir.FunctionType(ir.VoidType(), kinds)
            builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), hint)
        return context.get_dummy_value()

    return types.void(), generate


def _clock(function: Callable, clock: int) -> None:
    @compiled_as(function)
    def read(typing_context):
        def generate(context, builder, signature, args):
            return nanoseconds(builder, clock)

        return types.int64(), generate


_clock(now, _CLOCK_MONOTONIC)
_clock(thread_now, _CLOCK_THREAD)


@compiled_as(sleep_us)
def _sleep_us(typing_context, microseconds):
    def generate(context, builder, signature, args):
        duration = _word(context, builder, signature, args, 0)
        call(builder, "usleep", builder.trunc(duration, ir.IntType(32)))
        return context.get_dummy_value()

    return types.void(microseconds), generate


@compiled_as(yield_thread)
def _yield_thread(typing_context):
    def generate(context, builder, signature, args):
        call(builder, "sched_yield")
        return context.get_dummy_value()

    return types.void(), generate


def _mutex(function: Callable, name: str, has_attributes: bool = False) -> None:
    @compiled_as(function)
    def locking(typing_context, array, index):
        _check_array(array, name)

        def generate(context, builder, signature, args):
            pointer = ir.IntType(8).as_pointer()
            address = builder.bitcast(_address(context, builder, signature, args), pointer)
            arguments = [address, pointer(None)] if has_attributes else [address]
            call(builder, name, *arguments)
            return context.get_dummy_value()

        return types.void(array, index), generate


_mutex(init_lock, "pthread_mutex_init", has_attributes=True)
_mutex(lock, "pthread_mutex_lock")
_mutex(unlock, "pthread_mutex_unlock")
