"""Pass `order-accesses`: loads and stores that are ordered with those of other threads get fences.

A load is followed by one, a store has one in front. The processor loses nothing by it, and LLVM neither moves nor drops
what stands between: also not the load of a loop that waits.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import operations_named

ACCESSES = frozenset({"llvm.load", "llvm.store"})
"""What can be ordered."""
_ORDER = "triptych.order"
_CONSTANT = "constant"
"""Nobody writes what is read."""
_ACQUIRE, _RELEASE, _SEQUENTIAL = 4, 5, 7
"""LLVM's numbers of the orderings."""


def order_accesses(module: Any) -> None:
    """Add the fences of every kernel."""
    ir = bindings.mlir()
    for kernel in operations_named(module, "gpu.func"):
        for access in operations_named(kernel, *ACCESSES):
            order = access.attributes[_ORDER].value if _ORDER in access.attributes else _CONSTANT
            if order == _CONSTANT:
                continue
            builder = Builder(access.context)
            loads = access.name == "llvm.load"
            builder.insertion = ir.InsertionPoint(access)
            ordering = _ACQUIRE if loads else _RELEASE
            if order.startswith("sc"):
                ordering = _SEQUENTIAL
            fence = builder.operation(
                "llvm.fence", (), (), access.location, {"ordering": builder.integer("i64", ordering)}
            )
            if loads:
                fence.move_after(access)
