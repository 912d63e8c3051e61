"""Equijoin: a symmetric hash join over windows of time or of count.

Each window has chains of equal hash (`operators.streamcloud.kernels.stores`); a tuple walks one of
the other side's, so that what is compared is little more than what agrees.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.streamcloud.generated import Place, Writer, hash_text
from operators.streamcloud.kernels.pairing import Pairing
from operators.streamcloud.kernels.stores import make_relink


class JoinOperator(Pairing):
    """A join."""

    def write_search(self, writer: Writer) -> None:
        """Add ``hash_left``, ``hash_right`` and ``equal``."""
        left, right = self.node.inputs
        places = Place(left, "left", "", "i"), Place(right, "right", "", "j")
        for side, (name, place) in enumerate(zip(("left", "right"), places, strict=True)):
            words = [place.word(pair[side]) for pair in self.node.on]
            index = "ij"[side]
            writer.function(f"hash_{name}({name}, {index})", [f"return {hash_text(words)}"])
        same = [
            f"{places[0].word(mine)} == {places[1].word(other)}" for mine, other in self.node.on
        ]
        writer.function("equal(left, i, right, j)", [f"return {' and '.join(same)}"])

    def searches(self, module) -> list[tuple[Callable | None, Callable | None]]:
        """See `Pairing`."""
        return [(module.hash_left, module.equal), (module.hash_right, module.equal)]

    def relink(self, hash_words: Callable | None) -> Callable | None:
        """See `Pairing`."""
        return make_relink(hash_words)
