r"""Does a text hold a mail address, or an IPv4 address? One pass over the bytes, no allocation.

The languages, as the regular expressions that the tests compare with (searched anywhere in the
UTF-8 bytes):

* mail: ``[A-Za-z0-9._%+-]@([A-Za-z0-9-]+\.)+[A-Za-z]{2}``. Whether there is an address does not
  depend on the length of the first part or of the last label, so neither is read to the end.
* IPv4: ``(?<![0-9.])O\.O\.O\.O(?![0-9]|\.[0-9])`` with O a number from 0 to 255 without a
  leading zero. A full stop may follow; a fifth number may not.

# ASSUME: the paper does not say which texts count as containing an address.
"""

from __future__ import annotations

import numpy as np

from operators.aggregation.functions import COUNT_MAIL, COUNT_MAIL_IP, FIRST_MAIL, FIRST_MAIL_IP
from operators.core.jit import inlined

_AT = 64
_DOT = 46
_HYPHEN = 45
_UNDERSCORE = 95
_PERCENT = 37
_PLUS = 43
_ZERO = 48
_NINE = 57
_LOWER_A = 97
_LOWER_Z = 122
# Upper and lower case ASCII letters differ in this bit.
_CASE = 32


@inlined
def _is_letter(byte):
    lowered = byte | _CASE
    return lowered >= _LOWER_A and lowered <= _LOWER_Z


@inlined
def _is_digit(byte):
    return byte >= _ZERO and byte <= _NINE


@inlined
def _is_local(byte):
    """Say whether a mail address may have `byte` before its @."""
    if _is_letter(byte) or _is_digit(byte):
        return True
    return (
        byte == _DOT or byte == _UNDERSCORE or byte == _PERCENT or byte == _PLUS or byte == _HYPHEN
    )


@inlined
def has_mail(text_bytes, begin, end):
    """Say whether bytes `begin` to `end` hold a mail address."""
    for at in range(begin + 1, end):
        if text_bytes[at] == _AT and _is_local(np.int64(text_bytes[at - 1])):
            if _has_domain(text_bytes, at + 1, end):
                return True
    return False


@inlined
def _has_domain(text_bytes, begin, end):
    """Say whether a domain begins here: labels and dots, then two letters after a dot."""
    labels = 0
    length = 0
    letters = 0
    for at in range(begin, end):
        byte = np.int64(text_bytes[at])
        if byte == _DOT:
            if length == 0:
                return False
            labels += 1
            length = 0
            letters = 0
        elif _is_letter(byte):
            if labels > 0 and length == 1 and letters == 1:
                return True
            length += 1
            letters += 1
        elif _is_digit(byte) or byte == _HYPHEN:
            length += 1
        else:
            return False
    return False


@inlined
def has_ipv4(text_bytes, begin, end):
    """Say whether bytes `begin` to `end` hold an IPv4 address."""
    at = begin
    while at < end:
        if _is_digit(np.int64(text_bytes[at])):
            # An address fills a run of digits and dots from its first byte on, or none of it.
            if _has_octets(text_bytes, at, end):
                return True
            at = _end_of_run(text_bytes, at, end)
        elif text_bytes[at] == _DOT:
            at = _end_of_run(text_bytes, at, end)
        else:
            at += 1
    return False


@inlined
def _end_of_run(text_bytes, begin, end):
    at = begin
    while at < end and (_is_digit(np.int64(text_bytes[at])) or text_bytes[at] == _DOT):
        at += 1
    return at


@inlined
def _has_octets(text_bytes, begin, end):
    """Say whether exactly four octets begin here."""
    at = begin
    for octet in range(4):
        value = 0
        first = at
        while at < end and at - first < 4 and _is_digit(np.int64(text_bytes[at])):
            value = 10 * value + np.int64(text_bytes[at]) - _ZERO
            at += 1
        digits = at - first
        # Four digits are too many, whatever their value.
        if digits == 0 or digits == 4 or value > 255:
            return False
        if digits > 1 and text_bytes[first] == _ZERO:
            return False
        if octet < 3:
            if at == end or text_bytes[at] != _DOT:
                return False
            at += 1
    return not (at + 1 < end and text_bytes[at] == _DOT and _is_digit(np.int64(text_bytes[at + 1])))


@inlined
def matches(function, text_offsets, text_bytes, reference):
    """Evaluate the predicate of a text function on the text of row `reference`."""
    begin = text_offsets[reference]
    end = text_offsets[reference + 1]
    if function == COUNT_MAIL or function == FIRST_MAIL:
        return has_mail(text_bytes, begin, end)
    if function == COUNT_MAIL_IP or function == FIRST_MAIL_IP:
        return has_mail(text_bytes, begin, end) or has_ipv4(text_bytes, begin, end)
    return True
