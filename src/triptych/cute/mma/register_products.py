"""Products of registers by warps or waves: one `tile.mma` stands for all instructions, until a target writes them.

Input: an instruction and the checked operands of a product. Output: the operation, or the error of a block that does
not have the threads; and how errors write instructions.
"""

from __future__ import annotations

from triptych.cute.mma.atoms import MmaOperands, MmaOperation, threads_of_block
from triptych.cute.mma.typed import TYPES, Shape3
from triptych.cute.tensors.register_arrays import array_of, register_offsets
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import MatrixTilingError
from triptych.kernel_ir.dialects.mma import register_bytes
from triptych.kernel_ir.dialects.tile import MMA
from triptych.kernel_ir.dialects.wave_mma import RegisterMma
from triptych.layout import size
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric


def emit_tile_mma(instruction: RegisterMma, product: MmaOperands) -> None:
    """One `tile.mma` for all instructions of a product."""
    trace = tracing()
    builder = trace.builder
    operands = [product.d, product.a, product.b, product.c]
    kinds = (instruction.accumulator, instruction.a, instruction.b, instruction.accumulator)
    arrays = [array_of(operand.tensor, operand.name) for operand in operands]
    attributes = {"instruction": builder.string(instruction.name), "tiles": builder.integers(product.tiles)}
    for operand, kind, (_, start) in zip(operands, kinds, arrays, strict=True):
        bytes_ = register_bytes(kind)
        offsets = register_offsets(operand.tensor, start, operand.modes, operand.name, operand.extents, bytes_)
        attributes[operand.name.lower()] = builder.integers(offsets)
    trace.operation(MMA, [array for array, _ in arrays], attributes=attributes)


def require_threads(op: MmaOperation, needed: int) -> None:
    """A block must have the threads of all atoms, and warps that are whole."""
    threads, warp = threads_of_block(op), size(op.threads)
    if threads is not None and (threads < needed or threads % warp):
        raise MatrixTilingError(
            "the block has too few threads" if threads < needed else "the last warp of the block is not whole",
            span=place(),
            found=f"a block of {threads} threads for a product by {needed}",
            expected=f"a multiple of {warp} threads, {needed} or more",
        )


def written(instruction: RegisterMma) -> str:
    """An instruction as its types and its shape."""
    a, b, accumulator = (TYPES[word] for word in (instruction.a, instruction.b, instruction.accumulator))
    return described(a, b, accumulator, instruction.shape_mnk)


def described(a: type[Numeric], b: type[Numeric], accumulator: type[Numeric], shape: Shape3) -> str:
    """What a program asks for, in words."""
    types = a.__name__ if a is b else f"{a.__name__} with {b.__name__}"
    return f"{types} into {accumulator.__name__}, {shape}"
