"""WGMMA emission: one operation stands for all instructions of a call; fences, groups and waits order them."""

from __future__ import annotations

from typing import Any

from triptych.cute.mma.atoms import MmaOperands, MmaOperation, Operand, misfit, threads_of_block
from triptych.cute.nvgpu.shared_operands import slices
from triptych.cute.tensors.register_arrays import array_of, register_offsets
from triptych.cute.tracing.device import device_function, device_trace, tracing
from triptych.cute.tracing.errors import MatrixTilingError
from triptych.kernel_ir.dialects.tile import WGMMA, WGMMA_COMMIT, WGMMA_FENCE, WGMMA_WAIT
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, materialize


def emit_group_mma(instruction: str, product: MmaOperands) -> None:
    """One `tile.wgmma` for all instructions of a product."""
    trace = tracing()
    builder = trace.builder
    d, d_places = _registers(product.d)
    c, c_places = _registers(product.c)
    if d is not c and (d != c or d_places != c_places):
        raise misfit(
            "D is not C: WGMMA accumulates in place",
            f"D {product.d.tensor} and C {product.c.tensor}",
            "the same tensor twice",
            "cute.gemm(tiled_mma, sums, a, b, sums)",
        )
    attributes = {
        "instruction": builder.string(instruction),
        "tiles": builder.integers(product.tiles),
        "d": builder.integers(d_places),
    }
    operands = [d]
    for operand in (product.a, product.b):
        value, places, lies = _factor(operand)
        name = operand.name.lower()
        attributes[name], attributes[f"{name}_operand"] = builder.integers(places), builder.integers(lies)
        operands.append(value)
    accumulate = materialize(product.accumulate, Boolean.info, trace)
    trace.operation(WGMMA, [*operands, accumulate], attributes=attributes)


def _registers(operand: Operand) -> tuple[Any, list[int]]:
    array, start = array_of(operand.tensor, operand.name)
    return array, register_offsets(operand.tensor, start, operand.modes, operand.name, operand.extents)


def _factor(operand: Operand) -> tuple[Any, list[int], list[int]]:
    """The array or the pointer, where the registers or slices are in it, and how a slice lies in shared memory."""
    return (*_registers(operand), []) if operand.tensor.pointer.operand is None else slices(operand)


def require_warpgroups(op: MmaOperation, needed: int) -> None:
    """A block must have the threads of all atoms."""
    threads = threads_of_block(op)
    if threads is not None and threads < needed:
        raise MatrixTilingError(
            "the block has too few threads",
            span=place(),
            found=f"a block of {threads} threads for a product by {needed}",
            expected=f"{needed} threads or more: whole warpgroups of 128",
        )


_MOST = 7
"""Groups that may be left open."""


@device_function
def fence() -> None:
    """Registers that were written before this are what products after it read and add to."""
    device_trace().operation(WGMMA_FENCE)


@device_function
def commit_group() -> None:
    """Close the group of all products since the last one."""
    device_trace().operation(WGMMA_COMMIT)


@device_function
def wait_group(group: int) -> None:
    """Wait until at most `group` of the latest groups are unfinished."""
    if type(group) is not int or not 0 <= group <= _MOST:
        raise OperandTypeError(
            "how many groups may be unfinished is part of the instruction",
            span=place(),
            found=f"wait_group({group})",
            expected=f"a number from 0 to {_MOST} that is known while tracing",
        )
    trace = device_trace()
    trace.operation(WGMMA_WAIT, attributes={"groups": trace.builder.integer("i64", group)})
