"""Pass `outline-warps`: in a kernel of many segments, each loop over warps becomes a function of its own.

LLVM's loop passes take time for every loop that grows with all the code of the function: 500 loops in one function
take four times as long as 500 functions. A kernel of few segments stays whole, so that LLVM sees across them.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import callee, operations_named, symbols
from triptych.kernel_ir.dialects.kernel_operations import defining_op, producer
from triptych.kernel_ir.transforms.loop_passes import CARRIED
from triptych.targets.cpu.abi.abi import BLOCK_MEMORY
from triptych.targets.cpu.abi.kernel_functions import BLOCKS, WARPS

MANY = 32
"""Loops over warps that one function may have."""


def outline_warps(module: Module) -> None:
    """Rewrite the functions that run blocks. Loops with checks stay: only there can a check leave."""
    for name, function in symbols(module).items():
        if not name.endswith(BLOCKS):
            continue
        loops = [loop for loop in operations_named(function, "scf.for") if CARRIED in loop.attributes]
        if len(loops) > MANY:
            builder, apart = Builder(module.context), _apart(function, loops)
            for i, loop in enumerate(loops):
                if not operations_named(loop, "cf.assert"):
                    _outline(loop, module, f"{name.removesuffix(BLOCKS)}{WARPS}{i}", builder, apart)


def _apart(function: Operation, loops: list[Operation]) -> set[Value]:
    """Memory that has no name but its own: addresses in it are made in the loops alone."""
    inside = {operation for loop in loops for operation in _with_contents(loop)}
    made = operations_named(function, "llvm.alloca")
    made += [call for call in operations_named(function, "llvm.call") if callee(call) == BLOCK_MEMORY]
    memory = [operation.results[0] for operation in made]
    return {value for value in memory if all(use.owner.operation in inside for use in value.uses)}


def _outline(loop: Operation, module: Module, name: str, builder: Builder, apart: set[Value]) -> None:
    captured = _captured(loop)
    constants = [value for value in captured if _is_constant(value)]
    given = [value for value in captured if not _is_constant(value)]
    types = [value.type for value in given]
    function, entry = builder.function(module, name, types, loop.location)
    function.attributes["sym_visibility"] = builder.string("private")
    function.attributes["llvm.no_inline"] = builder.attribute("unit")
    facts = ("{llvm.noalias}" if value in apart else "{}" for value in given)
    function.attributes["arg_attrs"] = builder.attribute(f"[{', '.join(facts)}]")
    builder.stand_before(loop)
    builder.operation("func.call", given, attributes={"callee": builder.attribute(f'@"{name}"')})
    builder.insertion = builder.at_end(entry)
    inside = dict(zip(given, entry.arguments, strict=True))
    inside |= {value: producer(value).clone(builder.insertion).results[0] for value in constants}
    loop.detach_from_parent()
    entry.append(loop)
    for operation in _with_contents(loop):
        for i, operand in enumerate(operation.operands):
            if operand in inside:
                operation.operands[i] = inside[operand]
    builder.operation("func.return")


def _captured(loop: Operation) -> list[Value]:
    """The values that a loop uses and that are made outside of it, in the order of their first use."""
    own: set[Value] = set()
    used: dict[Value, None] = {}
    for operation in _with_contents(loop):
        own.update(operation.results)
        own.update(argument for region in operation.regions for block in region.blocks for argument in block.arguments)
        used.update(dict.fromkeys(operation.operands))
    return [value for value in used if value not in own]


def _with_contents(loop: Operation) -> list[Operation]:
    ir = bindings.mlir()
    found: list[Operation] = []

    def visit(operation: Operation) -> object:
        found.append(operation.operation)
        return ir.WalkResult.ADVANCE

    loop.walk(visit)
    return found


def _is_constant(value: Value) -> bool:
    made_by = defining_op(value)
    return made_by is not None and bool(made_by.name == "arith.constant")
