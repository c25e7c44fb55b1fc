"""Passes `mark-extents`, `assume-nonnegative`, `bound-launches`: what launches promise reaches the code generator."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir import bindings
from triptych.ir.handles import Module, Operation, Type
from triptych.ir.launch import launches
from triptych.ir.modules import kernels, operations_named, signature_of
from triptych.ir.types import int_width, type_text, word_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of
from triptych.kernel_ir.dialects.simt import SET_REGISTERS
from triptych.targets.nvptx.analysis.extents import extents_given

# Passes `mark-extents`, `assume-nonnegative`: LLVM learns which arguments of kernels are never negative.
#
# Extents and strides of tensors are checked when the host function is called; so a division by one of them needs no
# correction of signs. MLIR integers have no sign of their own to say so. Only launches tell what an argument is, and
# only functions of LLVM can say it: the kernel carries it in between.

_EXTENTS = "triptych.extents"
"""On a kernel: for each argument, whether it is the extent or the stride of a tensor."""


def mark_extents(module: Module) -> None:
    """Mark the arguments of each kernel that its launch takes over from the host function's tensors."""
    signature = signature_of(module)
    found = {kernel.attributes["sym_name"].value: kernel for kernel in kernels(module)}
    for launch in launches(module):
        extents = extents_given(module, signature, launch)
        found[launch.kernel].attributes[_EXTENTS] = bindings.mlir().DenseBoolArrayAttr.get(extents)


def assume_nonnegative(module: Module) -> None:
    """State the range of every marked argument."""
    for kernel in kernels(module, "llvm.func"):
        if _EXTENTS in kernel.attributes:
            _state(kernel, list(bindings.mlir().DenseBoolArrayAttr(kernel.attributes[_EXTENTS])))
            del kernel.attributes[_EXTENTS]


def _state(kernel: Operation, bounded: list[bool]) -> None:
    ir = bindings.mlir()
    with kernel.context:
        types = [argument.type for argument in kernel.regions[0].blocks[0].arguments]
        ranges = [_not_negative(kind) if known else "{}" for kind, known in zip(types, bounded, strict=True)]
        kernel.attributes["arg_attrs"] = ir.Attribute.parse(f"[{', '.join(ranges)}]")


def _not_negative(kind: Type) -> str:
    bits = int_width(kind)
    assert bits is not None, kind
    return f"{{llvm.range = #llvm.constant_range<{type_text(kind)}, 0, {1 << bits - 1}>}}"


# Pass `bound-launches`: what a launch promises about its shape reaches the code generator.
#
# The number of threads of a block bounds the registers of each; without it the assembler assumes blocks of 1024. The
# blocks of a cluster are fixed too: a kernel that says so cannot be launched in another way by mistake. No grid has
# more blocks than a GPU can count, so the number of a block has no sign. Where warps give registers to others, the
# assembler asks for the number of blocks too, and ignores them without it.

_MOST_THREADS, _FEWEST_BLOCKS = "triptych.max_number_threads", "triptych.min_blocks_per_mp"
_MOST_BLOCKS = {"x": 2**31 - 1, "y": 2**16 - 1, "z": 2**16 - 1}


def bound_launches(module: Module) -> None:
    """Turn the hints of kernels into attributes that become PTX directives."""
    ir = bindings.mlir()
    clusters = {launch.kernel: [constant_of(n) for n in launch.cluster] for launch in launches(module)}
    for kernel in kernels(module):
        attributes, found = kernel.attributes, operations_named(kernel, "gpu.block_id", SET_REGISTERS)
        if _MOST_THREADS in attributes and "known_block_size" not in attributes:
            attributes["nvvm.maxntid"] = ir.DenseI32ArrayAttr.get([attributes[_MOST_THREADS].value])
        if _FEWEST_BLOCKS in attributes:
            attributes["nvvm.minctasm"] = attributes[_FEWEST_BLOCKS]
        elif any(operation.name == SET_REGISTERS for operation in found):
            attributes["nvvm.minctasm"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
        blocks = clusters.get(attributes["sym_name"].value)
        if blocks:
            attributes["nvvm.cluster_dim"] = ir.DenseI32ArrayAttr.get(blocks)
        for hint in (_MOST_THREADS, _FEWEST_BLOCKS):
            if hint in attributes:
                del attributes[hint]
        if "known_grid_size" not in attributes:
            _bound_numbers([operation for operation in found if operation.name != SET_REGISTERS])


def _bound_numbers(numbers: Sequence[Operation]) -> None:
    ir = bindings.mlir()
    for number in numbers:
        along = word_of(number.attributes["dimension"])
        number.attributes["upper_bound"] = ir.IntegerAttr.get(ir.IndexType.get(), _MOST_BLOCKS[along])
