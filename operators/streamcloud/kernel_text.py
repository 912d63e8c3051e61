"""Generate the text of a function by which kernels compute an expression.

The generated code is straight-line: an operation a line, in the order in which
`operators.streamcloud.terms` computes them, so that the first fault is the same. For
``a // b > 2 and a < 9``::

    @inlined
    def holds(c0, c1):
        fault = NO_FAULT
        t1, f = floor_divide_int64(c0, c1)
        fault = f if fault == NO_FAULT else fault
        t2 = t1 > 2
        t0 = t2
        if t0:
            t3 = c0 < 9
            t0 = t3
        return t0, fault

Texts are codes, int64, that ascend as the texts do by their UTF-8 bytes: the compiler of the
function encodes the columns, and names the variables of the codes of the expression's texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from operators.streamcloud import arithmetic
from operators.streamcloud.schema import DOUBLE, INT64
from operators.streamcloud.terms import (
    AND,
    COMPARISONS,
    LEAST,
    NEGATIVE,
    NOT,
    OR,
    WIDEN,
    Apply,
    Column,
    Constant,
    Term,
)

# By operation and type.
FUNCTIONS = {
    ("+", INT64): arithmetic.add_int64,
    ("-", INT64): arithmetic.subtract_int64,
    ("*", INT64): arithmetic.multiply_int64,
    ("//", INT64): arithmetic.floor_divide_int64,
    ("%", INT64): arithmetic.modulo_int64,
    (NEGATIVE, INT64): arithmetic.negative_int64,
    ("+", DOUBLE): arithmetic.add_double,
    ("-", DOUBLE): arithmetic.subtract_double,
    ("*", DOUBLE): arithmetic.multiply_double,
    ("/", DOUBLE): arithmetic.divide_double,
    ("//", DOUBLE): arithmetic.floor_divide_double,
    ("%", DOUBLE): arithmetic.modulo_double,
    (NEGATIVE, DOUBLE): arithmetic.negative_double,
}
# The head of a module with such functions.
HEADER = (
    "from operators.core.integers import wrapping_add\n"
    "from operators.core.jit import inlined\n"
    "from operators.streamcloud.arithmetic import (\n"
    + "".join(f"    {name},\n" for name in sorted({f.__name__ for f in FUNCTIONS.values()}))
    + "    NO_FAULT,\n)\n"
)


def function_text(name: str, term: Term, columns: Sequence[str], codes: Mapping[str, str]) -> str:
    """Return the text of ``name(c0, c1, ...)``, which returns the value and a fault.

    Parameters
    ----------
    name : str
    term : Term
    columns : sequence of str
        The columns of the arguments, in order.
    codes : mapping of str to str
        Of the texts in the expression, the names of their codes.
    """
    writer = _OneByOne({column: f"c{number}" for number, column in enumerate(columns)}, codes)
    result = writer.write(term, "    ")
    arguments = ", ".join(writer.arguments.values())
    lines = [
        "@inlined",
        f"def {name}({arguments}):",
        "    fault = NO_FAULT",
        *writer.lines,
        f"    return {result}, fault",
    ]
    return "\n".join(lines) + "\n"


def _constant_text(term: Constant, codes: Mapping[str, str]) -> str:
    """Return the text of a number, or the name of a text's code."""
    if isinstance(term.value, str):
        return codes[term.value]
    # numba would read a literal -2**63 as an unsigned number.
    if term.type == INT64 and term.value == LEAST:
        return f"wrapping_add({LEAST + 1}, -1)"
    text = repr(term.value)
    return f"({text})" if text.startswith("-") else text


class Writer:
    """Writes the lines of a function that compute a term.

    Parameters
    ----------
    arguments : mapping of str to str
        By column, the name of the argument.
    codes : mapping of str to str
        As of ``function_text``.

    Attributes
    ----------
    lines : list of str
    """

    def __init__(self, arguments: Mapping[str, str], codes: Mapping[str, str]) -> None:
        self.arguments, self._codes = arguments, codes
        self.lines: list[str] = []
        self._names = 0

    def write(self, term: Term, inside: str) -> str:
        """Write the lines that compute a term; return the name of the value.

        `inside` is the condition around the term, in a form that depends on the kind of writer.
        """
        if isinstance(term, Constant):
            return _constant_text(term, self._codes)
        if isinstance(term, Column):
            return self.arguments[term.name]
        if term.operation in (AND, OR):
            return self._condition(term, inside)
        values = [self.write(each, inside) for each in term.operands]
        return self._operation(term, values, inside)

    def _condition(self, term: Apply, inside: str) -> str:
        """Write ``and`` and ``or``."""
        raise NotImplementedError

    def _operation(self, term: Apply, values: list[str], inside: str) -> str:
        """Write another operation; the values of the operands are computed already."""
        raise NotImplementedError

    def _new_name(self) -> str:
        self._names += 1
        return f"t{self._names - 1}"


class _OneByOne(Writer):
    """Writes a branch for each operand of a condition; `inside` is the indentation of a term."""

    def _operation(self, term: Apply, values: list[str], indent: str) -> str:
        name = self._new_name()
        if term.operation in COMPARISONS:
            self.lines.append(f"{indent}{name} = {values[0]} {term.operation} {values[1]}")
        elif term.operation == NOT:
            self.lines.append(f"{indent}{name} = not {values[0]}")
        elif term.operation == WIDEN:
            self.lines.append(f"{indent}{name} = float({values[0]})")
        else:
            function = FUNCTIONS[term.operation, term.type].__name__
            self.lines.append(f"{indent}{name}, f = {function}({', '.join(values)})")
            self.lines.append(f"{indent}fault = f if fault == NO_FAULT else fault")
        return name

    def _condition(self, term: Apply, indent: str) -> str:
        """Write operands so that one is computed if the ones before it leave the result open."""
        name = self._new_name()
        goes_on = name if term.operation == AND else f"not {name}"
        for number, each in enumerate(term.operands):
            if number:
                self.lines.append(f"{indent}if {goes_on}:")
            inside = f"{indent}    " if number else indent
            value = self.write(each, inside)
            self.lines.append(f"{inside}{name} = {value}")
        return name
