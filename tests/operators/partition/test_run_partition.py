"""``run_partition`` over arrays: one state for each key, outputs in order, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.contract import UsageError
from operators.partition.run import run_partition
from tests.covering import compiled_few

WORKLISTS = [variant.id for variant in registry.variants("partition")]
ROWS = 300


def mixed(state, word):
    """Fold a word into the state; the output depends on all of the key's words and their order."""
    state[0] = (31 * state[0] + word) % 1_000_003
    state[1] += 1
    return state[0] * 1_000 + state[1]


def streams() -> dict[str, np.ndarray]:
    """Return streams of keys by name."""
    random = np.random.default_rng(5)
    return {
        "random": random.integers(-(1 << 50), 1 << 50, ROWS),
        "tied": random.integers(0, 7, ROWS),
        "one": np.full(ROWS, 9),
        "skewed": np.minimum(random.geometric(0.6, ROWS), 5),
        "none": np.zeros(0, dtype=np.int64),
    }


def serially(keys: np.ndarray, words: np.ndarray) -> list[int]:
    """Return the outputs of a single thread."""
    states: dict[int, list[int]] = {}
    return [
        mixed(states.setdefault(key, [0, 0]), word)
        for key, word in zip(keys.tolist(), words.tolist(), strict=True)
    ]


@pytest.mark.parametrize("worklist", compiled_few(WORKLISTS, ["partitioned"]))
def test_outputs_are_those_of_one_thread(worklist):
    for kind, keys in streams().items():
        words = np.random.default_rng(6).integers(0, 1 << 30, len(keys))
        wanted = serially(keys, words)
        for workers, slots in ((1, 2), (3, 2), (2, 64)):
            found = run_partition(
                worklist, mixed, keys, words, state_words=2, workers=workers, slots=slots
            )
            assert found.tolist() == wanted, (kind, workers, slots)


@pytest.mark.parametrize("reorder", compiled_few(["lock-based", "non-blocking"], []))
def test_any_number_of_partitions_and_any_buffer_will_do(reorder):
    keys = streams()["tied"]
    words = np.arange(len(keys))
    wanted = serially(keys, words)
    for worklist, partitions in (("hybrid", 1), ("shared", 3), ("partitioned", 2), ("hybrid", 99)):
        found = run_partition(
            worklist, mixed, keys, words, state_words=2, partitions=partitions, reorder=reorder
        )
        assert found.tolist() == wanted, (worklist, partitions)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"variant": "no"}, "unknown variant 'no'"),
        ({"reorder": "no"}, "unknown variant 'no'"),
        ({"keys": [1, 2]}, "there are 2 keys and 1 words"),
        ({"keys": [0.5]}, "keys are whole numbers in a row"),
        ({"workers": 65}, "workers must be between 1 and 64, received 65"),
        ({"slots": 1}, "slots must be between 2 and 1048576, received 1"),
        ({"state_words": 0}, "state_words must be between 1 and 268435456 for 1 keys, received 0"),
        ({"partitions": 3, "variant": "partitioned"}, "at most its workers, 2, received 3"),
        ({"partitions": 0}, "partitions must be between 1 and 4096"),
        ({"function": lambda state, word: word}, "is a function with a name, in a file"),
    ],
)
def test_what_is_no_partitioned_operator_is_refused(given, says):
    asked = {"variant": "hybrid", "function": mixed, "keys": [1], "words": [1], **given}
    with pytest.raises(UsageError, match=says):
        run_partition(**asked)
