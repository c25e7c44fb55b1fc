"""Meta-stage, products by whole warps: one `tile.mma` stands for all instructions, until a target writes them out."""

from __future__ import annotations

from triptych.cute.mma.atoms import MmaOperation
from triptych.cute.mma.block_threads import threads_of_block
from triptych.cute.mma.operands import Product
from triptych.cute.tensors.mma_errors import MatrixTilingError
from triptych.cute.tensors.register_arrays import array_of, register_offsets
from triptych.cute.tracing.current_trace import tracing
from triptych.kernel_ir.dialects.tile import MMA, WARP_THREADS
from triptych.metastage.trace.trace import place


def emit_tile_mma(instruction: str, product: Product) -> None:
    """One `tile.mma` for all instructions of a product."""
    trace = tracing()
    builder = trace.builder
    operands = [product.d, product.a, product.b, product.c]
    arrays = [array_of(operand.tensor, operand.name) for operand in operands]
    attributes = {"instruction": builder.string(instruction), "tiles": builder.integers(product.tiles)}
    for operand, (_, start) in zip(operands, arrays, strict=True):
        offsets = register_offsets(operand.tensor, start, operand.modes, operand.name, operand.extents)
        attributes[operand.name.lower()] = builder.integers(offsets)
    trace.operation(MMA, [array for array, _ in arrays], attributes=attributes)


def require_threads(op: MmaOperation, needed: int) -> None:
    """A block must have the threads of all atoms, and warps that are whole."""
    threads = threads_of_block(op)
    if threads is not None and (threads < needed or threads % WARP_THREADS):
        raise MatrixTilingError(
            "the block has too few threads" if threads < needed else "the last warp of the block is not whole",
            span=place(),
            found=f"a block of {threads} threads for a product by {needed}",
            expected=f"a multiple of {WARP_THREADS} threads, {needed} or more",
        )
