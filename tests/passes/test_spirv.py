"""Passes of the SPIR-V target, each on a small kernel: the same words as OpenCL's, and nothing that it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked, kernel, parsed
from triptych.objectstage.device_errors import ArchitectureError
from triptych.targets.spirv.passes.call_math import CALLED, call_math
from triptych.targets.spirv.passes.check_kernels import check_kernels, check_launches, check_progress
from triptych.targets.spirv.passes.expand_tile import expand_tile
from triptych.targets.spirv.passes.lower_checks import lower_checks, take_checks
from triptych.targets.spirv.passes.lower_simt import lower_simt
from triptych.targets.spirv.passes.lower_threads import lower_threads
from triptych.targets.spirv.passes.narrow_floats import expand_narrow_floats
from triptych.targets.spirv.passes.saturating_conversions import expand_saturating_conversions
from triptych.targets.spirv.passes.split_accesses import split_accesses
from triptych.targets.spirv.passes.word_atomics import word_atomics

NUMBER = "%p: !llvm.ptr<1>, %x: i32"


def stored(operation: str, kind: str) -> str:
    return f"%r = {operation}\nllvm.store %r, %p : {kind}, !llvm.ptr<1>"


def test_a_shuffle_reads_a_lane_that_is_computed() -> None:
    """`lower-simt`, by `warp`"""
    body = """
      %all = arith.constant -1 : i32
      %by = arith.constant 1 : i32
      %clamp = arith.constant 31 : i32
      %r = "simt.shuffle"(%all, %x, %by, %clamp) {kind = "bfly"} : (i32, i32, i32, i32) -> i32
      llvm.store %r, %p : i32, !llvm.ptr<1>
    """
    expected = """
    # CHECK-NOT: simt.
    # CHECK: llvm.call spir_funccc @_Z12get_local_idj
    # CHECK: llvm.call spir_funccc @_Z17sub_group_shuffleij(%arg1
    """
    checked(kernel(body, NUMBER), lower_simt, expected)


@pytest.mark.parametrize("kind", ["any", "all", "uni"])
def test_votes_are_ballots(kind: str) -> None:
    body = f"""
      %all = arith.constant -1 : i32
      %zero = arith.constant 0 : i32
      %above = arith.cmpi sgt, %x, %zero : i32
      %v = "simt.vote"(%all, %above) {{kind = "{kind}"}} : (i32, i1) -> i1
      %r = arith.extui %v : i1 to i32
      llvm.store %r, %p : i32, !llvm.ptr<1>
    """
    checked(kernel(body, NUMBER), lower_simt, "# CHECK-NOT: simt.\n# CHECK: @_Z16sub_group_balloti(")


def test_blocks_are_rows_and_kernels_have_four_parameters_more() -> None:
    """`lower-threads`, `name-sub-groups`"""
    body = """
      %y = gpu.thread_id y
      %i = arith.index_cast %y : index to i32
      llvm.store %i, %p : i32, !llvm.ptr<1>
    """
    expected = """
    # CHECK: gpu.func @k({{.*}}, %arg2: i32, %arg3: i32, %arg4: !llvm.ptr<1>, %arg5: !llvm.ptr<3>)
    # CHECK: call spir_funccc @_Z12get_local_idj
    # CHECK: arith.divui {{.*}}, %arg2
    # CHECK: arith.remui {{.*}}, %arg3
    # CHECK-NOT: gpu.thread_id
    """
    checked(kernel(body, NUMBER), lower_threads, expected)
    known = "attributes {known_block_size = array<i32: 8, 4, 1>}"
    checked(kernel(body, NUMBER, known), lower_threads, "# CHECK: known_block_size = array<i32: 32, 1, 1>")


def test_a_check_that_fails_leaves_its_number() -> None:
    """`lower-checks`"""
    hidden = ", %columns: i32, %rows: i32, %failed: !llvm.ptr<1>, %shared: !llvm.ptr<3>"
    body = """
      %zero = arith.constant 0 : i32
      %fine = arith.cmpi ne, %x, %zero : i32
      cf.assert %fine, "x is zero"
    """
    expected = """
    # CHECK: llvm.mlir.global internal constant @triptych.check1
    # CHECK: cf.cond_br {{.*}}, ^bb1, ^bb2
    # CHECK: ^bb2:
    # CHECK: llvm.store {{.*}}, %arg4
    # CHECK: gpu.return
    """
    checked(kernel(body, NUMBER + hidden), lower_checks, expected)


def test_texts_of_checks_are_taken_out_of_llvm() -> None:
    constant = r'@triptych.check7 = internal constant [12 x i8] c"E\0Aa \E2\86\92 b\00", align 1'
    left, texts = take_checks(f"; module\n{constant}\ndefine void @k()\n")
    assert (left, texts) == ("; module\ndefine void @k()\n", {"7": "E\na → b"})


@pytest.mark.parametrize("name", sorted(CALLED))
def test_functions_of_doubles_are_called(name: str) -> None:
    """`call-math`"""
    count = {"math.atan2": 2, "math.powf": 2, "math.copysign": 2, "math.fma": 3}.get(name, 1)
    body = stored(f"{name} {', '.join(['%x'] * count)} : f64", "f64")
    text = kernel(body, "%p: !llvm.ptr<1>, %x: f64")
    checked(text, call_math, f"# CHECK-NOT: {name} \n# CHECK: llvm.call spir_funccc @_Z{{{{.*}}}}{'d' * count}(")


@pytest.mark.parametrize(("count", "loads"), [(7, 7), (3, 3), (4, 1), (16, 1), (5, 5)])
def test_vectors_of_other_lengths_are_moved_number_by_number(count: int, loads: int) -> None:
    """`split-accesses`"""
    vector = f"vector<{count}xi32>"
    body = f"%v = llvm.load %p {{alignment = 4 : i64}} : !llvm.ptr<1> -> {vector}\n"
    body += f"llvm.store %v, %p {{alignment = 4 : i64}} : {vector}, !llvm.ptr<1>"
    each = "# CHECK: llvm.load\n" * loads + "# CHECK-NOT: llvm.load\n" + "# CHECK: llvm.store\n" * loads
    checked(kernel(body, "%p: !llvm.ptr<1>"), split_accesses, each)


@pytest.mark.parametrize(("update", "kind"), [("fadd", "f64"), ("fmax", "f32"), ("fadd", "f16")])
def test_updates_of_other_types_compare_and_swap(update: str, kind: str) -> None:
    """`word-atomics`"""
    body = f'%r = llvm.atomicrmw {update} %p, %x syncscope("device") acq_rel : !llvm.ptr<1>, {kind}'
    expected = '# CHECK: scf.while\n# CHECK: llvm.cmpxchg {{.*}} syncscope("device") acq_rel monotonic'
    checked(kernel(body, f"%p: !llvm.ptr<1>, %x: {kind}"), word_atomics, expected)


def test_updates_that_opencl_has_stay() -> None:
    body = '%r = llvm.atomicrmw add %p, %x syncscope("device") monotonic : !llvm.ptr<1>, i32'
    checked(kernel(body, NUMBER), word_atomics, "# CHECK: llvm.atomicrmw add")


def test_saturating_conversions_are_comparisons() -> None:
    """`expand-saturating-conversions`"""
    body = stored('llvm.call_intrinsic "llvm.fptosi.sat.i64.f32"(%x) : (f32) -> i64', "i64")
    expected = (
        "# CHECK-NOT: sat\n# CHECK: arith.fptosi\n# CHECK: arith.select\n# CHECK: arith.select\n# CHECK: arith.select"
    )
    checked(kernel(body, "%p: !llvm.ptr<1>, %x: f32"), expand_saturating_conversions, expected)


def test_brain_floats_are_computed_in_32_bits() -> None:
    """`expand-narrow-floats`"""
    body = stored("arith.addf %x, %x : bf16", "bf16")
    checked(kernel(body, "%p: !llvm.ptr<1>, %x: bf16"), expand_narrow_floats, "# CHECK: arith.addf {{.*}} : f32")
    half = stored("arith.addf %x, %x : f16", "f16")
    checked(kernel(half, "%p: !llvm.ptr<1>, %x: f16"), expand_narrow_floats, "# CHECK: arith.addf {{.*}} : f16")


def test_a_matrix_is_loaded_from_rows_of_other_lanes() -> None:
    """`expand-tile`"""
    body = """
      %r = "tile.load_matrix"(%s) {instruction = "ldmatrix.m8n8.x1.b16"} : (!llvm.ptr<3>) -> i32
      llvm.store %r, %p : i32, !llvm.ptr<1>
    """
    expected = """
    # CHECK-NOT: tile.
    # CHECK: @_Z17sub_group_shufflelj
    # CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> i16
    # CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> i16
    """
    checked(kernel(body, "%p: !llvm.ptr<1>, %s: !llvm.ptr<3>"), expand_tile, expected)


def check_all(module: Any) -> None:
    check_launches(module)
    check_kernels(module)
    check_progress(module)


def refused(body: str, match: str, arguments: str = NUMBER) -> None:
    """`check-kernels`, `check-launches`, `check-progress`"""
    module = parsed(kernel(body, arguments))
    with module.context, pytest.raises(ArchitectureError, match="OpenCL cannot do this") as raised:
        check_all(module)
    assert match in f"{raised.value.found} {raised.value.expected}"


def test_what_is_refused() -> None:
    refused('%r = llvm.inline_asm "mov.u32 $0, 1;", "=r" : () -> i32', "inline PTX")
    refused('"simt.cluster_wait"() : () -> ()', "simt.cluster_wait")
    refused("%w = arith.extsi %x : i32 to i128", "64 bits")
    refused("%g = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr", "a pointer to any memory")
    refused('%n = arith.constant 3 : i32 "simt.barrier"(%n) : (i32) -> ()', "a named barrier")


def test_a_barrier_that_some_threads_do_not_come_to() -> None:
    within = """
      %i = gpu.thread_id x
      %t = arith.index_cast %i : index to i32
      %some = arith.cmpi slt, %t, %x : i32
      scf.if %some { gpu.barrier }
    """
    refused(within, "a barrier that some threads of a block may not come to")
    alike = "%z = arith.constant 0 : i32 %all = arith.cmpi slt, %z, %x : i32 scf.if %all { gpu.barrier }"
    module = parsed(kernel(alike, NUMBER))
    with module.context:
        check_progress(module)
