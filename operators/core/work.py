"""Work of a chosen cost: matrix products on a tuple, counted and never timed.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 7.1, whose
parametric operators are "based on matrix computations on the input tuple".

Waiting on the clock would be no work: sixteen threads on two cores would all wait at the same time.
So the cost of a tuple is a number of products of one 4 by 4 matrix with a vector made from it, in
integers that wrap. Each product depends on the previous one, and the result goes into the output:
no compiler can omit it, and an output shows that the work was done.
"""

from __future__ import annotations

from operators.core.integers import mix64, wrapping_add, wrapping_mul
from operators.core.jit import inlined

# Numbers without a pattern. They must not all be odd: sums of four odd products are even, and
# after sixty-four products the vector would be 0.
_M = (0x9E3779B97F4A7C15 - (1 << 64), 0x3C6EF372FE94F82B, 0x1B873593CC9E2D51, 0x2545F4914F6CDD1C)


@inlined
def _row(first, second, third, fourth):
    return wrapping_add(
        wrapping_add(wrapping_mul(_M[0], first), wrapping_mul(_M[1], second)),
        wrapping_add(wrapping_mul(_M[2], third), wrapping_mul(_M[3], fourth)),
    )


@inlined
def matrix_work(word, products):
    """Return a non-negative number derived from `word` by `products` matrix products."""
    a, b, c, d = word, word ^ 1, word ^ 2, word ^ 3
    for _ in range(products):
        a, b, c, d = _row(a, b, c, d), _row(b, c, d, a), _row(c, d, a, b), _row(d, a, b, c)
    return mix64(wrapping_add(wrapping_add(a, b), wrapping_add(c, d)) ^ word) & ((1 << 62) - 1)
