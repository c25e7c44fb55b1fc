"""Meta-stage, products of fragments: D = A * B + C for what the threads of an atom hold.

Input: tensors (values of an atom, atoms along a mode, atoms along the other). Output: one `tile.mma` for all atoms of a
warp instruction, or a multiply-add for each number.
"""

from __future__ import annotations

import math
from typing import Any

from triptych.atoms.operations import MMA
from triptych.cute.arch.errors import DeviceOnlyError
from triptych.cute.current_trace import tracing
from triptych.cute.memory_access import read, write
from triptych.cute.mma_atoms import MmaAtom
from triptych.cute.mma_errors import MatrixTilingError
from triptych.cute.nvgpu.warp.mma_operations import WarpMmaOp
from triptych.cute.product_operands import Operand, Product, checked_product, misfit
from triptych.cute.register_arrays import array_of, register_offsets
from triptych.cute.tensors import Tensor
from triptych.cute.tiled_mmas import ThrMma, TiledMma
from triptych.layout import rank, text
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.scalars import Float32, Float64, Numeric
from triptych.metastage.tracing import place
from triptych.support.warps import WARP


def gemm(atom: MmaAtom | TiledMma | ThrMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """D = A * B + C for fragments (V), for A (V, M) and B (V, N), or for A (V, M, K) and B (V, N, K)."""
    tiled = atom.tiled_mma if isinstance(atom, ThrMma) else atom
    used = tiled.atom if isinstance(tiled, TiledMma) else tiled
    if not isinstance(used, MmaAtom):
        raise OperandTypeError(
            "this is no matrix atom",
            span=place(),
            found=repr(atom),
            expected="what make_mma_atom or make_tiled_mma has made",
        )
    product = checked_product(used, d, a, b, c)
    if isinstance(used.op, WarpMmaOp):
        threads = tiled.size if isinstance(tiled, TiledMma) else WARP
        _require_threads(used, threads)
        _multiply_by_warps(used.op, product)
    else:
        _multiply_numbers(used.op.abacc_dtype, product)


def mma_atom_call(atom: MmaAtom | TiledMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """D = A * B + C for one atom: fragments of rank 1."""
    for name, tensor in (("D", d), ("A", a), ("B", b), ("C", c)):
        if rank(tensor.layout) != 1:
            raise misfit(f"{name} has more than the values of one atom", f"{name} {text(tensor.layout.shape)}", "(V)")
    gemm(atom, d, a, b, c)


# warp instructions ------------------------------------------------------------------------------------------------
def _multiply_by_warps(op: WarpMmaOp, product: Product) -> None:
    trace = tracing()
    builder = trace.builder
    operands = [product.d, product.a, product.b, product.c]
    arrays = [array_of(operand.tensor, operand.name) for operand in operands]
    attributes = {"instruction": builder.string(op.instruction.name), "tiles": _integers(product.tiles)}
    for operand, (_, start) in zip(operands, arrays, strict=True):
        offsets = register_offsets(operand.tensor, start, operand.modes, operand.name, operand.extents)
        attributes[operand.name.lower()] = _integers(offsets)
    trace.operation(MMA, [array for array, _ in arrays], attributes=attributes)


def _integers(values: Any) -> Any:
    return tracing().builder.attribute(f"array<i64: {', '.join(map(str, values))}>")


def _require_threads(atom: MmaAtom, needed: int) -> None:
    """A block must have the threads of all atoms, and warps that are whole."""
    kernel = tracing().kernel
    if kernel is None:
        raise DeviceOnlyError(
            "a matrix instruction exists only inside a kernel",
            span=place(),
            found=f"a product by {atom} in host code",
            expected="a call in a `@kernel` function, or in one that it calls",
        )
    if not all(isinstance(extent, int) for extent in kernel.block):
        return
    threads = math.prod(kernel.block)
    if threads < needed or threads % WARP:
        raise MatrixTilingError(
            "the block has too few threads" if threads < needed else "the last warp of the block is not whole",
            span=place(),
            found=f"a block of {threads} threads for a product by {needed}",
            expected=f"a multiple of {WARP} threads, {needed} or more",
        )


# numbers ----------------------------------------------------------------------------------------------------------
def _multiply_numbers(dtype: type[Numeric], product: Product) -> None:
    """k is outermost; each sum is read once and written once."""
    rows, columns, depth = product.tiles
    where = [(m, n) for n in range(columns) for m in range(rows)]
    sums = {(m, n): _read(product.c, m, n) for m, n in where}
    for k in range(depth):
        a = [_read(product.a, m, k) for m in range(rows)]
        b = [_read(product.b, n, k) for n in range(columns)]
        for m, n in where:
            sums[m, n] = _multiply_add(dtype, a[m], b[n], sums[m, n])
    for (m, n), value in sums.items():
        write(product.d.tensor.pointer, product.d.offset(m, n), value.ir_value(), product.d.tensor)


def _read(operand: Operand, first: int, second: int) -> Numeric:
    value = read(operand.tensor.pointer, operand.offset(first, second), operand.tensor)
    return operand.dtype.of(value, tracing().region)


def _multiply_add(dtype: type[Numeric], a: Any, b: Any, c: Any) -> Any:
    if dtype not in (Float32, Float64):
        return (a * b + c).to(dtype)
    trace = tracing()
    value = trace.value("math.fma", (a.ir_value(), b.ir_value(), c.ir_value()), dtype.info.mlir)
    return dtype.of(value, trace.region)
