"""Turns known failures of Spark into one line with the remedy.

Spark's errors are Java stack traces, often from several machines. A few kinds are caused not by a
program but by the environment; this module recognises them by their words. Any other error is left
unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from operators.contract import UsageError
from operators.running.spark_executors import executors_watched

# Pattern, fault and remedy; {1} is the first group of the pattern.
KINDS = (
    (
        r"No module named '([^']+)'",
        "Python on an executor has no module {1}",
        "install requirements.lock there, and send Millrace's own code with the archive that"
        " 'millrace pack' makes",
    ),
    (
        r'Cannot run program "([^"]+)"',
        "an executor has no program {1}",
        "set PYSPARK_PYTHON to the path of a Python that is on every node",
    ),
    (
        r"Python in worker has different version: ?(\S+?) than",
        "Python on an executor is {1}, which is not ours",
        "set PYSPARK_PYTHON to the path of one of our version",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "a disk is full, here or on an executor",
        "free some space, and begin again: what is unfinished does not count",
    ),
    (
        r"OutOfMemoryError|Cannot allocate memory",
        "memory is full, here or on an executor",
        "give Spark more, or smaller pieces of data",
    ),
    (
        r"[Ee]xit(?:ed)?(?: with)? (?:code|status)\D{0,3}137\b",
        "executors were killed, as happens when memory is full",
        "give them more memory, or smaller pieces of data",
    ),
    (
        r"Master is unresponsive|All masters are unresponsive|Master removed our application",
        "the cluster's master has ended, or gave the application up",
        "look at the cluster (millrace cluster status), and begin again",
    ),
    (
        r"Answer from Java side is empty|Error while sending or receiving"
        r"|connect to the Java server|\A\[Errno \d+\] Connection refused",
        "Spark's Java process has ended",
        "look whether the machine has too little memory, and begin again",
    ),
)
# An exception class at the beginning of a line, or after "Caused by:", and the message.
NAMED = re.compile(r"^(?:Caused by: |: )?(?:[a-z]\w*\.)+(\w*(?:Exception|Error))\b:? ?(.*)$", re.M)


def text_of(error: BaseException) -> str:
    """Return the whole text of an error; some of Spark's ask Java for it, which may have ended.

    The messages of Spark's errors are headlines. The causes are in the Java stack trace: only there
    a full disk is named when Spark could not write an output or a state.
    """
    try:
        text = str(error)
    except Exception as second:
        text = f"{type(error).__name__}: {type(second).__name__}: {second}"
    stack = getattr(error, "_stackTrace", None)
    return f"{text}\n{stack}" if stack else text


def reason(text: str) -> str:
    """Return the innermost cause in the text of an error of Spark.

    Parameters
    ----------
    text
        The text, from `text_of`.

    Returns
    -------
    str
        One line: the message of the innermost cause, or the first line if there is no cause.
    """
    said = [": ".join(filter(None, found.groups())) for found in NAMED.finditer(text)]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (said[-1:] or lines[:1] or ["it gives no reason"])[0].rstrip(".")


def known(text: str) -> str | None:
    """Return fault and remedy in one line, or None for an unknown kind of error."""
    for pattern, fault, remedy in KINDS:
        found = re.search(pattern, text)
        if found:
            return f"{fault.format(found.group(0), *found.groups())}; {remedy}"
    return None


@contextmanager
def spark_failures() -> Iterator[None]:
    """Turn failures of Spark's environment within the context into one line.

    Raises
    ------
    UsageError
        Instead of an error of a known kind, or of jobs that wait for executors in vain; the
        original error is the cause.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    try:
        with executors_watched(SparkContext._active_spark_context):
            yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        line = known(text_of(error))
        if line is None:
            raise
        raise UsageError(f"Spark failed: {line}") from error
