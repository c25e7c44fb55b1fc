"""`hoist-loop-checks`: reads of a loop (`first_iteration`), and reads a known distance apart, are told once."""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from tests.passes.running import checked, kernel
from triptych import cute
from triptych.ir.bindings import context
from triptych.ir.handles import Module
from triptych.ir.modules import kernels
from triptych.kernel_ir.dialects.check import CHECK, CHECKS_ATTRIBUTE
from triptych.sanitizer.finding_errors import RaceError, UninitialisedReadError
from triptych.sanitizer.findings import collecting
from triptych.support.config import override
from triptych.targets.cpu.sanitizer.eliminate_checks import hoist_loop_checks

ARGUMENTS = "%s: !llvm.ptr<3>, %n: i32, %p: i1, %v: f32"
FACTS = "size = 4 : i32, site = 0 : i32, lanes = 0 : i32"
READ = f'"check.access"(%at) {{kind = 1 : i32, {FACTS}}} : (!llvm.ptr<3>) -> () loc("a.py":1:1)'
WRITE = f'"check.access"(%s, %v) {{kind = 2 : i32, {FACTS}}} : (!llvm.ptr<3>, f32) -> ()'


def gathered(module: Module) -> None:
    (found,) = kernels(module)
    with module.context:
        found.attributes[CHECKS_ATTRIBUTE] = found.attributes["sym_name"]
        hoist_loop_checks(module)


def gathering(program: str, expected: str) -> None:
    CHECK.load(context())
    checked(program, gathered, expected)


def loop(body: str, high: str = "%n") -> str:
    return kernel(
        f"""
        %zero = arith.constant 0 : i32
        %two = arith.constant 2 : i32
        %eight = arith.constant 8 : i32
        %thread = gpu.thread_id x
        %mine = arith.index_cast %thread : index to i32
        scf.for %i = %zero to {high} step %two : i32 {{
          {body}
        }}
        """,
        ARGUMENTS,
    )


def place(index: str) -> str:
    return f"""
        %wide = arith.extsi {index} {{triptych.signed}} : i32 to i64
        %at = llvm.getelementptr %s[%wide] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
        """


def test_a_loop_that_reads_is_told_before_it() -> None:
    body = f"""
        %row = arith.muli %i, %eight : i32
        %index = arith.addi %row, %mine : i32
        {place("%index")}
        {READ}
        """
    expected = """
        # CHECK: arith.ceildivsi
        # CHECK: arith.maxsi
        # CHECK: llvm.getelementptr
        # CHECK: "check.access"(%{{.*}}, %{{.*}}) {{.*}}steps = array<i64: 64>
        # CHECK: scf.for
        # CHECK-NOT: check.access
        """
    gathering(loop(body), expected)


@pytest.mark.parametrize(
    ("body", "high"),
    [
        (f"{place('%i')}\n{READ}\n{WRITE}", "%n"),
        (f"{place('%i')}\n{READ}\ngpu.barrier", "%n"),
        (f"%index = arith.xori %i, %mine : i32\n{place('%index')}\n{READ}", "%n"),
        (f"%index = arith.divsi %mine, %n : i32\n{place('%index')}\n{READ}", "%n"),
        (f"{place('%i')}\nscf.if %p {{ {READ} }}", "%n"),
        (f"{place('%i')}\n{READ}", "%mine"),
    ],
    ids=["writes", "meets", "no sum", "may divide by zero", "not in every iteration", "threads count apart"],
)
def test_what_stays_in_a_loop(body: str, high: str) -> None:
    gathering(loop(body, high), "# CHECK: scf.for\n# CHECK: check.access\n# CHECK-NOT: array<i64")


def test_reads_of_a_line_a_known_distance_apart_are_one_until_somebody_writes() -> None:
    def read(offset: int) -> str:
        made = f"%at{offset} = llvm.getelementptr %s[{offset}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32"
        return f"{made}\n{READ.replace('%at', f'%at{offset}')}"

    program = kernel("\n".join([*map(read, (12, 4, 8)), read(4).splitlines()[1], WRITE, read(16)]), ARGUMENTS)
    expected = """
        # CHECK: %{{.*}} = llvm.getelementptr %arg0[4]
        # CHECK: "check.access"(%{{.*}}, %{{.*}}) {{.*}}steps = array<i64: 16>
        # CHECK-NEXT: "check.access"(%arg0, %arg3)
        # CHECK: [16]
        # CHECK-NEXT: check.access
        # CHECK-NOT: check.access
        """
    gathering(program, expected)


def test_first_iteration_of_constant_bounds_is_counted_now() -> None:
    body = f"{place('%i')}\n{READ}"
    gathering(loop(body, "%eight"), "# CHECK: arith.constant 4 : i64\n# CHECK: array<i64: 8>\n# CHECK: scf.for")


@tt.kernel
def table(out: cute.Tensor, depth: tt.Int32, barrier: tt.Constexpr[bool], written: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 64 * 4), cute.make_layout((4, 64), stride=(64, 1)))
    for row in tt.range_constexpr(written):
        kept[row, thread] = tt.Float32(row)
    if barrier:
        cute.arch.sync_threads()
    total = tt.Float32(0.0)
    for row in range(depth):
        for shift in tt.range_constexpr(2):
            total += kept[row, (thread + 31 + shift) % 64]
    out[thread] = total


@tt.jit
def sums(out: cute.Tensor, depth: tt.Int32, barrier: tt.Constexpr[bool], written: tt.Constexpr[int]) -> None:
    table(out, depth, barrier, written).launch(grid=2, block=64)


def test_gathered_reads_are_found_one_by_one() -> None:
    out = np.zeros(64, np.float32)
    with override(debug="races,init"):
        sums(out, 4, True, 4)
        assert np.all(out == 12.0)
        sums(out, 3, True, 3)
        with pytest.raises(UninitialisedReadError):
            sums(out, 4, True, 3)
        with pytest.raises(RaceError):
            sums(out, 4, False, 4)
        with collecting() as collection:
            sums(out, 3, True, 2)
    (finding,) = collection.findings
    assert {example.byte // 256 for example in finding.examples} == {2}
