"""Kernels of asynchronous operations written as MLIR, compiled for one architecture."""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.modules import SerializedModule
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Compiled, Traced

SHARED = "llvm.mlir.global external @s() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>"
NAMES = """
%s = llvm.mlir.addressof @s : !llvm.ptr<3>
%n = "simt.clock"() : () -> i32
%one = arith.constant 1 : i32
%l = arith.extsi %n : i32 to i64
%map = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
"""
"""What bodies may use: shared memory, an unknown number of 32 and 64 bits, one, the kernel's argument as a map."""


def compiled(body: str, architecture: str = "sm_90a", attributes: str = "") -> Compiled:
    """A kernel of 128 threads and one pointer."""
    size = "known_block_size = array<i32: 128, 1, 1>"
    text = (
        f"module attributes {{gpu.container_module}} {{ gpu.module @kernels {{ {SHARED} "
        f"gpu.func @k(%p: !llvm.ptr<1>) kernel attributes {{{size}{attributes}}} {{ {NAMES} {body} gpu.return }} }} "
        "func.func @k() { return } }"
    )
    for dialect in KERNEL_DIALECTS:
        dialect.load(context())
    traced = Traced("k", SerializedModule(bindings.mlir().Module.parse(text, context=context())), (), ())
    target = find_target(f"nvptx:{architecture}")
    return target.codegen(lower(traced, target), CompileOptions())
