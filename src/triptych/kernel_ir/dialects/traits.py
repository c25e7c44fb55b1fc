"""Traits of every operation of a kernel, ours and MLIR's: what analyses and targets ask.

Input: an operation. Output: its `Traits`, from its definition (`opdef`) or, of an operation of MLIR's, from the table
here. An operation with neither is an error where it is asked about.
"""

from __future__ import annotations

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.check import CHECK
from triptych.kernel_ir.dialects.opdef import (
    ANYTHING,
    BLOCK_BARRIER,
    COMPUTES,
    CONTROL_FLOW,
    IDENTITY,
    LOADS,
    ONCE,
    STORES,
    UPDATES,
    OpDef,
    Result,
    Traits,
)
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS

DEFINITIONS: dict[str, OpDef] = {
    operation: operation for dialect in (*KERNEL_DIALECTS, CHECK) for operation in dialect.operations
}
"""The operations of our dialects, by name."""
TRAITS: dict[str, Traits] = {
    **{name: definition.traits for name, definition in DEFINITIONS.items()},
    "gpu.barrier": BLOCK_BARRIER,
    # which thread this is
    "gpu.thread_id": IDENTITY,
    "gpu.lane_id": IDENTITY,
    **dict.fromkeys(("gpu.block_id", "gpu.block_dim", "gpu.grid_dim"), COMPUTES),
    # memory
    "llvm.load": LOADS,
    "llvm.store": STORES,
    "llvm.atomicrmw": UPDATES,
    "llvm.cmpxchg": UPDATES,
    "llvm.fence": STORES,
    "llvm.alloca": Traits(allocates=True, result=Result.DIVERGENT),
    # calls of what is not ours
    "gpu.printf": STORES,
    "llvm.inline_asm": ANYTHING,
    "llvm.call": ANYTHING,
    "func.call": ANYTHING,
    "llvm.call_intrinsic": ONCE,  # only those that compute; which one it is an attribute says
    # control flow
    **dict.fromkeys(("scf.for", "scf.if", "scf.while"), CONTROL_FLOW),
    **dict.fromkeys(("scf.yield", "scf.condition", "gpu.return"), ONCE),
    "cf.assert": Traits(stops=True),
    # numbers and addresses
    **dict.fromkeys(
        (
            *("llvm.getelementptr", "llvm.mlir.addressof", "llvm.inttoptr", "llvm.ptrtoint", "llvm.addrspacecast"),
            *("llvm.bitcast", "llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.zero", "llvm.mlir.constant"),
            *("llvm.extractvalue", "llvm.trunc", "llvm.zext", "ub.poison"),
        ),
        COMPUTES,
    ),
    # the operations of `vector` that do not only compute
    **dict.fromkeys(("vector.load", "vector.maskedload", "vector.expandload", "vector.gather"), LOADS),
    **dict.fromkeys(("vector.store", "vector.maskedstore", "vector.compressstore", "vector.scatter"), STORES),
    **dict.fromkeys(("vector.transfer_read", "vector.transfer_write", "vector.print"), ANYTHING),
}
_COMPUTING_DIALECTS = frozenset({"arith", "math", "vector"})
"""All their other operations only compute."""


def definition_of(operation: Operation) -> OpDef | None:
    """The definition of an operation of ours; None for all others."""
    return DEFINITIONS.get(operation.name)


def is_described(operation: Operation) -> bool:
    """Whether an operation has traits: for those who leave alone what they do not know."""
    return _found(operation) is not None


def _found(operation: Operation) -> Traits | None:
    name = operation.name
    found = TRAITS.get(name)
    return COMPUTES if found is None and name.partition(".")[0] in _COMPUTING_DIALECTS else found


def traits(operation: Operation) -> Traits:
    """What an operation does to other threads."""
    found = _found(operation)
    if found is None:
        raise LoweringError(
            f"nobody has said what {operation.name} does to other threads",
            span=place_of(operation),
            found=str(operation)[:200],
            expected="an operation with a definition, or an entry in `triptych.kernel_ir.dialects.traits`",
        )
    return found
