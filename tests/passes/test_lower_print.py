"""`lower-print`: every `gpu.printf` calls a function of its own that formats and hands the text to Python."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, parsed
from triptych.ir.errors import LoweringError
from triptych.targets.cpu.passes.lower_print import lower_print


def host(*prints: str, arguments: str = "%i: i32, %l: i64, %d: f64") -> str:
    return f"func.func @f({arguments}) {{ {' '.join(prints)} return }}"


KERNEL = """
func.func @k.blocks(%i: i32, %launch: !llvm.ptr) attributes {triptych.kernel} {
  gpu.printf "%d\\n", %i : i32
  return
}
"""


def test_a_print_of_the_host_may_end_it() -> None:
    checked(
        host('gpu.printf "%d %lld %g\\n", %i, %l, %d : i32, i64, f64'),
        lower_print,
        """
        # CHECK: llvm.call @triptych.print0(%arg0, %arg1, %arg2) : (i32, i64, f64) -> i32
        # CHECK: arith.constant 0 : i32
        # CHECK: arith.cmpi eq
        # CHECK: cf.assert {{.*}} {triptych.error = "stopping"}
        # CHECK-NOT: gpu.printf
        # CHECK: llvm.mlir.global internal constant @triptych.print0.format("%d %lld %g\\0A\\00")
        # CHECK: llvm.func internal @triptych.print0(%arg0: i32, %arg1: i64, %arg2: f64) -> i32
        # CHECK: passthrough = ["noinline", "cold"]
        """,
    )


def test_a_print_of_a_kernel_tells_the_launch() -> None:
    checked(
        KERNEL,
        lower_print,
        """
        # CHECK: llvm.call @triptych.print0(%arg1, %arg0) : (!llvm.ptr, i32) -> i32
        # CHECK-NEXT: return
        # CHECK: llvm.func internal @triptych.print0(%arg0: !llvm.ptr, %arg1: i32) -> i32
        # CHECK: llvm.call @triptych_kernel_write(%arg0,
        # CHECK: llvm.call @triptych_kernel_write(%arg0,
        """,
    )


def test_a_text_longer_than_the_buffer_gets_memory() -> None:
    checked(
        host('gpu.printf "%d\\n", %i : i32'),
        lower_print,
        """
        # CHECK: llvm.func internal @triptych.print0
        # CHECK: %1 = llvm.mlir.constant(1 : i64)
        # CHECK: %2 = llvm.mlir.constant(4096 : i64)
        # CHECK: %3 = llvm.alloca %2 x i8
        # CHECK: %4 = llvm.call @snprintf(%3, %2, %0, %arg0) vararg
        # CHECK: %5 = llvm.sext %4 : i32 to i64
        # CHECK: %6 = llvm.icmp "slt" %5, %2
        # CHECK: llvm.cond_br %6, ^bb1, ^bb2
        # CHECK: ^bb1:
        # CHECK: %7 = llvm.call @triptych.write(%3, %5)
        # CHECK: llvm.return %7
        # CHECK: ^bb2:
        # CHECK: %8 = llvm.add %5, %1
        # CHECK: %9 = llvm.call @malloc(%8)
        # CHECK: llvm.call @snprintf(%9, %8, %0, %arg0) vararg
        # CHECK: %11 = llvm.call @triptych.write(%9, %5)
        # CHECK: llvm.call @free(%9)
        # CHECK: llvm.return %11
        """,
    )


def test_each_print_has_its_own_function() -> None:
    checked(
        host('gpu.printf "a\\n"', 'gpu.printf "b\\n"') + KERNEL,
        lower_print,
        """
        # CHECK: llvm.call @triptych.print0() : () -> i32
        # CHECK: llvm.call @triptych.print1() : () -> i32
        # CHECK: llvm.call @triptych.print2(%arg1, %arg0)
        # CHECK: @triptych.print0.format("a\\0A\\00")
        # CHECK: @triptych.print1.format("b\\0A\\00")
        """,
    )


def test_a_program_that_prints_nothing_gets_nothing() -> None:
    checked(host(), lower_print, "# CHECK: func.func @f\n# CHECK-NOT: llvm.func")


@pytest.mark.parametrize("kind", ["i32", "i64", "f64"])
def test_types_that_c_takes(kind: str) -> None:
    program = f'func.func @f(%x: {kind}) {{ gpu.printf "%d\\n", %x : {kind} return }}'
    checked(program, lower_print, f"# CHECK: llvm.call @triptych.print0(%arg0) : ({kind}) -> i32")


@pytest.mark.parametrize("kind", ["f32", "i8", "i16", "i1"])
def test_types_that_c_would_promote(kind: str) -> None:
    module = parsed(f'func.func @f(%x: {kind}) {{ gpu.printf "%d\\n", %x : {kind} return }}')
    with pytest.raises(LoweringError, match="a type that C formats do not take") as error:
        lower_print(module)
    assert f"found: {kind}" in str(error.value)
    assert "expected: one of i32, i64, f64, !llvm.ptr" in str(error.value)
