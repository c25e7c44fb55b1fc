"""`lower-simt` of the AMD target: operations of warps become intrinsics of waves (`wave_code`, `lower_simt`)."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.amdgpu.description.chips import CHIPS
from triptych.targets.amdgpu.passes.lower_simt import lowering


def becomes(body: str, arguments: str, expected: str, chip: str = "gfx942") -> None:
    lanes = CHIPS[chip].lanes
    device = f"gpu.module @kernels attributes {{triptych.device = {{lanes = {lanes} : i64, threads = 1024 : i64}}}}"
    checked(kernel(body, arguments).replace("gpu.module @kernels", device), lowering(CHIPS[chip]), expected)


@pytest.mark.parametrize(("chip", "bits"), [("gfx942", 64), ("gfx1100", 32)])
def test_all_agree_if_none_denies(chip: str, bits: int) -> None:
    """Lanes that are not there deny nothing."""
    becomes(
        f'%m = arith.constant -1 : i{bits}\n%r = "simt.vote"(%m, %c) {{kind = "all"}} : (i{bits}, i1) -> i1',
        "%c: i1",
        f"""
        # CHECK: arith.xori %arg0, {{{{%.*?}}}} : i1
        # CHECK: llvm.call_intrinsic "llvm.amdgcn.ballot.i{bits}"({{{{%.*?}}}}) : (i1) -> i{bits}
        # CHECK: arith.cmpi eq, {{{{%.*?}}}}, {{{{%.*?}}}} : i{bits}
        """,
        chip,
    )


def test_only_members_are_asked() -> None:
    becomes(
        '%r = "simt.vote"(%m, %c) {kind = "any"} : (i64, i1) -> i1',
        "%m: i64, %c: i1",
        """
        # CHECK: llvm.call_intrinsic "llvm.amdgcn.ballot.i64"(%arg1)
        # CHECK: arith.andi {{%.*?}}, %arg0 : i64
        # CHECK: arith.cmpi ne, {{%.*?}}, {{%.*?}} : i64
        """,
    )


def test_a_shuffle_of_a_known_distance_is_part_of_arithmetic() -> None:
    becomes(
        """
        %m = arith.constant -1 : i64
        %o = arith.constant 2 : i32
        %b = arith.constant 63 : i32
        %r = "simt.shuffle"(%m, %x, %o, %b) {kind = "bfly"} : (i64, f32, i32, i32) -> f32
        """,
        "%x: f32",
        """
        # CHECK: arith.bitcast %arg0 : f32 to i32
        # CHECK: arith.constant 78 : i32
        # CHECK: llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"({{%.*?}}, {{%.*?}}, {{%.*?}}
        # CHECK: arith.bitcast {{%.*?}} : i32 to f32
        """,
    )


def test_members_of_a_sum_that_differ_take_turns() -> None:
    """The sum stands where the loop decides, and each lane reads it from itself, so that LLVM leaves it there."""
    becomes(
        '%r = "simt.reduce"(%x, %m) {kind = "add"} : (i32, i64) -> i32',
        "%x: i32, %m: i64",
        """
        # CHECK: scf.while
        # CHECK: llvm.amdgcn.readfirstlane.i32
        # CHECK: arith.cmpi eq, %arg1
        # CHECK: arith.select {{%.*?}}, %arg0
        # CHECK: "llvm.amdgcn.set.inactive.i32"({{%.*?}}
        # CHECK: llvm.call_intrinsic "llvm.amdgcn.strict.wwm.i32"
        # CHECK: "llvm.amdgcn.update.dpp.i32"
        # CHECK: scf.condition({{%.*?}}) {{%.*?}}
        """,
    )


def test_a_wave_waits_for_its_memory() -> None:
    becomes(
        '%m = arith.constant -1 : i64\n"simt.sync_warp"(%m) : (i64) -> ()',
        "",
        """
        # CHECK: llvm.fence syncscope("wavefront") acq_rel
        # CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.wave.barrier"()
        # CHECK-NEXT: llvm.fence syncscope("wavefront") acq_rel
        """,
    )


def test_two_warps_of_a_wave_have_their_own_masks() -> None:
    """Kernels without a word about the device have warps of 32."""
    body = '%m = arith.constant -1 : i32\n%r = "simt.vote"(%m, %c) {kind = "ballot"} : (i32, i1) -> i32'
    checked(
        kernel(body, "%c: i1"),
        lowering(CHIPS["gfx942"]),
        """
        # CHECK: llvm.call_intrinsic "llvm.amdgcn.ballot.i64"(%arg0)
        # CHECK: arith.trunci {{%.*?}} : i64 to i32
        # CHECK: arith.shrui
        # CHECK: arith.cmpi uge
        # CHECK: arith.select {{%.*?}}, {{%.*?}}, {{%.*?}} : i32
        """,
    )
