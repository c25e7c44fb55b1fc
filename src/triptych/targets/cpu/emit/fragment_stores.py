"""Which loads of matrices fill fragments and do nothing else: their registers go straight into arrays of the thread.

Input: a `tile.load_matrix`. Output: for each of its registers the store that takes it, when all stand behind the load
with nothing between that reads or writes: then load and stores may be done as one.
"""

from __future__ import annotations

from triptych.ir.handles import Block, Operation
from triptych.kernel_ir.analysis.addresses import INDEXING
from triptych.kernel_ir.dialects.kernel_operations import operations
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX

_BETWEEN = frozenset({INDEXING, "arith.constant"})
"""What may stand between a load and its stores."""


class FragmentStores:
    """Answers for one kernel. All loads of a block are looked at together: looking behind each takes quadratic time."""

    def __init__(self) -> None:
        self._found: dict[Operation, list[Operation] | None] = {}

    def of(self, load: Operation) -> list[Operation] | None:
        """The stores, in the order of the registers; None when a register has another use, or something is between."""
        if load not in self._found:
            self._look_at(load.block)
        return self._found[load]

    def _look_at(self, block: Block) -> None:
        load: Operation | None = None
        stores: dict[int, Operation] = {}
        for operation in operations(block):
            if operation.name == LOAD_MATRIX:
                self._found[operation] = None
                load, stores = operation, {}
            elif load is None or operation.name in _BETWEEN:
                continue
            elif (register := _register(load, operation)) is not None:
                stores[register] = operation
                if len(stores) == len(load.results):
                    self._found[load] = [stores[i] for i in range(len(stores))]
                    load = None
            else:
                load = None


def _register(load: Operation, store: Operation) -> int | None:
    """The number of the register that an operation stores, and that nobody else uses."""
    if store.name != "llvm.store":
        return None
    for i, result in enumerate(load.results):
        if store.operands[0] == result:
            return i if len(list(result.uses)) == 1 else None
    return None
