"""Kernel operations, ours and MLIR's: their traits, their regions, and the attributes that an analysis or a target
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Block, Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.types import byte_size, element_type, int_width, word_of
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
            expected="an operation with a definition, or an entry in `triptych.kernel_ir.dialects.kernel_operations`",
        )
    return found


_DYNAMIC = -(2**31)
_NOT_ATOMIC = 0
_MOST_BITS = 64
"""Of integers that the bindings give as Python's."""


def is_pure(operation: Operation) -> bool:
    """Whether an operation only computes: it may run once for many threads, again, or not at all."""
    return traits(operation).is_pure()


def is_mma(operation: Operation) -> bool:
    """Whether an operation is a matrix product of arrays that a thread has for itself."""
    definition = definition_of(operation)
    return definition is not None and definition.accumulates is not None


def body(operation: Operation, region: int = 0) -> Block:
    """The only block of a region that has one."""
    return operation.regions[region].blocks[0]


def has_body(operation: Operation, region: int) -> bool:
    """Whether a region has a block: an `scf.if` may lack its second."""
    return bool(len(operation.regions[region].blocks))


def operations(block: Block) -> list[Operation]:
    return [operation.operation for operation in block.operations]


def inner(operation: Operation) -> list[Operation]:
    """The operations directly inside all regions."""
    return [found for region in operation.regions for block in region.blocks for found in operations(block)]


def walk(operation: Operation) -> Iterator[Operation]:
    """Everything inside an operation, in program order."""
    for child in inner(operation):
        yield child
        if len(child.regions):
            yield from walk(child)


def is_ordered(operation: Operation) -> bool:
    """Whether an access is ordered with those of other threads: it stays among all others where it is written."""
    return "ordering" in operation.attributes and operation.attributes["ordering"].value != _NOT_ATOMIC


def access_alignment(operation: Operation, kind: Type) -> int:
    """The alignment of an access in bytes: that of an element if the program promises no more."""
    if "alignment" in operation.attributes:
        return int(operation.attributes["alignment"].value)
    return byte_size(element_type(kind))


def writes(operation: Operation) -> bool:
    """Whether the operation, or anything inside it, changes what others read, or decides when they do."""
    found = (operation, *walk(operation))
    return any(traits(each).writes or (traits(each).reads and is_ordered(each)) for each in found)


def contains(operation: Operation, names: frozenset[str]) -> bool:
    """Whether the operation is, or has anywhere inside, one of `names`."""
    return operation.name in names or any(child.name in names for child in walk(operation))


def has(operation: Operation, trait: Callable[[Traits], bool]) -> bool:
    """Whether a trait holds of the operation, or of anything inside it."""
    return trait(traits(operation)) or any(trait(traits(child)) for child in walk(operation))


def awaits_others(kernel: Operation) -> bool:
    """Whether threads of a kernel wait for others of their block or cluster elsewhere than at its barriers."""
    return any(traits(found).awaits() for found in walk(kernel))


def all_operands(operation: Operation) -> list[Value]:
    """The operands of an operation and of everything inside it."""
    return [operand for found in (operation, *walk(operation)) for operand in found.operands]


def defining_op(value: Value) -> Operation | None:
    """The operation that computes a value; None for an argument of a block."""
    owner = value.owner
    return owner.operation if hasattr(owner, "operation") else None


def owner_op(value: Value) -> Operation:
    """The operation that computes a value, or that the block is in which is entered with it."""
    owner = value.owner
    return owner.operation if hasattr(owner, "operation") else owner.owner.operation


def producer(value: Value) -> Operation:
    """The operation that computes a value which no block is entered with."""
    made_by = defining_op(value)
    assert made_by is not None, value
    return made_by


def enclosing(operation: Operation) -> Operation:
    """The operation around one that is not a whole module."""
    around = operation.parent
    assert around is not None, operation
    return around.operation


def blocks_around(operation: Operation) -> Iterator[Block]:
    """The block that an operation of a kernel is in, then those around it."""
    while operation.name != "gpu.func":
        yield operation.block
        operation = enclosing(operation)


def is_inside(operation: Operation, loop: Operation) -> bool:
    """Whether an operation is in the body of another one, at any depth."""
    around: Operation | None = operation
    while around is not None and around.name not in ("gpu.func", "func.func", "builtin.module"):
        around = around.parent.operation if around.parent is not None else None
        if around == loop:
            return True
    return False


def dimension(operation: Operation) -> int:
    """0, 1, 2 for x, y, z of an index operation."""
    return "xyz".index(word_of(operation.attributes["dimension"]))


BLOCK_ATTRIBUTE = "known_block_size"
"""Of a kernel whose launches all have blocks of one shape: threads along x, y, z."""


def known_block(kernel: Operation) -> tuple[int, int, int] | None:
    """The block's dimensions when the launch gives them as constants."""
    if BLOCK_ATTRIBUTE not in kernel.attributes:
        return None
    x, y, z = kernel.attributes[BLOCK_ATTRIBUTE]
    return x, y, z


def integer_constant(operation: Operation) -> int | None:
    """The value of an integer `arith.constant`."""
    value, bits = operation.attributes["value"], int_width(operation.results[0].type)
    if bits == 1:
        return int(bool(value.value)) if hasattr(value, "value") else None
    return int(value.value) if bits is not None and bits <= _MOST_BITS else None


def constant_of(value: Value | None) -> int | None:
    """The integer that a value is known to be; None when only a run tells, or there is no value."""
    made_by = None if value is None else defining_op(value)
    return integer_constant(made_by) if made_by is not None and made_by.name == "arith.constant" else None


def pointee(operation: Operation) -> Type:
    """The type of the elements that `llvm.getelementptr` counts, or `llvm.alloca` makes."""
    found: Type = operation.attributes["elem_type"].value
    return found


def only_index(operation: Operation) -> Value | int | None:
    """The index of a `llvm.getelementptr` with one: a number, or the value that a run computes. None if it has more."""
    raw = operation.attributes["rawConstantIndices"]
    if len(raw) != 1:
        return None
    (index,) = raw
    return operation.operands[1] if index == _DYNAMIC else int(index)


def array_size(operation: Operation) -> int:
    """Bytes that an `llvm.alloca` of a thread takes, so that the next thread's array is aligned as well."""
    count = int(producer(operation.operands[0]).attributes["value"].value)
    size = count * byte_size(pointee(operation))
    alignment = int(operation.attributes["alignment"].value) if "alignment" in operation.attributes else 1
    return -(-size // max(1, alignment)) * max(1, alignment)


CLUSTER_ATTRIBUTE = "triptych.cluster"
"""Of a kernel that is launched in clusters: blocks along x, y, z."""


def cluster_of(kernel: Operation) -> tuple[int, int, int]:
    """Blocks of a cluster along x, y, z."""
    if CLUSTER_ATTRIBUTE not in kernel.attributes:
        return 1, 1, 1
    x, y, z = kernel.attributes[CLUSTER_ATTRIBUTE]
    return x, y, z


def reaches_other_blocks(kernel: Operation) -> bool:
    """Whether blocks of a cluster wait for each other, or reach each other's shared memory."""
    return any(_is_between_blocks(found) for found in walk(kernel))


def _is_between_blocks(operation: Operation) -> bool:
    definition = definition_of(operation)
    return definition is not None and definition.leaves_block is not None and definition.leaves_block(operation)
