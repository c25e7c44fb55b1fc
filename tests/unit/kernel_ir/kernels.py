"""Small kernels as MLIR, and what the lane analysis says of them."""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS

PROLOGUE = """
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %bx = gpu.block_id x
    %t = arith.index_cast %tx : index to i32
    %u = arith.index_cast %ty : index to i32
    %b = arith.index_cast %bx : index to i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
"""


def kernel(text: str, block: tuple[int, int, int] | None = (256, 1, 1)) -> Any:
    """A `gpu.func` with the given body over a pointer `%p` and a number `%n`, and the module that holds it."""
    known = "" if block is None else f"attributes {{known_block_size = array<i32: {', '.join(map(str, block))}>}}"
    ir = bindings.mlir()
    for dialect in KERNEL_DIALECTS:
        dialect.load(context())
    module = ir.Module.parse(
        f"gpu.module @kernels {{ gpu.func @k(%p: !llvm.ptr<1>, %n: i32) kernel {known}"
        f" {{ {PROLOGUE} {text} gpu.return }} }}",
        context=context(),
    )
    return operations_named(module, "gpu.func")[0], module


def said_last(
    text: str, block: tuple[int, int, int] | None = (256, 1, 1), width: int = 32, *, lockstep: bool = True
) -> str:
    """What the analysis says of the last value of a kernel."""
    function, _module = kernel(text, block)
    return UniformityAnalysis(function, Shape(width, block, lockstep)).report()[-1][1]
