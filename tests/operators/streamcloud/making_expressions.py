"""Random expressions over a few columns, as text, for tests that compare two evaluations."""

from __future__ import annotations

from hypothesis import strategies as st

from operators.streamcloud.expressions import Scope
from operators.streamcloud.schema import Schema

LEAST, MOST = -(2**63), 2**63 - 1
OPERATORS = ["+", "-", "*", "/", "//", "%"]
COLUMNS = {"i": "int64", "j": "int64", "x": "double", "y": "double", "s": "text", "t": "text"}
SCOPE = Scope({"": Schema(COLUMNS)}, {"": "calls"})

integers = st.integers(LEAST, MOST) | st.integers(-9, 9) | st.sampled_from([LEAST, -1, 0, MOST])
doubles = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float)
texts = st.sampled_from(["", "a", "ab", "b", "\u00e4", "\U0001f600"])
rows = st.fixed_dictionaries(
    {"ts": st.integers(0, 2**62 - 1), "i": integers, "j": integers, "x": doubles, "y": doubles}
    | {"s": texts, "t": texts}
)


def _two(of: st.SearchStrategy[str], operators: list[str]) -> st.SearchStrategy[str]:
    return st.tuples(of, st.sampled_from(operators), of).map(lambda p: f"({p[0]} {p[1]} {p[2]})")


whole_expressions = st.recursive(
    st.sampled_from(["i", "j", "ts"]) | integers.map(str),
    lambda of: _two(of, ["+", "-", "*", "//", "%"]) | of.map(lambda each: f"(-{each})"),
    max_leaves=6,
)
_real = st.recursive(
    st.sampled_from(["x", "y"])
    | doubles.map(repr)
    | whole_expressions.map(lambda each: f"({each} / 2)"),
    lambda of: (
        _two(of | whole_expressions, OPERATORS).map(lambda each: f"({each} + 0.5)")
        | of.map(lambda each: f"(-{each})")
    ),
    max_leaves=6,
)
_text = st.sampled_from(["s", "t"]) | texts.map(repr)
_compared = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_truth = st.recursive(
    st.one_of(
        *(
            st.tuples(of, _compared, of).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
            for of in (whole_expressions | _real, _text)
        )
    ),
    lambda of: _two(of, ["and", "or"]) | of.map(lambda each: f"(not {each})"),
    max_leaves=4,
)
expressions = whole_expressions | _real | _truth
