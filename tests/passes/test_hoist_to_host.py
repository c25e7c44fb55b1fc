"""`hoist-to-host`: leading checks that only arguments decide, and reciprocals of divisors, move to the host.

Finding them is the work of `host_expressions` and `patterns`.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked, kernel
from triptych.ir.modules import Signature, attach_signature
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.nvptx.passes.hoist_to_host import hoist_to_host

HOST = """
func.func @f(%p: !llvm.ptr<1>, %e: i32, %n: i32, %g: i32) {
  %one = arith.constant 1 : i32
  %threads = arith.constant 128 : i32
  gpu.launch_func @kernels::@k blocks in (%g, %one, %one) threads in (%threads, %one, %one) : i32
    args(%p : !llvm.ptr<1>, %e : i32, %n : i32)
  return
}
"""
ARGUMENTS = "%p: !llvm.ptr<1>, %e: i32, %n: i32"
"""`%e` is an extent of the tensor at `%p`."""
LINE = "attributes {known_block_size = array<i32: 128, 1, 1>}"
PARAMETERS = (
    Leaf("t", "Float32", Memory(1, 4, ("e",), ("1",), (SymbolicExtent("e", 32),))),
    Leaf("n", "Int32"),
    Leaf("g", "Int32"),
)


def run(module: Any) -> None:
    attach_signature(module, Signature("f", PARAMETERS, ()))
    hoist_to_host(module)


def is_changed(body: str, expected: str, attributes: str = LINE) -> None:
    checked(kernel(body, ARGUMENTS, attributes, host=HOST), run, expected)


CHECK = """
%zero = arith.constant 0 : i32
%holds = arith.cmpi sgt, %n, %zero : i32
cf.assert %holds, "n is positive"
"""
OF_A_THREAD = """
%tx = gpu.thread_id x
%t = arith.index_cast %tx : index to i32
%mine = arith.cmpi sgt, %t, %n : i32
cf.assert %mine, "of a thread"
"""
STORE = "llvm.store %n, %p : i32, !llvm.ptr<1>\n"


def test_a_leading_check_is_made_unless_there_are_no_blocks() -> None:
    is_changed(
        CHECK,
        """
        # CHECK: gpu.func @k
        # CHECK-NOT: cf.assert
        # CHECK: gpu.return
        # CHECK: func.func @f
        # CHECK: %0 = arith.cmpi sgt, %arg2, %c0_i32
        # CHECK: arith.constant 0 : i32
        # CHECK: %1 = arith.cmpi eq, %arg3, %c0_i32_0
        # CHECK-NEXT: %2 = arith.ori %0, %1
        # CHECK-NEXT: arith.cmpi eq, %c1_i32, %c0_i32_0
        # CHECK-NEXT: arith.ori
        # CHECK-NEXT: arith.cmpi eq, %c1_i32, %c0_i32_0
        # CHECK-NEXT: arith.ori
        # CHECK-NEXT: cf.assert {{.*}} "n is positive"
        # CHECK-NEXT: gpu.launch_func
        """,
    )


STAYS = """
# CHECK: gpu.func @k
# CHECK: cf.assert {{.*}} "n is positive"
# CHECK: func.func @f
# CHECK-NOT: cf.assert
"""


@pytest.mark.parametrize(
    "before",
    [STORE, "gpu.barrier\n", OF_A_THREAD, "scf.for %i = %e to %n step %e : i32 { }\n"],
    ids=["a store", "a barrier", "a check of a thread", "a loop"],
)
def test_nothing_with_an_effect_may_come_before(before: str) -> None:
    is_changed(before + CHECK, STAYS)


@pytest.mark.parametrize(
    "before",
    [
        "%w = llvm.load %p : !llvm.ptr<1> -> i32\n",
        "%q = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\n",
        "%c = arith.constant 4 : i32\n%a = llvm.alloca %c x f32 : (i32) -> !llvm.ptr\n",
        "%z = llvm.mlir.zero : !llvm.ptr\n",
        "%f = arith.constant 1.0 : f32\n%s = math.exp %f : f32\n",
        "%x = gpu.thread_id x\n%b = gpu.block_id x\n%d = gpu.block_dim x\n%g = gpu.grid_dim x\n%l = gpu.lane_id\n",
    ],
)
def test_what_has_no_effect_may(before: str) -> None:
    is_changed(
        before + CHECK, "# CHECK: gpu.func @k\n# CHECK-NOT: cf.assert\n# CHECK: func.func @f\n# CHECK: cf.assert"
    )


def test_the_same_check_again_anywhere() -> None:
    again = CHECK + STORE + 'scf.for %i = %e to %n step %e : i32 { cf.assert %holds, "again" }\n'
    is_changed(again, '# CHECK: gpu.func @k\n# CHECK-NOT: cf.assert\n# CHECK: func.func @f\n# CHECK: "n is positive"')
    other = CHECK + STORE + '%less = arith.cmpi slt, %n, %zero : i32\ncf.assert %less, "other"\n'
    is_changed(other, '# CHECK: gpu.func @k\n# CHECK: cf.assert {{.*}} "other"\n# CHECK: func.func @f\n# CHECK: "n is')


# below the size -----------------------------------------------------------------------------------------------------
NUMBERS = """
%bx = gpu.block_id x
%tx = gpu.thread_id x
%dx = gpu.block_dim x
%b = arith.index_cast %bx : index to i32
%t = arith.index_cast %tx : index to i32
%d = arith.index_cast %dx : index to i32
%k128 = arith.constant 128 : i32
%k64 = arith.constant 64 : i32
"""
GUARDED = f"{NUMBERS}FIRST\nscf.if %inside {{ {CHECK} }}\n"
BELOW = "%inside = arith.cmpi slt, %i, %e : i32"
FORMS = [
    "%f = arith.muli %b, %k128 : i32 %i = arith.addi %f, %t : i32 " + BELOW,
    "%f = arith.muli %k128, %b : i32 %i = arith.addi %f, %t : i32 " + BELOW,
    "%f = arith.muli %b, %d : i32 %i = arith.addi %t, %f : i32 " + BELOW,
    "%f = arith.muli %d, %b : i32 %i = arith.addi %t, %f : i32 " + BELOW,
]


@pytest.mark.parametrize("form", FORMS)
def test_a_check_below_the_size(form: str) -> None:
    is_changed(
        GUARDED.replace("FIRST", form),
        """
        # CHECK: gpu.func @k
        # CHECK-NOT: cf.assert
        # CHECK: func.func @f
        # CHECK: arith.cmpi sgt, %arg2
        # CHECK-COUNT-3: arith.cmpi eq
        # CHECK: arith.constant 128 : i64
        # CHECK: arith.extui %arg3 : i32 to i64
        # CHECK-NEXT: arith.muli
        # CHECK: arith.constant 2147483648 : i64
        # CHECK-NEXT: arith.cmpi ugt
        # CHECK-NEXT: arith.constant -2147483648 : i32
        # CHECK-NEXT: arith.constant 0 : i32
        # CHECK-NEXT: arith.select
        # CHECK-NEXT: arith.cmpi sge, {{.*}}, %arg1 : i32
        # CHECK-NEXT: arith.ori
        # CHECK-NEXT: cf.assert {{.*}} "n is positive"
        """,
    )


def test_a_wider_size() -> None:
    wide = "%w = arith.extsi %i : i32 to i64 %s = arith.extsi %e : i32 to i64 %inside = arith.cmpi slt, %w, %s : i64"
    is_changed(
        GUARDED.replace("FIRST", FORMS[0].replace(BELOW, wide)),
        "# CHECK: func.func @f\n# CHECK: arith.constant -2147483648 : i64\n# CHECK: arith.cmpi sge, {{.*}} : i64",
    )


@pytest.mark.parametrize(
    "form",
    [
        FORMS[0].replace("%k128", "%k64"),
        FORMS[0].replace("slt", "sle"),
        FORMS[0].replace("slt", "ult"),
        FORMS[0].replace("%i, %e", "%e, %i"),
        FORMS[0].replace("%i, %e", "%i, %t"),
        "%inside = arith.cmpi slt, %t, %e : i32",
    ],
)
def test_other_conditions(form: str) -> None:
    is_changed(GUARDED.replace("FIRST", form), STAYS)


@pytest.mark.parametrize("attributes", ["", "attributes {known_block_size = array<i32: 128, 2, 1>}"])
def test_blocks_that_are_no_line(attributes: str) -> None:
    is_changed(GUARDED.replace("FIRST", FORMS[0]), STAYS, attributes)


def test_a_condition_in_a_condition() -> None:
    nested = GUARDED.replace("FIRST", FORMS[0]).replace(CHECK, f"scf.if %inside {{ {CHECK} }}")
    is_changed(nested, STAYS)


# reciprocals --------------------------------------------------------------------------------------------------------
def test_a_division_gets_a_reciprocal() -> None:
    is_changed(
        "%q = arith.divui %n, %e {triptych.no_sign} : i32",
        """
        # CHECK: gpu.func @k(%arg0: !llvm.ptr<1>, %arg1: i32, %arg2: i32, %arg3: i32, %arg4: i32)
        # CHECK: arith.divui {{.*}}triptych.reciprocal = array<i32: 1, 3, 4>
        # CHECK: func.func @f
        # CHECK: arith.constant 1 : i32
        # CHECK: arith.maxui %arg1, %c1_i32{{(_0)?}} : i32
        # CHECK-NEXT: arith.subi
        # CHECK-NEXT: math.ctlz
        # CHECK: arith.constant 32 : i32
        # CHECK-NEXT: arith.subi
        # CHECK: arith.constant 2147483648 : i64
        # CHECK-NEXT: arith.extui
        # CHECK-NEXT: arith.shli
        # CHECK-NEXT: arith.extui
        # CHECK-NEXT: arith.divui
        # CHECK-NEXT: arith.trunci
        # CHECK-NEXT: arith.addi
        # CHECK: gpu.launch_func
        """,
    )


def test_a_divisor_that_the_host_computes_is_given_too() -> None:
    is_changed(
        "%d = arith.addi %e, %n : i32\n%q = arith.remui %n, %d {triptych.no_sign} : i32\n"
        "%r = arith.divui %n, %d {triptych.no_sign} : i32",
        """
        # CHECK: arith.remui {{.*}}triptych.reciprocal = array<i32: 3, 4, 5>
        # CHECK: arith.divui {{.*}}triptych.reciprocal = array<i32: 3, 4, 5>
        # CHECK: func.func @f
        # CHECK: math.ctlz
        # CHECK-NOT: math.ctlz
        """,
    )


@pytest.mark.parametrize(
    "body",
    [
        "%q = arith.divui %n, %e : i32",
        "%c = arith.constant 7 : i32\n%q = arith.divui %n, %c {triptych.no_sign} : i32",
        "%a = arith.trunci %n : i32 to i16\n%q = arith.divui %a, %a {triptych.no_sign} : i16",
        "%w = llvm.load %p : !llvm.ptr<1> -> i32\n%q = arith.divui %n, %w {triptych.no_sign} : i32",
    ],
    ids=["numbers with a sign", "a constant", "16 bits", "a number of the threads"],
)
def test_divisions_that_stay(body: str) -> None:
    is_changed(body, "# CHECK: arith.divui\n# CHECK-NOT: triptych.reciprocal\n# CHECK-NOT: math.ctlz")


def test_a_reciprocal_of_64_bits_is_computed_bit_by_bit() -> None:
    is_changed(
        "%a = arith.extsi %n : i32 to i64\n%q = arith.divui %a, %a {triptych.no_sign} : i64",
        """
        # CHECK: arith.divui {{.*}}triptych.reciprocal = array<i32: 3, 4, 5>
        # CHECK: func.func @f
        # CHECK: math.ctlz {{.*}} : i64
        # CHECK: scf.for
        # CHECK: gpu.launch_func
        """,
    )


FLOOR = """
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%minus = arith.constant -1 : i32
%is_minus = arith.cmpi eq, D, %minus : i32
%safe = arith.select %is_minus, %one, D : i32
%rest = arith.remsi %n, %safe : i32
%negated = arith.subi %zero, %n : i32
%divided = arith.divsi %n, %safe : i32
%quotient = arith.select %is_minus, %negated, %divided : i32
%some = arith.cmpi ne, %rest, %zero : i32
%signs = arith.xori %rest, D : i32
%opposite = arith.cmpi slt, %signs, %zero : i32
%adjust = arith.andi %some, %opposite : i1
"""
QUOTIENT = FLOOR + "%less = arith.subi %quotient, %one : i32\n%x = arith.select %adjust, %less, %quotient : i32\n"
REMAINDER = FLOOR + "%more = arith.addi %rest, D : i32\n%x = arith.select %adjust, %more, %rest : i32\n"
USE = "llvm.store %x, %p : i32, !llvm.ptr<1>"


def test_floor_division_by_an_extent() -> None:
    divided = """
    # CHECK: arith.constant 31 : i32
    # CHECK-NEXT: arith.shrsi %arg2
    # CHECK-NEXT: arith.xori %arg2
    # CHECK-NEXT: arith.divui {{.*}}, %arg1 {triptych.reciprocal = array<i32: 1, 3, 4>}
    # CHECK-NEXT: arith.xori
    """
    is_changed((QUOTIENT + USE).replace("D", "%e"), divided + "# CHECK-NOT: arith.muli\n# CHECK: llvm.store")
    is_changed(
        (REMAINDER + USE).replace("D", "%e"),
        divided + "# CHECK-NEXT: arith.muli {{.*}}, %arg1\n# CHECK-NEXT: arith.subi %arg2\n# CHECK: llvm.store",
    )


@pytest.mark.parametrize("divisor", ["%n", "%constant"])
def test_floor_division_by_what_may_be_negative_or_is_known(divisor: str) -> None:
    text = "%constant = arith.constant 7 : i32\n" + (QUOTIENT + USE).replace("D", divisor)
    is_changed(text, "# CHECK: gpu.func @k\n# CHECK-NOT: triptych.reciprocal\n# CHECK-NOT: math.ctlz")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arith.cmpi ne, %rest", "arith.cmpi eq, %rest"),
        ("arith.cmpi slt, %signs, %zero", "arith.cmpi slt, %signs, %one"),
        ("arith.andi", "arith.ori"),
        ("arith.constant -1", "arith.constant -2"),
        ("arith.subi %quotient, %one", "arith.subi %quotient, %zero"),
        ("arith.subi %zero, %n", "arith.subi %one, %n"),
        ("arith.divsi", "arith.divui"),
        ("%adjust, %less, %quotient", "%adjust, %quotient, %less"),
    ],
)
def test_what_is_no_floor_division(old: str, new: str) -> None:
    text = (QUOTIENT + USE).replace("D", "%e").replace(old, new)
    is_changed(text, "# CHECK: gpu.func @k\n# CHECK-NOT: triptych.reciprocal\n# CHECK-NOT: math.ctlz")


def test_a_kernel_with_nothing_to_move() -> None:
    is_changed(
        STORE, "# CHECK: gpu.func @k(%arg0: !llvm.ptr<1>, %arg1: i32, %arg2: i32) kernel\n# CHECK-NOT: cf.assert"
    )
