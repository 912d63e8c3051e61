"""The forms of Spark's carrier, and their options.

Each gives the same bytes. They differ in the data, complete or a stream, and in the keeper of the
states.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from operators.contract import UsageError
from operators.streamcloud.schema import did_you_mean, listed

BOUNDED, STREAM, STATE_STORE = FORMS = ("bounded", "stream", "state-store")
MASTER = "local[*]"
# Tuples of a chunk that is written here: enough work for a task, and far below the limit of a row.
CHUNK = 200_000
# Tuples of a batch of a stream, approximately: Spark's overhead for a batch is half a second.
TRIGGER = 1_000_000


@dataclass(frozen=True)
class OnSpark:
    """The options of a run on Spark.

    Attributes
    ----------
    master : str
        As of `running.spark_session.spark_session`.
    form : str
        One of ``FORMS``.
    trigger : int or None
        Of a stream, the approximate number of tuples of a batch: as many chunks as hold no more,
        assuming the size of the largest chunk at the start; at least one. ``TRIGGER`` by
        default.
    work : Path or None
        The folder for chunks, states and rows, which driver and executors see. A stream that finds
        an earlier run of the same job there continues it. By default a temporary folder of this
        machine.
    follow : bool
        Whether a stream waits for chunks until all its streams are closed.
    archive : Path or None
        Code and kernels for executors that lack them (`running.pack`).
    """

    master: str = MASTER
    form: str = BOUNDED
    trigger: int | None = None
    work: Path | None = None
    follow: bool = False
    archive: Path | None = None

    def check(self, where: str) -> None:
        """Refuse options that exclude each other.

        Raises
        ------
        UsageError
        """
        if self.form not in FORMS:
            raise UsageError(
                f'{where}: no form "{self.form}" ({listed(FORMS)}){did_you_mean(self.form, FORMS)}'
            )
        if self.form == BOUNDED and (self.trigger is not None or self.follow):
            raise UsageError(
                f"{where}: the form {BOUNDED} takes all there is at once: to trigger batches or to"
                f" follow a stream take the form {STREAM}"
            )
        if self.trigger is not None and self.trigger < 1:
            raise UsageError(f"{where}: trigger must be at least 1, received {self.trigger}")
