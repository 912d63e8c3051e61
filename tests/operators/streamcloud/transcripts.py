"""Transcripts: input to one instance, step by step, and expected answers, as YAML files.

::

    about: the purpose
    query: ...                     as `replay streamcloud` takes it
    stage: known                   the stage that is played, and how the query is cut:
    strategy, instances, streams, merger, instance      (as compile_query has them; may be left out)
    steps:
      - give: [{side: 0, sender: 1, progress: 5, tuples: [[3, 1, 0, 77]]}]
        sent: [{to: busy, dest: 0, progress: 5, tuples: [[...]]}]
    wrong: a text                  the player's complaint, if the file is wrong on purpose

A tuple is a list of words: the order key, then the columns without ts. ``seq`` is counted if it
is left out. Sent rows that are not listed must have no tuples; their progress may be any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from operators.streamcloud.compiler import compile_query
from operators.streamcloud.instance import Instance
from operators.streamcloud.plan import SUBQUERY_CLUSTER, TRANSPARENT, Plan
from operators.streamcloud.rows import END, Row, words_of
from operators.streamcloud.yaml_form import read_query

FOLDER = Path(__file__).parent / "transcripts"

# The rows sent to one destination: receiver, dest; progress and tuples.
Sent = dict[tuple[str, int], tuple[int, list[list[int]]]]


@dataclass(frozen=True)
class Transcript:
    """One file.

    Attributes
    ----------
    name : str
    plan : Plan
    stage : str
    number : int
    steps : list of (list of Row, Sent)
    wrong : str
        Empty for a correct file.
    """

    name: str
    plan: Plan
    stage: str
    number: int
    steps: list[tuple[list[Row], Sent]]
    wrong: str

    def instance(self) -> Instance:
        """Return a new instance of the stage."""
        return Instance(self.plan, self.stage, self.number)


def found() -> dict[str, Path]:
    """Return the files present, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def read(path: Path) -> Transcript:
    """Return the transcript of a file."""
    text = yaml.safe_load(path.read_text(encoding="utf-8"))
    query = read_query(yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)["query"])
    plan = compile_query(
        query,
        text.get("strategy", SUBQUERY_CLUSTER),
        text.get("instances", 1),
        text.get("merger", TRANSPARENT),
        text.get("streams", {}),
    )
    steps, seqs = [], {}
    for step in text["steps"]:
        rows = [_row(plan, text, each, seqs) for each in step.get("give", [])]
        steps.append((rows, _expected(step.get("sent", []))))
    return Transcript(
        path.stem, plan, text["stage"], text.get("instance", 0), steps, text.get("wrong", "")
    )


def _row(plan: Plan, text: dict[str, Any], given: dict[str, Any], seqs: dict) -> Row:
    side, sender = given.get("side", 0), given.get("sender", 0)
    feeds = plan.stage(text["stage"]).mergers[side].feeds
    of_sender = [feed for feed in feeds for _ in range(plan.senders(feed))][sender]
    seq = given.get("seq", seqs.get((side, sender), 0))
    seqs[side, sender] = max(seq + 1, seqs.get((side, sender), 0))
    tuples = np.array(given.get("tuples", []), dtype=np.int64)
    batch = tuples.reshape(len(tuples), words_of(of_sender.output)).T
    return Row(text.get("instance", 0), side, sender, seq, _time(given["progress"]),
               np.ascontiguousarray(batch))  # fmt: skip


def _expected(sent: Sequence[dict[str, Any]]) -> Sent:
    return {
        (each["to"], each.get("dest", 0)): (_time(each["progress"]), each.get("tuples", []))
        for each in sent
    }


def _time(given: int | str) -> int:
    return END if given == "end" else given


def shown(plan: Plan, stage: str, sent: Sequence[Sequence[Row]]) -> Sent:
    """Return the rows sent by a step, in the form of transcripts."""
    return {
        (channels.receiver, row.dest): (row.progress, row.batch.T.tolist())
        for channels, rows in zip(plan.channels_from(stage), sent, strict=True)
        for row in rows
    }


def play(transcript: Transcript) -> Iterator[str]:
    """Play the steps as written, and yield the differences from the transcript."""
    instance = transcript.instance()
    for number, (rows, expected) in enumerate(transcript.steps):
        sent = shown(transcript.plan, transcript.stage, instance.step(rows))
        for to, (progress, tuples) in sent.items():
            if to not in expected:
                if tuples:
                    yield f"step {number}: sent to {to} {tuples}, and nothing was expected"
                continue
            wanted, wanted_tuples = expected[to]
            if tuples != wanted_tuples:
                yield f"step {number}: sent to {to} {tuples}, expected {wanted_tuples}"
            if progress != wanted:
                yield f"step {number}: sent to {to} the progress {progress}, expected {wanted}"
        for to in expected.keys() - sent.keys():
            yield f"step {number}: sent nothing to {to}"


def in_all(transcript: Transcript, steps: Sequence[Sequence[Row]], saving: bool = False) -> Sent:
    """Return all rows sent to each destination in these steps, and the last progress.

    Parameters
    ----------
    transcript : Transcript
    steps : sequence of sequence of Row
        The transcript's rows in other steps.
    saving : bool
        Whether a new instance makes each step, from the state saved by the previous one.
    """
    instance, whole = transcript.instance(), {}
    for rows in steps:
        if saving:
            state = instance.save()
            instance = transcript.instance()
            instance.load(state)
            assert instance.save() == state, "a state that is loaded and saved is another one"
        sent = shown(transcript.plan, transcript.stage, instance.step(rows))
        for to, (progress, tuples) in sent.items():
            before = whole.get(to, (0, []))
            assert progress >= before[0], "a progress fell"
            assert not tuples or tuples[0][0] >= before[0] or not is_transparent(transcript)
            whole[to] = progress, before[1] + tuples
    return whole


def is_transparent(transcript: Transcript) -> bool:
    """Return whether mergers keep the total order, so that the division into steps is invisible."""
    return transcript.plan.merger == TRANSPARENT
