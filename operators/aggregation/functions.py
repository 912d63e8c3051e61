"""The aggregate functions: codes, names, and how a row's words become a value.

A row is (window_start, key, a, b, n), int64 each. While tuples are processed everything is an
integer, so that no result depends on the order of addition; `finish_rows` divides once at the end.

=================  ======================================  ==================================
function           words of a row                          n
=================  ======================================  ==================================
count              a = n, b = 0                            tuples
sum, avg           a = sum of the values' low 32 bits,     tuples
                   b = sum of their high parts; the sum
                   is b * 2**32 + a
min, max, first    a = that value, b = 0                   tuples
count-mail[-ip]    a = n, b = 0                            matching texts; the row exists even
                                                           where none matches
first-mail[-ip]    a = reference of the first matching     matching texts; no match, no row
                   text, b = 0
=================  ======================================  ==================================

A sum's words cannot overflow below 2**31 tuples a window: a tuple adds less than 2**32 to either.
"""

from __future__ import annotations

import numpy as np

from operators.contract import UsageError

COUNT = 0
SUM = 1
AVG = 2
MIN = 3
MAX = 4
FIRST = 5
COUNT_MAIL = 6
COUNT_MAIL_IP = 7
FIRST_MAIL = 8
FIRST_MAIL_IP = 9

CODES = {
    "count": COUNT,
    "sum": SUM,
    "avg": AVG,
    "min": MIN,
    "max": MAX,
    "first": FIRST,
    "count-mail": COUNT_MAIL,
    "count-mail-ip": COUNT_MAIL_IP,
    "first-mail": FIRST_MAIL,
    "first-mail-ip": FIRST_MAIL_IP,
}
NAMES = {code: name for name, code in CODES.items()}

# The result depends on the order in which a window's tuples are processed.
ORDER_SENSITIVE = frozenset({"first", "first-mail", "first-mail-ip"})
# A predicate is evaluated on each tuple's text.
TEXT = frozenset({"count-mail", "count-mail-ip", "first-mail", "first-mail-ip"})
# The finished value is a whole number.
COUNTS = frozenset({"count", "count-mail", "count-mail-ip"})

LOW_BITS = 32
LOW_MASK = (1 << LOW_BITS) - 1


def function_code(name: str) -> int:
    """Return the code of a function.

    Raises
    ------
    UsageError
        When there is no function `name`; the message lists those there are.
    """
    if name not in CODES:
        raise UsageError(f"unknown function {name!r}; there are: {', '.join(CODES)}")
    return CODES[name]


def _divided(numerators: list[int], denominators: list[int]) -> np.ndarray:
    """Return the quotients as float64, each rounded once (Python divides whole numbers exactly)."""
    return np.array(
        [n / d for n, d in zip(numerators, denominators, strict=True)], dtype=np.float64
    )


def finish_rows(function: int, rows: np.ndarray, decimals: int = 0) -> np.ndarray:
    """Return the value of each row.

    Parameters
    ----------
    function : int
        Code.
    rows : int64 array (rows, 5)
        As an aggregate puts them out.
    decimals : int
        A value is a fixed-point number of that many decimals: real = value / 10**decimals.

    Returns
    -------
    int64 or float64 array (rows,)
        int64 for the counts and for first-mail and first-mail-ip, where it is the reference of the
        text; float64, correctly rounded, for the others.

    Raises
    ------
    UsageError
        When `decimals` is negative.

    Examples
    --------
    >>> finish_rows(AVG, np.array([[0, 7, 301, 0, 2]]), decimals=2).tolist()
    [1.505]
    """
    if decimals < 0:
        raise UsageError(f"decimals must not be negative, received {decimals}")
    name = NAMES[function]
    a, b, n = rows[:, 2], rows[:, 3], rows[:, 4]
    if name in COUNTS or name in TEXT:
        return a.copy()
    scale = 10**decimals
    if function in (SUM, AVG):
        sums = [(high << LOW_BITS) + low for low, high in zip(a.tolist(), b.tolist(), strict=True)]
    else:
        sums = a.tolist()
    if function == AVG:
        return _divided(sums, [count * scale for count in n.tolist()])
    return _divided(sums, [scale] * len(sums))


def text_of(offsets: np.ndarray, text_bytes: np.ndarray, reference: int) -> str:
    """Return the text that a reference stands for: bytes offsets[r] to offsets[r + 1], UTF-8."""
    begin, end = int(offsets[reference]), int(offsets[reference + 1])
    return text_bytes[begin:end].tobytes().decode("utf-8")
