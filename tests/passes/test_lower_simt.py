"""`lower-simt`: the operation of NVIDIA's that each one of `simt` and each copy of `tile` becomes."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.lower_simt import ROWS, lower_simt

ARGUMENTS = "%n: i32, %q: i1, %f: f32, %s: !llvm.ptr<3>, %g: !llvm.ptr<1>"
COPIED = "(!llvm.ptr<3>, !llvm.ptr<1>)"
LINES = {
    "simt.shuffle": [
        (
            f'%r = "simt.shuffle"(%n, %f, %n, %n) {{kind = "{kind}"}} : (i32, f32, i32, i32) -> f32',
            f"nvvm.shfl.sync {kind} ",
        )
        for kind in ("idx", "up", "down", "bfly")
    ],
    "simt.vote": [
        (
            f'%r = "simt.vote"(%n, %q) {{kind = "{kind}"}} : (i32, i1) -> {kind_of}',
            f"nvvm.vote.sync {kind} %arg0, %arg1 -> {kind_of}",
        )
        for kind, kind_of in (("any", "i1"), ("all", "i1"), ("uni", "i1"), ("ballot", "i32"))
    ],
    "simt.reduce": [
        (f'%r = "simt.reduce"(%n, %n) {{kind = "{kind}"}} : (i32, i32) -> i32', f"nvvm.redux.sync {kind} ")
        for kind in ("add", "umin", "xor")
    ]
    + [
        (
            '%r = "simt.reduce"(%f, %n) {kind = "fmin", abs = true, nan = true} : (f32, i32) -> f32',
            "nvvm.redux.sync fmin %arg2, %arg0 {abs = true, nan = true}",
        )
    ],
    "simt.match": [('%r = "simt.match"(%n, %n) : (i32, i32) -> i32', "nvvm.match.sync any %arg0, %arg0")],
    "simt.elect": [('%r = "simt.elect"() : () -> i1', "nvvm.elect.sync")],
    "simt.sync_warp": [('"simt.sync_warp"(%n) : (i32) -> ()', "nvvm.bar.warp.sync %arg0 : i32")],
    "simt.barrier": [
        ('"simt.barrier"(%n) : (i32) -> ()', "nvvm.barrier id = %arg0{{\\n}}"),
        ('"simt.barrier"(%n, %n) : (i32, i32) -> ()', "nvvm.barrier id = %arg0 number_of_threads = %arg0"),
    ],
    "simt.barrier_arrive": [
        ('"simt.barrier_arrive"(%n, %n) : (i32, i32) -> ()', "nvvm.barrier.arrive id = %arg0 number_of_threads = %arg0")
    ],
    "simt.async_copy": [
        (
            f'"simt.async_copy"(%s, %g) {{size = {size} : i32, cache = "{cache}"}} : {COPIED} -> ()',
            f"nvvm.cp.async.shared.global %arg3, %arg4, {size}, cache = {written} :",
        )
        for size, cache, written in ((4, "all", "ca"), (16, "global", "cg"))
    ]
    + [
        (
            '"simt.async_copy"(%s, %g, %n) {size = 16 : i32, cache = "all"} : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()',
            "nvvm.cp.async.shared.global %arg3, %arg4, 16, cache = ca, %arg0",
        )
    ],
    "simt.async_commit": [('"simt.async_commit"() : () -> ()', "nvvm.cp.async.commit.group")],
    "simt.async_wait": [('"simt.async_wait"() {groups = 3 : i32} : () -> ()', "nvvm.cp.async.wait.group 3")],
    "simt.await_previous_grid": [('"simt.await_previous_grid"() : () -> ()', "nvvm.griddepcontrol wait")],
    "simt.launch_dependents": [('"simt.launch_dependents"() : () -> ()', "nvvm.griddepcontrol launch_dependents")],
    "simt.clock": [
        ('%r = "simt.clock"() : () -> i32', "nvvm.read.ptx.sreg.clock : i32"),
        ('%r = "simt.clock"() : () -> i64', "nvvm.read.ptx.sreg.clock64 : i64"),
    ],
    "simt.global_timer": [('%r = "simt.global_timer"() : () -> i64', "nvvm.read.ptx.sreg.globaltimer : i64")],
    "simt.sleep": [('"simt.sleep"(%n) : (i32) -> ()', "nvvm.nanosleep %arg0")],
    "tile.load_matrix": [
        (
            f'%r = "tile.load_matrix"(%s) {{instruction = "{name}"}} : (!llvm.ptr<3>) -> i32',
            "nvvm.ldmatrix %arg3 {eltType = #nvvm.ld_st_matrix_elt_type<b16>,"
            f" layout = #nvvm.mma_layout<{layout}>, num = 1 : i32,"
            " shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32",
        )
        for name, layout in (("ldmatrix.m8n8.x1.b16", "row"), ("ldmatrix.m8n8.x1.trans.b16", "col"))
    ],
    "tile.store_matrix": [
        (
            '"tile.store_matrix"(%s, %n) {instruction = "stmatrix.m8n8.x1.b16"} : (!llvm.ptr<3>, i32) -> ()',
            "nvvm.stmatrix %arg3, %arg0 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>,"
            " shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}",
        )
    ],
}


def test_every_row_has_a_line() -> None:
    assert set(LINES) == set(ROWS)


@pytest.mark.parametrize(("operation", "written"), [line for lines in LINES.values() for line in lines])
def test_operations(operation: str, written: str) -> None:
    checked(kernel(operation, ARGUMENTS), lower_simt, f"# CHECK: {written}\n# CHECK-NOT: simt.\n# CHECK-NOT: tile.")


def test_several_results_come_as_a_struct() -> None:
    load = '%r, %t = "tile.load_matrix"(%s) {instruction = "ldmatrix.m8n8.x2.b16"} : (!llvm.ptr<3>) -> (i32, i32)'
    checked(
        kernel(f"{load}\n%x = arith.subi %r, %t : i32", ARGUMENTS),
        lower_simt,
        """
        # CHECK: %0 = nvvm.ldmatrix %arg3 {{.*}}num = 2 : i32{{.*}} -> !llvm.struct<(i32, i32)>
        # CHECK-NEXT: %1 = llvm.extractvalue %0[0]
        # CHECK-NEXT: %2 = llvm.extractvalue %0[1]
        # CHECK-NEXT: arith.subi %1, %2
        """,
    )


def test_values_are_replaced() -> None:
    use = '%r = "simt.match"(%n, %n) : (i32, i32) -> i32\n%x = arith.addi %r, %n : i32'
    checked(kernel(use, ARGUMENTS), lower_simt, "# CHECK: %0 = nvvm.match.sync\n# CHECK-NEXT: arith.addi %0, %arg0")


def test_matrix_products_stay() -> None:
    mma = '"tile.mma"(%p, %p, %p, %p) {instruction = "x", tiles = 0, d = 0, a = 0, b = 0, c = 0} : '
    mma += "(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()"
    checked(kernel(mma, "%p: !llvm.ptr"), lower_simt, "# CHECK: tile.mma\n# CHECK-NOT: nvvm")
