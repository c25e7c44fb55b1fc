"""Modules of MLIR text that launch kernels, as they are when the kernel has become a function that runs blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.unit.targets.build import CPU, traced
from triptych.objectstage.codegen import codegen, load
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions

_FROM_HERE = [spec.name for spec in CPU.pipeline()].index("lower-launch")
FROM_BLOCKS = replace(CPU, pipeline=lambda: CPU.pipeline()[_FROM_HERE:])
"""The CPU target from where kernels are functions that run blocks."""

DESCRIPTION = ", ".join(f"%{name}: i32" for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared"))

PARAMETERS = {"address": "Int64", "n": "Int32", "grid": "Int32", "block": "Int32"}
"""Of the host function: an array of i32, a number for the kernel, and the sizes."""


def module(blocks: str, host: str, declarations: str = "", parameters: str = "%a: !llvm.ptr<1>, %n: i32") -> str:
    """A module with the kernel `k`, `blocks` being the body of `k.blocks`, and `host` that of the host function `f`."""
    return f"""
module attributes {{gpu.container_module}} {{
  {declarations}
  gpu.module @kernels {{ gpu.func @k({parameters}) kernel {{ gpu.return }} }}
  func.func private @triptych.poll()
  func.func private @k.blocks({parameters}, {DESCRIPTION}, %begin: i64, %end: i64) {{
    {blocks}
    return
  }}
  func.func @f{host}
}}"""


def each_block(body: str) -> str:
    """A loop over the blocks. In `body`, `%b` and `%i` are the block's number, i64 and i32, `%p` its place in `%a`."""
    return f"""
    %step = arith.constant 1 : i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %where = llvm.alloca %step x !llvm.array<4 x i32> {{triptych.fault}} : (i64) -> !llvm.ptr
    scf.for %b = %begin to %end step %step : i64 {{
      %i = arith.trunci %b : i64 to i32
      %p = llvm.getelementptr inbounds %a[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      {body}
    }}"""


COUNT = """
      %counted = llvm.load %p : !llvm.ptr<1> -> i32
      %recounted = arith.addi %counted, %one : i32
      llvm.store %recounted, %p : i32, !llvm.ptr<1>
"""
"""Adds one to the block's place in the array."""

HOST = """(%address: i64, %n: i32, %grid: i32, %block: i32) {
    %one = arith.constant 1 : i32
    %a = llvm.inttoptr %address : i64 to !llvm.ptr<1>
    gpu.launch_func @kernels::@k blocks in (%grid, %one, %one) threads in (%block, %one, %one) : i32
      args(%a : !llvm.ptr<1>, %n : i32)
    return
  }"""


def fail_when(condition: str, thread: int = 0) -> str:
    """A check of thread `thread` that fails where `%bad`, which `condition` defines, is true."""
    return f"""
      {condition}
      %true = arith.constant true
      %good = arith.xori %bad, %true : i1
      scf.if %bad {{
        %thread = arith.constant {thread} : i32
        %where1 = llvm.getelementptr %where[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i32>
        %where2 = llvm.getelementptr %where[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i32>
        %where3 = llvm.getelementptr %where[0, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i32>
        llvm.store %i, %where : i32, !llvm.ptr
        llvm.store %zero, %where1 : i32, !llvm.ptr
        llvm.store %zero, %where2 : i32, !llvm.ptr
        llvm.store %thread, %where3 : i32, !llvm.ptr
      }}
      cf.assert %good, "the block is refused" {{triptych.error = "IndexOutOfRangeError"}}
"""


ENDLESS = """
      %forever = arith.constant true
      scf.while : () -> () {
        scf.condition(%forever)
      } do {
        func.call @triptych.poll() : () -> ()
        scf.yield
      }
"""


def function(
    text: str, parameters: Mapping[str, str], results: tuple[str, ...] = (), opt_level: int = 3
) -> Callable[..., Any]:
    """The compiled host function of a module."""
    made = lower(traced(text, parameters, results, loops=True), FROM_BLOCKS)
    return load(codegen(made, FROM_BLOCKS, CompileOptions(opt_level)), FROM_BLOCKS).call


def launcher(body: str, declarations: str = "") -> Callable[..., Any]:
    """The compiled host function `f(address, n, grid, block)` for a kernel of that body."""
    return function(module(each_block(body), HOST, declarations), PARAMETERS)
