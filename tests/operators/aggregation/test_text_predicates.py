"""The scanners find the same matches as the regular expressions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation.functions import COUNT, COUNT_MAIL, COUNT_MAIL_IP, FIRST_MAIL_IP
from operators.aggregation.reference import IPV4, MAIL, text_matches
from operators.aggregation.text_predicates import has_ipv4, has_mail, matches
from operators.core.jit import kernel

# The decisive characters: any text built from these is a near miss or a match.
PIECES = st.sampled_from(
    ["a", "Zz", "@", ".", "-", "_", "%", "+", "0", "1", "25", "255", "256", "192.168", "..", " "]
    + ["é", "a@b.co", "@b.c", "1.2.3.4", "01", "1.2.3.4.5", "{", "[", "`", "/", ":"]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30)


@kernel
def match_each(function, text_offsets, text_bytes, found):
    for reference in range(found.shape[0]):
        found[reference] = matches(function, text_offsets, text_bytes, reference)


def matches_of_all(function: int, text_offsets: np.ndarray, text_bytes: np.ndarray) -> np.ndarray:
    found = np.zeros(len(text_offsets) - 1, dtype=np.bool_)
    match_each(np.int64(function), text_offsets, text_bytes, found)
    return found


def scanned(text: bytes) -> tuple[bool, bool]:
    """Scan `text` between two others that would match if the limits were ignored."""
    padded = np.frombuffer(b"9a@x.yz" + text + b"@b.cc1.2.3.4", dtype=np.uint8)
    limits = (7, 7 + len(text))
    return bool(has_mail(padded, *limits)), bool(has_ipv4(padded, *limits))


@pytest.mark.parametrize(
    ("text", "mail", "ipv4"),
    [
        ("", False, False),
        ("write to bob@example.com!", True, False),
        ("a@b", False, False),
        ("a@b.c", False, False),
        ("a@.cc", False, False),
        ("a@b..cc", False, False),
        ("a@b.c1.dd", True, False),
        ("a@1.2.3.4", False, True),
        ("@b.cc", False, False),
        ("a@@b.cc", False, False),
        ("server 10.0.0.1.", False, True),
        ("10.0.0.1.2", False, False),
        ("10.0.0.256", False, False),
        ("10.0.0.01", False, False),
        ("10.0.0", False, False),
        ("v1.2.3.4", False, True),
        ("1000.2.3.4", False, False),
        (".1.2.3.4", False, False),
        ("0.0.0.0", False, True),
        ("255.255.255.255", False, True),
        # Bounds of a mail address.
        ("a@b.cc", True, False),
        ("A@B.CC", True, False),
        ("mail:<a.b_c%d+e-f@g-h.ij>.", True, False),
        ("a@b.cc@d", True, False),
        ("a@b@c.dd", True, False),
        ("a@-.cc", True, False),
        ("a@b.1c.dd", True, False),
        ("a@b.c-.de", True, False),
        ("a@b.cc\n", True, False),
        ("a@b.ccé", True, False),
        ("é@b.cc", False, False),
        ("a@é.cc", False, False),
        ("a@b.éé", False, False),
        ("a@b.1c", False, False),
        ("a@b.c1", False, False),
        ("a@b.c-", False, False),
        ("a@b.c1.d", False, False),
        ("a@b_c.dd", False, False),
        ("a@b,cc", False, False),
        ("a @b.cc", False, False),
        ("a@ b.cc", False, False),
        ("@", False, False),
        ("a@", False, False),
        ("a@b.", False, False),
        # Octets, and the characters that may adjoin four of them.
        ("1.2.3.4", False, True),
        ("1.2.3.4,5", False, True),
        ("1.2.3.4..5", False, True),
        ("1.2.3.4.a", False, True),
        ("x1.2.3.4y", False, True),
        ("1.2.3.4-5.6.7.8.9", False, True),
        ("1.2.3.4.5 6.7.8.9", False, True),
        ("http://192.168.0.1:80/24", False, True),
        ("é10.20.30.40é", False, True),
        ("249.250.199.200", False, True),
        ("1.2.3.", False, False),
        ("1..2.3.4", False, False),
        ("1.2.3.260", False, False),
        ("1.2.3.300", False, False),
        ("1.2.3.4567", False, False),
        ("00.1.2.3", False, False),
        ("01.2.3.4", False, False),
        ("1.2.03.4", False, False),
        ("256.1.1.1", False, False),
        ("1,2,3,4", False, False),
        ("1.2.3.4.", False, True),
        ("1.2.3.4.5.6.7.8", False, False),
        ("both a@b.cc and 1.2.3.4", True, True),
    ],
)
def test_cases_by_hand(text, mail, ipv4):
    raw = text.encode()
    assert scanned(raw) == (mail, ipv4)
    assert (bool(MAIL.search(raw)), bool(IPV4.search(raw))) == (mail, ipv4)


@given(TEXTS)
def test_the_scanners_are_the_regular_expressions(text):
    raw = text.encode()
    assert scanned(raw) == (bool(MAIL.search(raw)), bool(IPV4.search(raw)))


@given(st.lists(TEXTS, max_size=20), st.sampled_from([COUNT_MAIL, COUNT_MAIL_IP, FIRST_MAIL_IP]))
def test_the_kernel_evaluates_every_row(texts, function):
    raw = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, raw)], dtype=np.int64)
    found = matches_of_all(function, offsets, np.frombuffer(b"".join(raw), dtype=np.uint8))
    name = "count-mail" if function == COUNT_MAIL else "count-mail-ip"
    assert found.tolist() == [text_matches(name, text) for text in raw]


def test_a_function_without_a_predicate_matches_everything():
    offsets = np.zeros(3, dtype=np.int64)
    assert matches_of_all(COUNT, offsets, np.zeros(0, dtype=np.uint8)).all()
