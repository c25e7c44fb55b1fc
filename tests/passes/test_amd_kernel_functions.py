"""`bound-waves`, `pass-on-bounds`, `count-blocks`, `trap-checks`, `name-roundings`, `inline-remainders`,
`use-private-memory`, `mark-atomics`: kernels as AMD's LLVM wants them.
"""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel, lowered_kernel
from triptych.targets.amdgpu.description.chips import CHIPS
from triptych.targets.amdgpu.passes.kernel_functions import (
    bounding,
    count_blocks,
    inline_remainders,
    mark_atomics,
    name_roundings,
    pass_on_bounds,
    trap_checks,
    use_private_memory,
)

KNOWN = "attributes {known_block_size = array<i32: 64, 2, 1>"


@pytest.mark.parametrize(
    ("attributes", "pairs"),
    [
        ("", '["amdgpu-flat-work-group-size", "1,1024"], ["uniform-work-group-size", "true"]'),
        (KNOWN + "}", '["amdgpu-flat-work-group-size", "128,128"], ["uniform-work-group-size", "true"]'),
        (
            "attributes {triptych.max_number_threads = 256 : i32, triptych.min_blocks_per_mp = 3 : i32}",
            '["amdgpu-flat-work-group-size", "1,256"], ["uniform-work-group-size", "true"], '
            '["amdgpu-waves-per-eu", "3"]',
        ),
        (
            KNOWN + ", triptych.min_blocks_per_mp = 64 : i32}",
            '["amdgpu-flat-work-group-size", "128,128"], ["uniform-work-group-size", "true"], '
            '["amdgpu-waves-per-eu", "8"]',
        ),
    ],
)
def test_blocks_bound_the_waves(attributes: str, pairs: str) -> None:
    found = f"# CHECK: triptych.waves = [{pairs}]\n# CHECK-NOT: triptych.m"
    checked(kernel("", attributes=attributes), bounding(CHIPS["gfx942"]), found)


def test_bounds_reach_functions_of_llvm() -> None:
    program = lowered_kernel("llvm.return", attributes=', triptych.waves = [["amdgpu-waves-per-eu", "2"]]')
    checked(program, pass_on_bounds, '# CHECK: passthrough = [["amdgpu-waves-per-eu", "2"]]\n# CHECK-NOT: triptych')


def test_the_packet_says_how_many_blocks() -> None:
    program = kernel("%n = gpu.grid_dim y", attributes="attributes {known_block_size = array<i32: 64, 2, 1>}")
    checked(
        program,
        count_blocks,
        """
        # CHECK: arith.constant 2 : i32
        # CHECK: llvm.call_intrinsic "llvm.amdgcn.dispatch.ptr"() : () -> !llvm.ptr<4>
        # CHECK: llvm.getelementptr {{%.*?}}[16] : (!llvm.ptr<4>) -> !llvm.ptr<4>, i8
        # CHECK: llvm.load {{%.*?}} invariant {alignment = 4 : i64} : !llvm.ptr<4> -> i32
        # CHECK: arith.divui {{%.*?}}, {{%.*?}} : i32
        # CHECK: arith.index_castui {{%.*?}} : i32 to index
        """,
    )


def test_the_packet_says_how_large_blocks_are() -> None:
    checked(
        kernel("%n = gpu.block_dim z"),
        count_blocks,
        """
        # CHECK: llvm.getelementptr {{%.*?}}[8] : (!llvm.ptr<4>) -> !llvm.ptr<4>, i8
        # CHECK: llvm.load {{%.*?}} invariant {alignment = 2 : i64} : !llvm.ptr<4> -> i16
        # CHECK: arith.extui {{%.*?}} : i16 to i32
        # CHECK-NOT: gpu.block_dim
        """,
    )


def test_a_failed_check_traps() -> None:
    checked(
        kernel('cf.assert %c, "wrong"', "%c: i1"),
        trap_checks,
        """
        # CHECK: arith.xori %arg0, {{%.*?}} : i1
        # CHECK: scf.if {{%.*?}} {
        # CHECK-NEXT: llvm.call_intrinsic "llvm.trap"()
        # CHECK-NOT: cf.assert
        """,
    )


def test_arrays_are_in_private_memory() -> None:
    program = lowered_kernel(
        """
        %n = llvm.mlir.constant(4 : i32) : i32
        %a = llvm.alloca %n x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr
        %v = llvm.load %a : !llvm.ptr -> f32
        llvm.store %v, %p : f32, !llvm.ptr<1>
        llvm.return
        """,
        "%p: !llvm.ptr<1>",
    )
    checked(
        program,
        use_private_memory,
        """
        # CHECK: llvm.alloca {{%.*?}} x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr<5>
        # CHECK: llvm.addrspacecast {{%.*?}} : !llvm.ptr<5> to !llvm.ptr
        # CHECK: llvm.load {{%.*?}}
        """,
    )


def test_updates_are_in_memory_of_the_gpu() -> None:
    update = "%r = llvm.atomicrmw fadd %p, %v monotonic : !llvm.ptr<1>, f32\nllvm.return"
    marks = ("rocdl.ignore_denormal_mode", "rocdl.no_fine_grained_memory", "rocdl.no_remote_memory")
    checked(
        lowered_kernel(update, "%p: !llvm.ptr<1>, %v: f32"),
        mark_atomics,
        "\n".join(f"# CHECK: {mark}" for mark in marks),
    )


def test_roundings_are_called_by_name() -> None:
    checked(
        kernel("%a = math.floor %x : f32\n%b = math.ceil %v : vector<2xf16>", "%x: f32, %v: vector<2xf16>"),
        name_roundings,
        """
        # CHECK: llvm.call_intrinsic "llvm.floor.f32"(%arg0) : (f32) -> f32
        # CHECK: llvm.call_intrinsic "llvm.ceil.v2f16"(%arg1)
        """,
    )


def test_remainders_are_left_to_llvm() -> None:
    program = lowered_kernel(
        """
        %r = llvm.call @__ocml_fmod_f32(%x, %x) : (f32, f32) -> f32
        llvm.store %r, %p : f32, !llvm.ptr<1>
        llvm.return
        """,
        "%p: !llvm.ptr<1>, %x: f32",
    ).replace("llvm.func @k", "llvm.func @__ocml_fmod_f32(f32, f32) -> f32\n    llvm.func @k")
    checked(program, inline_remainders, "# CHECK: llvm.frem %arg1, %arg1 : f32\n# CHECK-NOT: llvm.call")
