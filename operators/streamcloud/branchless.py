"""The text of a function that computes an expression without branches, or reports doubt.

`operators.streamcloud.kernel_text` skips the operands that an ``and`` or an ``or`` does not need.
In a loop over a window an unpredictable branch costs more than it saves, and prevents
vectorization. So here all operands are computed, truth is a word of 0 or 1, and the second result
is 1 if the value is unsure: the expression may fail. Then the caller computes it once more with
branches. For ``a + b > 2 and a < 9``::

    @inlined
    def holds(c0, c1):
        unsure = 0
        t0, f = add_int64(c0, c1)
        unsure = unsure | int(f != NO_FAULT)
        t1 = int(t0 > 2)
        t2 = int(c0 < 9)
        t3 = t1 & t2
        return t3, unsure

The extra computation does no harm: arithmetic returns a fault and never raises. Only one function
differs here, the product of integers, for which an exact overflow test takes a division.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from operators.core.integers import shift_right, wrapping_add, wrapping_mul
from operators.core.jit import inlined
from operators.streamcloud.kernel_text import FUNCTIONS as EXACT
from operators.streamcloud.kernel_text import Writer
from operators.streamcloud.schema import INT64
from operators.streamcloud.terms import AND, COMPARISONS, NOT, WIDEN, Apply, Term

_HALF_BITS = 32
_HALF = 1 << (_HALF_BITS - 1)


@inlined
def multiply_halves(a, b):
    """Return a * b, and 1 if either does not fit 32 bits: then it may be an overflow."""
    high = shift_right(wrapping_add(a, _HALF) | wrapping_add(b, _HALF), _HALF_BITS)
    return wrapping_mul(a, b), int(high != 0)


# Used instead of `kernel_text.FUNCTIONS`.
FUNCTIONS = EXACT | {("*", INT64): multiply_halves}


def branchless_text(name: str, term: Term, columns: Sequence[str], codes: Mapping[str, str]) -> str:
    """Return the text of ``name(c0, c1, ...)``, which returns the value and 1 if it is unsure.

    Parameters are those of `kernel_text.function_text`.
    """
    writer = _AllAtOnce({column: f"c{number}" for number, column in enumerate(columns)}, codes)
    result = writer.write(term, "")
    lines = [
        "@inlined",
        f"def {name}({', '.join(writer.arguments.values())}):",
        "    unsure = 0",
        *(f"    {line}" for line in writer.lines),
        f"    return {result}, unsure",
    ]
    return "\n".join(lines) + "\n"


class _AllAtOnce(Writer):
    """Writes no branch; `active` is the word that says whether the expression reaches a term.

    An empty one means that it always does.
    """

    def _operation(self, term: Apply, values: list[str], active: str) -> str:
        if term.operation in COMPARISONS:
            return self._named(f"int({values[0]} {term.operation} {values[1]})")
        if term.operation == NOT:
            return self._named(f"{values[0]} ^ 1")
        if term.operation == WIDEN:
            return self._named(f"float({values[0]})")
        name = self._new_name()
        function = FUNCTIONS[term.operation, term.type].__name__
        self.lines.append(f"{name}, f = {function}({', '.join(values)})")
        counts = f" & {active}" if active else ""
        self.lines.append(f"unsure = unsure | int(f != NO_FAULT){counts}")
        return name

    def _condition(self, term: Apply, active: str) -> str:
        """Write all operands; a fault counts if the operands before it leave the result open."""
        result = self.write(term.operands[0], active)
        for each in term.operands[1:]:
            is_open = result if term.operation == AND else f"({result} ^ 1)"
            value = self.write(each, f"{is_open} & {active}" if active else is_open)
            result = self._named(f"{result} {'&' if term.operation == AND else '|'} {value}")
        return result

    def _named(self, text: str) -> str:
        name = self._new_name()
        self.lines.append(f"{name} = {text}")
        return name
