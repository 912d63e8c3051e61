"""Functions on records and rows, of which the operators of whole pipelines are made."""

from __future__ import annotations

KEYS = 2
# Two words a record: the key's number, and a value.
WORDS = 2


def key_of(record):
    """Return the key of a record."""
    return record[0] % KEYS


def counted(record, state, out):
    """Count the records of a row, and put out the record's value with the count."""
    state[0] += 1
    out[0], out[1] = record[0], 10 * record[1] + state[0]
    return 1


def counted_at_the_end(record, state, out):
    """Count in the last word of a row, and put out how many words the row has, too."""
    state[len(state) - 1] += 1
    out[0], out[1] = record[0], 100 * len(state) + 10 * record[1] + state[len(state) - 1]
    return 1


def doubled(record, state, out):
    """Count, and put out two records for each."""
    state[0] += 1
    out[0], out[1] = record[0], record[1]
    out[2], out[3] = record[0] + 1, 100 * record[1] + state[0]
    return 2


def counted_if_even(record, state, out):
    """Count, and put the record out with the count, unless the value is odd."""
    state[0] += 1
    out[0], out[1] = record[0], 10 * record[1] + state[0]
    return 1 - record[1] % 2


def key_itself(record):
    """Return the first word of a record, which may be no key."""
    return record[0]


def raised(record, state, out):
    """Put the record out with a value higher by one: who leaves the operator out is seen."""
    out[0], out[1] = record[0], record[1] + 1
    return 1


def twice(record, state, out):
    """Put two records out."""
    out[0], out[1] = record[0], record[1]
    out[2], out[3] = record[0] + 1, record[1] + 1
    return 2


def passed(record, state, out):
    """Put the record out, unless the value is odd."""
    out[0], out[1] = record[0], record[1] + 1
    return 1 - record[1] % 2


def emptied(key, state, out):
    """Put out two records for a row with a count, and empty the row: a second call has none."""
    count = int(state[0])
    state[0] = 0
    for number in range(2):
        out[2 * number], out[2 * number + 1] = key, 1_000 * (number + 1) + count
    return 2 if count > 0 else 0
