"""Passes `bound-waves`, `pass-on-bounds`, `count-blocks`, `trap-checks`, `name-roundings`,
`inline-remainders`, `use-private-memory`, `mark-atomics`: kernels as AMD's LLVM wants them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import element_and_lanes
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import callee, kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import PRIVATE_SPACE, pointer_to
from triptych.kernel_ir.dialects.kernel_operations import contains, dimension, known_block
from triptych.kernel_ir.dialects.tile import MMA
from triptych.targets.amdgpu.description import instructions as isa
from triptych.targets.amdgpu.description.chips import SIMDS, THREADS, Chip, Feature

# Pass `bound-waves`: what a launch promises about the block bounds the registers of a thread.
#
# Without it LLVM assumes blocks of 1024 threads, of which four waves share a SIMD, and spills what has no room there.

_MOST_THREADS, _FEWEST_BLOCKS = "triptych.max_number_threads", "triptych.min_blocks_per_mp"
_FOR_PRODUCTS = "iterative-minreg"
"""How LLVM orders instructions where sums of MFMA fill the registers: its usual way moves whole sums to other registers
and back in every turn of a loop (`benchmarks.matrix_core_loop`: 32 moves beside 32 products). WMMA has no registers of
a second kind; there the usual way takes the fewest."""
_WAVES = "triptych.waves"
"""On a kernel, until it is a function of LLVM: attributes of that function, in pairs."""


def bounding(chip: Chip) -> Callable[[Module], None]:
    """The pass for one chip, on kernels."""

    def bound_waves(module: Module) -> None:
        for kernel in kernels(module):
            _bound(kernel, chip)

    return bound_waves


def _bound(kernel: Operation, chip: Chip) -> None:
    attributes, block = kernel.attributes, known_block(kernel)
    builder = Builder(kernel.context)
    hinted = attributes[_MOST_THREADS].value if _MOST_THREADS in attributes else THREADS
    threads = hinted if block is None else prod(block)
    pairs = {
        "amdgpu-flat-work-group-size": f"{1 if block is None else threads},{threads}",
        "uniform-work-group-size": "true",
    }
    if _FEWEST_BLOCKS in attributes:
        waves = -(-attributes[_FEWEST_BLOCKS].value * -(-threads // chip.lanes) // SIMDS)
        pairs["amdgpu-waves-per-eu"] = str(min(max(waves, 1), chip.waves))
    if Feature.MFMA in chip.features and contains(kernel, frozenset({MMA})):
        pairs["amdgpu-sched-strategy"] = _FOR_PRODUCTS
    for hint in (_MOST_THREADS, _FEWEST_BLOCKS):
        if hint in attributes:
            del attributes[hint]
    said = ", ".join(f'["{name}", "{value}"]' for name, value in pairs.items())
    attributes[_WAVES] = builder.attribute(f"[{said}]")


def pass_on_bounds(module: Module) -> None:
    """Pass `pass-on-bounds`: the attributes move to where LLVM looks for them."""
    for function in kernels(module, "llvm.func"):
        if _WAVES in function.attributes:
            function.attributes["passthrough"] = function.attributes[_WAVES]
            del function.attributes[_WAVES]


# Pass `count-blocks`: the size of a grid, and of a block that only the launch knows, are read from the packet that
# launches: upstream would call a function of AMD's device library.

SIZES = frozenset({"gpu.grid_dim", "gpu.block_dim"})
_BLOCK_SIZE, _GRID_SIZE = 4, 12
"""Bytes into the packet: threads of a block in 16 bits each, threads of the grid in 32 bits each."""


def count_blocks(module: Module) -> None:
    for kernel in kernels(module):
        block = known_block(kernel)
        replace_each(operations_named(kernel, *SIZES), partial(_size, block))


def _size(block: tuple[int, int, int] | None, op: Replacement) -> list[Value]:
    axis, kind = dimension(op.operation), op.operation.results[0].type
    if block is not None and op.operation.name == "gpu.block_dim":
        return [op.builder.constant(block[axis], kind)]
    if block is None:
        threads = op.builder.resized(_from_packet(op, _BLOCK_SIZE + 2 * axis, "i16"), "i32")
    else:
        threads = op.integer("i32", block[axis])
    found = threads
    if op.operation.name == "gpu.grid_dim":
        found = op.value("arith.divui", (_from_packet(op, _GRID_SIZE + 4 * axis, "i32"), threads), "i32")
    return [op.value("arith.index_castui", (found,), kind)]


def _from_packet(op: Replacement, offset: int, kind: str) -> Value:
    packet = op.builder.intrinsic(isa.DISPATCH.name, (), ["!llvm.ptr<4>"]).result
    facts = {
        "rawConstantIndices": op.attribute(f"array<i32: {offset}>"),
        "elem_type": op.builder.type_attribute("i8"),
    }
    place = op.value("llvm.getelementptr", (packet,), "!llvm.ptr<4>", facts)
    access = {"alignment": op.builder.integer("i64", 2 if kind == "i16" else 4), "invariant": op.attribute("unit")}
    return op.value("llvm.load", (place,), kind, {**access, "ordering": op.builder.integer("i64", 0)})


# Pass `trap-checks`: a check that fails ends the kernel. It says nothing: printing needs AMD's device library.

CHECKS = frozenset({"cf.assert"})


def trap_checks(module: Module) -> None:
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *CHECKS), _trap)


def _trap(op: Replacement) -> list[Value]:
    build = op.builder
    failed = op.value("arith.xori", (op.operands[0], op.integer("i1", 1)), "i1")
    choice = build.operation("scf.if", (failed,), regions=2)
    before = build.enter(build.append_block(choice, 0))
    build.intrinsic(isa.TRAP.name, ())
    build.operation("scf.yield")
    build.leave(before)
    return []


# Passes `name-roundings`, `inline-remainders`: what upstream's conversion refuses, or calls AMD's library for.
#
# Whole numbers above and below are instructions, which are called by name. LLVM writes out remainders of floats.

ROUNDINGS = frozenset({"math.ceil", "math.floor"})


def name_roundings(module: Module) -> None:
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *ROUNDINGS), _named)


def _named(op: Replacement) -> list[Value]:
    element, lanes = element_and_lanes(op.operation.results[0].type)
    suffix = element if lanes is None else f"v{lanes}{element}"
    name = f"llvm.{op.operation.name.partition('.')[2]}.{suffix}"
    return [op.builder.intrinsic(name, op.operands, [op.operation.results[0].type]).result]


CALLS = frozenset({"llvm.call"})
_REMAINDER = "__ocml_fmod_"


def inline_remainders(module: Module) -> None:
    for function in kernels(module, "llvm.func"):
        called = [call for call in operations_named(function, *CALLS) if "callee" in call.attributes]
        replace_each([call for call in called if callee(call).startswith(_REMAINDER)], _remainder)


def _remainder(op: Replacement) -> list[Value]:
    return [op.value("llvm.frem", op.operands, op.operation.results[0].type)]


# Pass `use-private-memory`: memory of a thread has an address space of its own, the only one where LLVM reserves any.

ARRAYS = frozenset({"llvm.alloca"})


def use_private_memory(module: Module) -> None:
    for function in kernels(module, "llvm.func"):
        for array in operations_named(function, *ARRAYS):
            builder = Builder(array.context)
            builder.stand_before(array)
            given = {name: array.attributes[name] for name in array.attributes}
            made = builder.value("llvm.alloca", tuple(array.operands), pointer_to(PRIVATE_SPACE), given)
            generic = builder.value("llvm.addrspacecast", (made,), array.results[0].type)
            array.results[0].replace_all_uses_with(generic)
            array.erase()


# Pass `mark-atomics`: tensors are in the memory of the GPU itself, where updates of floats are instructions. Without a
# word LLVM writes loops that also work in memory of the host. An update may flush subnormal numbers, as NVIDIA's do in
# global memory: gfx90a has no other.

UPDATES = frozenset({"llvm.atomicrmw"})
_MARKS = ("rocdl.no_fine_grained_memory", "rocdl.no_remote_memory", "rocdl.ignore_denormal_mode")


def mark_atomics(module: Module) -> None:
    bindings.mark_dialect_loaded("rocdl")
    for function in kernels(module, "llvm.func"):
        for update in operations_named(function, *UPDATES):
            for mark in _MARKS:
                update.attributes[mark] = Builder(update.context).attribute("unit")
