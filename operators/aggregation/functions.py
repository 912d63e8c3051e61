"""The aggregate functions: codes, names, and the conversion of a row's words to a value.

A row is (window_start, key, a, b, n), int64 each. While tuples are processed everything is an
integer, so that no result depends on the order of addition; an average is divided once at the end.

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
UNORDERED = tuple(name for name in CODES if name not in ORDER_SENSITIVE)
# A predicate is evaluated on a tuple's text. Those from FIRST_MAIL on forward a text; a window
# without a matching text has no text to forward.
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
        When there is no function `name`; the message lists the existing ones.
    """
    if name not in CODES:
        raise UsageError(f"unknown function {name!r}; there are: {', '.join(CODES)}")
    return CODES[name]


def fixed_point(function: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact value of each row in two words, high * 2**32 + low.

    Parameters
    ----------
    function : int
        Code of sum, min, max or first; of avg, the value is the sum.
    rows : int64 array (rows, 5)
        Output of an aggregate.

    Returns
    -------
    high, low : int64 arrays (rows,)
        0 <= low < 2**32; the value fits 64 bits where -2**31 <= high < 2**31.

    Examples
    --------
    >>> high, low = fixed_point(SUM, np.array([[0, 7, 301, 0, 2]]))
    >>> high.tolist(), low.tolist()
    ([0], [301])
    """
    a, b = rows[:, 2], rows[:, 3]
    # The sum of the low parts has grown beyond 32 bits; the excess belongs to the high part.
    carried = a >> LOW_BITS
    return (carried + b if function in (SUM, AVG) else carried), a & LOW_MASK


def averages(rows: np.ndarray, decimals: int = 0) -> np.ndarray:
    """Return the average of each row of avg.

    Parameters
    ----------
    rows : int64 array (rows, 5)
    decimals : int
        A value is a fixed-point number of that many decimals: real = value / 10**decimals.

    Returns
    -------
    float64 array (rows,)
        Rounded once, correctly, as Python divides whole numbers.

    Examples
    --------
    >>> averages(np.array([[0, 7, 301, 0, 2]]), decimals=2).tolist()
    [1.505]
    """
    words = zip(*(part.tolist() for part in fixed_point(AVG, rows)), strict=True)
    counts = zip(words, rows[:, 4].tolist(), strict=True)
    scale = 10**decimals
    return np.array(
        [((high << LOW_BITS) + low) / (n * scale) for (high, low), n in counts], dtype=np.float64
    )


def text_of(offsets: np.ndarray, text_bytes: np.ndarray, reference: int) -> str:
    """Return the text of a reference: bytes offsets[r] to offsets[r + 1], UTF-8."""
    begin, end = int(offsets[reference]), int(offsets[reference + 1])
    return text_bytes[begin:end].tobytes().decode("utf-8")
