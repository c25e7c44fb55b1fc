"""Golden IR of kernels: the CHECK lines of each host function say what its launch becomes."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import pytest

import triptych as tt
from tests.ir.filecheck import check, directives
from tests.ir.traced import traced_ir
from triptych import cute


class Pair(NamedTuple):
    count: Any
    scale: Any


@tt.kernel
def scaled(n: tt.Int32, pair: Any, items: Any, name: Any, flavour: tt.Constexpr[Any]) -> None:
    x, _, _ = cute.arch.thread_idx()
    if x < n:
        tt.printf("%s %d %f", name, x + pair.count + items[1] + flavour, pair.scale)


@tt.jit
def arguments(n: tt.Int32, f: tt.Float32) -> None:
    # CHECK: module attributes {gpu.container_module}
    # CHECK: gpu.module @kernels {
    # CHECK-NEXT: gpu.func @scaled(%arg0: i32, %arg1: i64, %arg2: f32, %arg3: i32) kernel attributes {
    # CHECK: gpu.thread_id x
    # CHECK-NEXT: arith.index_cast %{{.*}} : index to i32
    # CHECK: scf.if
    # CHECK: arith.constant 7 : i64
    # CHECK: gpu.printf "name %lld %f"
    # CHECK: gpu.return
    # CHECK: func.func @arguments(%arg0: i32, %arg1: f32)
    # CHECK: gpu.launch_func @kernels::@scaled
    # CHECK: return
    scaled(n, Pair(tt.Int64(3), f), [n, 7], "name", flavour=2).launch(grid=1, block=32)


@tt.jit
def static_shape() -> None:
    # CHECK: gpu.func @nothing() kernel attributes
    # CHECK: known_block_size = array<i32: 128, 2, 1>
    # CHECK: known_grid_size = array<i32: 7, 1, 1>
    # CHECK: %c0_i32 = arith.constant 0 : i32
    # CHECK-NEXT: dynamic_shared_memory_size %c0_i32
    nothing().launch(grid=7, block=(128, 2))


@tt.jit
def dynamic_shape(n: tt.Int64, threads: tt.Uint8) -> None:
    # CHECK: gpu.func @nothing() kernel {
    # CHECK: func.func @dynamic_shape
    # CHECK: cf.assert %{{.*}}grid's x{{.*}}0 to 2147483647
    # CHECK: cf.assert %{{.*}}grid's x{{.*}}LaunchShapeError
    # CHECK: arith.trunci %arg0 : i64 to i32
    # CHECK: cf.assert %{{.*}}block's y{{.*}}1 to 1024
    # CHECK-NOT: block's y
    # CHECK: cf.assert %{{.*}}too many threads
    # CHECK: gpu.launch_func
    nothing().launch(grid=(n, 1, 1), block=(32, threads, 1))


@tt.jit
def one_function_for_each_launch(n: tt.Int32) -> None:
    # CHECK: gpu.func @nothing()
    # CHECK: gpu.func @nothing_1()
    # CHECK: func.func @one_function_for_each_launch
    # CHECK: scf.for
    # CHECK: scf.if
    # CHECK: gpu.launch_func @kernels::@nothing blocks
    # CHECK: gpu.launch_func @kernels::@nothing_1 blocks
    for i in range(n):
        if i > 3:
            nothing().launch(grid=i, block=1)
    nothing().launch(grid=n, block=1)


@tt.jit
def shared_memory() -> None:
    # CHECK: gpu.module @kernels {
    # CHECK-NEXT: llvm.mlir.global external @__smem() {addr_space = 3 : i32, alignment = 1024 : i64}
    # CHECK-NOT: llvm.mlir.global
    # CHECK: gpu.func @staged
    # CHECK: llvm.mlir.addressof @__smem : !llvm.ptr<3>
    # CHECK: llvm.mlir.addressof @__smem : !llvm.ptr<3>
    # CHECK-NEXT: llvm.getelementptr %{{.*}}[128]
    # CHECK: func.func
    # CHECK: dynamic_shared_memory_size %c384_i32
    staged().launch(grid=1, block=1)


@tt.kernel
def nothing() -> None:
    pass


@tt.kernel
def staged() -> None:
    allocator = cute.SmemAllocator()
    allocator.allocate(100)
    allocator.allocate_array(tt.Float32, 64, byte_alignment=128)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (arguments, (3, 2.0)),
        (static_shape, ()),
        (dynamic_shape, (3, 4)),
        (one_function_for_each_launch, (3,)),
        (shared_memory, ()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_golden(function: Any, args: tuple[Any, ...]) -> None:
    check(traced_ir(function, *args), directives(inspect.getsource(function.function)))


def test_host_without_a_launch_has_no_device_module() -> None:
    @tt.jit
    def host(n: tt.Int32) -> Any:
        return n

    assert "gpu." not in traced_ir(host, 3)
