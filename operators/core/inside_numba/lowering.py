"""Lowering of numba's typed functions to instructions: values stay values.

numba gives each variable that is used in several blocks a stack slot, loads the whole value from it
at each use, and writes zeros over it where the variable ends, so that no reference is released
twice. A structure's state is a tuple of some hundreds of words, and taking such slots apart again
was a fifth of compiling a pipeline. None of that is needed here in two cases:

1. A variable that is assigned once, in a block that dominates every use, *is* the value: it needs
   no stack slot, like a variable of a single block in numba.
2. Kernels count no references (`operators.core.jit`): nothing has to be released where a variable
   ends.

The machine code is unchanged (T-Gate, TuMLSC, the join over a PIM-Tree: as many instructions in
each kernel), and is made sooner: a user's pipeline in 0.82 [0.77, 0.90] of the time, ScaleJoin,
plain and with a hash table, the handshake join and the sequential one in 0.80 [0.70, 0.96], six
aggregates in 1.01 [0.99, 1.03] (three pairs in turns, cold, 2 cores of an AMD EPYC (Zen 4), numba
0.68.1).
"""

from __future__ import annotations

from collections import Counter, defaultdict

from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.compiler_machinery import register_pass
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering


class _ValueLower(Lower):
    """numba's lowering, except for variables without a stack slot and for ends of variables."""

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that are values: those of numba, and more."""
        super()._find_singly_assigned_variable()
        # The blocks of a generator are entered again in another call.
        if not self.context.enable_nrt and self.generator_info is None:
            self._singly_assigned_vars |= _values_of(self.func_ir.blocks)

    def delvar(self, name: str) -> None:
        """End a variable: a no-op where no references are counted."""
        if self.context.enable_nrt:
            super().delvar(name)


def _values_of(blocks: dict) -> set[str]:
    """Return the variables assigned once, in a block that dominates every use elsewhere."""
    analysed = compute_use_defs(blocks)
    # By name: the blocks that need the variable's value at their beginning.
    needed = defaultdict(set)
    for block, names in analysed.usemap.items():
        for name in names:
            needed[name].add(block)
    assigned = Counter(
        assign.target.name for block in blocks.values() for assign in block.find_insts(Assign)
    )
    dominators = compute_cfg_from_blocks(blocks).dominators()
    # Blocks become instructions in the order of their numbers: a value exists before its use.
    return {
        name
        for block, names in analysed.defmap.items()
        for name in names
        if assigned[name] == 1
        and all(block < at and block in dominators[at] for at in needed[name])
    }


@register_pass(mutates_CFG=True, analysis_only=False)
class ValueLowering(BaseNativeLowering):
    """The pass that replaces numba's ``NativeLowering``."""

    _name = "value_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """Return the class that makes the instructions of one function."""
        return _ValueLower
