"""Pass `hoist-to-host`: what all threads would compute alike of their kernel's arguments, the host computes for them.

That is whether the kernel may run at all, as far as its first operations check that, and the reciprocals of what it
divides by. Both sides of a launch change, so it runs before they part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.launch import launches
from triptych.ir.modules import operations_named, signature_of
from triptych.kernel_ir.dialects.kernel_operations import enclosing, known_block
from triptych.targets.nvptx.analysis.extents import extents_given
from triptych.targets.nvptx.analysis.host_expressions import Expression, HostSide
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.analysis.patterns import Term, match
from triptych.targets.nvptx.passes.floor_divisions import LAST_OF_FLOOR
from triptych.targets.nvptx.passes.magic_division import DIVISIONS, ask_for_reciprocals

# Checks that a kernel begins with and that only its arguments decide: the host makes them before the launch.
#
# A kernel that fails ends with a message on the error stream and takes the context with it; a check of the host raises
# an exception. A check may also stand under the condition that most kernels begin with, `number of the thread < size`:
# the smallest of these numbers tells whether any thread comes to the check.
_WITHOUT_EFFECT = ("arith.", "math.", "vector.", "llvm.mlir.", "llvm.alloca", "llvm.getelementptr", "llvm.load")
_NUMBERS = ("gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.lane_id")
CHECK = "cf.assert"
_EQUAL, _AT_LEAST, _MORE = 0, 5, 8
"""Predicates: equal, signed >=, unsigned >."""


@dataclass(frozen=True, slots=True)
class _Check:
    operation: Operation
    holds: Expression
    block: Block
    """Whoever runs it makes the check."""
    size: Expression | None
    """Only threads with a number below it run the block."""


def check_on_the_host(side: HostSide, checks: Sequence[Operation]) -> None:
    """Move the leading ones of a kernel's checks in front of the launch. It need not make the same again anywhere."""
    made: dict[tuple[Block, Expression], _Check] = {}
    for check in _checks(side, side.kernel.regions[0].blocks[0], None):
        made.setdefault((check.block, check.holds), check)
    for check in made.values():
        attributes = {name: check.operation.attributes[name] for name in check.operation.attributes}
        passes = side.compute(check.holds)
        for excuse in _excuses(side, check):
            passes = side.emit("arith.ori", (passes, excuse), "i1")
        side.builder.operation(CHECK, (passes,), (), attributes, location=check.operation.location)
    for operation in checks if made else ():
        holds = side.expression(operation.operands[0])
        if holds is not None and any((block, holds) in made for block in _blocks_around(operation)):
            operation.erase()


def _blocks_around(operation: Operation) -> Iterator[Block]:
    while operation.name != "gpu.func":
        yield operation.block
        operation = enclosing(operation)


def _checks(side: HostSide, block: Block, size: Expression | None) -> Iterator[_Check]:
    """The checks in front of anything that has an effect, or that a thread must decide."""
    for operation in block.operations:
        name = operation.operation.name
        if name == CHECK:
            holds = side.expression(operation.operands[0])
            if holds is None:
                return
            yield _Check(operation.operation, holds, block, size)
        elif name == "scf.if":
            bound = _size(side, operation.operands[0]) if size is None else None
            if bound is not None:
                yield from _checks(side, operation.regions[0].blocks[0], bound)
            return
        elif not name.startswith((*_WITHOUT_EFFECT, *_NUMBERS)):
            return


def _excuses(side: HostSide, check: _Check) -> Iterator[Value]:
    """Reasons for which no thread makes the check."""
    zero = side.constant(0, "i32")
    for blocks in side.grid:
        yield side.compare(_EQUAL, blocks, zero)
    if check.size is not None:
        kind = f"i{check.size.width}"
        yield side.compare(_AT_LEAST, _smallest(side, kind), side.compute(check.size))


# The number of a thread -----------------------------------------------------------------------------------------------
def _number(operation: str) -> Term:
    return ("arith.index_cast", (f"{operation} x",))


def _size(side: HostSide, condition: Value) -> Expression | None:
    """What `block * threads + thread` must be below; None for any other condition."""
    threads = _threads(side.kernel)
    if threads is None:
        return None
    firsts = [("arith.muli", _number("gpu.block_id"), width) for width in (_number("gpu.block_dim"), threads)]
    firsts += [("arith.muli", width, block) for _, block, width in firsts]
    thread = _number("gpu.thread_id")
    numbers = [sum_ for first in firsts for sum_ in (("arith.addi", first, thread), ("arith.addi", thread, first))]
    wider = [("arith.extsi", number) for number in numbers]
    found = match(condition, *(("arith.cmpi slt", number, "size") for number in (*numbers, *wider)))
    return side.expression(found["size"]) if found is not None else None


def _threads(kernel: Operation) -> int | None:
    """The threads of a block whose threads are in one line, if they are known."""
    block = known_block(kernel)
    return block[0] if block is not None and block[1:] == (1, 1) else None


def _smallest(side: HostSide, kind: str) -> Value:
    """Zero, unless there are threads beyond 2**31: the first of these has the smallest number of 32 bits."""
    threads = side.constant(_threads(side.kernel) or 1, "i64")
    count = side.emit("arith.muli", (side.emit("arith.extui", (side.grid[0],), "i64"), threads), "i64")
    wraps = side.compare(_MORE, count, side.constant(1 << 31, "i64"))
    return side.emit("arith.select", (wraps, side.constant(-(1 << 31), kind), side.constant(0, kind)), kind)


def hoist_to_host(module: Module) -> None:
    """Change the kernels and the launches of a program."""
    signature = signature_of(module)
    found = {kernel.attributes["sym_name"].value: kernel for kernel in kernels(module)}
    with module.context:
        for launch in launches(module):
            kernel = found[launch.kernel]
            operations = operations_named(kernel, CHECK, LAST_OF_FLOOR, *DIVISIONS)
            if operations:
                side = HostSide(kernel, launch, extents_given(module, signature, launch))
                ask_for_reciprocals(side, [operation for operation in operations if operation.name != CHECK])
                check_on_the_host(side, [operation for operation in operations if operation.name == CHECK])
                side.finish()
