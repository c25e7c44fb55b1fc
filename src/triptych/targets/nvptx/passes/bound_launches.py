"""Pass `bound-launches`: what a launch promises about its shape reaches the code generator.

The number of threads of a block bounds the registers of each; without it the assembler assumes blocks of 1024. The
blocks of a cluster are fixed too: a kernel that says so cannot be launched in another way by mistake. No grid has more
blocks than a GPU can count, so the number of a block has no sign. Where warps give registers to others, the assembler
asks for the number of blocks too, and ignores them without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir import bindings
from triptych.ir.handles import Module, Operation
from triptych.ir.launch import launches
from triptych.ir.modules import operations_named
from triptych.ir.types import word_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of
from triptych.kernel_ir.dialects.simt import SET_REGISTERS
from triptych.targets.nvptx.analysis.kernels import kernels

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
