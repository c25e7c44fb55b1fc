"""`live_values`: what others see something of, through branches, loops and variables."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.live_values import live_values

BEGIN = "%x = arith.muli %t, %n : i32"
STORE = "llvm.store {}, %p : i32, !llvm.ptr<1>"
LOOP = """
    %z = arith.constant 0 : index %o = arith.constant 1 : index %f = arith.constant 4 : index
    %r, %s = scf.for %i = %z to %f step %o iter_args(%a = %x, %e = %t) -> (i32, i32) {
      %c = arith.addi %a, %c1 : i32
      %d = arith.addi %e, %c1 : i32
      scf.yield %c, %d : i32, i32
    }
"""
WHILE = """
    %r, %s = scf.while (%a = %x, %e = %t) : (i32, i32) -> (i32, i32) {
      %m = arith.cmpi slt, %e, %c16 : i32
      scf.condition(%m) %a, %e : i32, i32
    } do {
    ^bb0(%a: i32, %e: i32):
      %c = arith.addi %a, %c1 : i32
      %d = arith.addi %e, %c1 : i32
      scf.yield %c, %d : i32, i32
    }
"""
BRANCH = """
    %m = arith.cmpi eq, %t, %c1 : i32
    %r, %s = scf.if %m -> (i32, i32) { scf.yield %x, %t : i32, i32 } else { scf.yield %t, %n : i32, i32 }
"""
VARIABLE = "%v = llvm.alloca %c1 x i32 : (i32) -> !llvm.ptr llvm.store %x, %v : i32, !llvm.ptr "
LOAD = "%r = llvm.load %v : !llvm.ptr -> i32 "
CASES = {
    "nothing uses it": ("", False),
    "stored": (STORE.format("%x"), True),
    "an address": ("%q = llvm.getelementptr %p[%x] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32 "
                   "llvm.store %t, %q : i32, !llvm.ptr<1>", True),
    "computed from only": ("%y = arith.addi %x, %t : i32", False),
    "a condition": ("%m = arith.cmpi eq, %x, %t : i32 scf.if %m { llvm.store %t, %p : i32, !llvm.ptr<1> }", True),
    "a bound": ("%z = arith.constant 0 : index %o = arith.constant 1 : index %g = arith.index_cast %x : i32 to index "
                "scf.for %i = %z to %g step %o { llvm.store %t, %p : i32, !llvm.ptr<1> }", True),
    "carried by a loop": (LOOP, False),
    "carried by a loop whose other result is used": (LOOP + STORE.format("%s"), False),
    "carried by a loop and used": (LOOP + STORE.format("%r"), True),
    "carried by a while": (WHILE, False),
    "carried by a while whose other result is used": (WHILE + STORE.format("%s"), False),
    "carried by a while and used": (WHILE + STORE.format("%r"), True),
    "a result of a branch": (BRANCH, False),
    "a result of a branch whose other result is used": (BRANCH + STORE.format("%s"), False),
    "a result of a branch that is used": (BRANCH + STORE.format("%r"), True),
    "in a variable": (VARIABLE, False),
    "in a variable that is loaded": (VARIABLE + LOAD, False),
    "in a variable that is loaded and used": (VARIABLE + LOAD + STORE.format("%r"), True),
    "in a variable whose address is computed and not used": (
        VARIABLE + "%h = llvm.ptrtoint %v : !llvm.ptr to i64", False),
    "in a variable whose address is known elsewhere": (
        VARIABLE + "%w = llvm.mlir.constant(1 : i64) : i64 %h = llvm.getelementptr %v[%w] : (!llvm.ptr, i64) -> "
        "!llvm.ptr, i32 llvm.store %t, %h : i32, !llvm.ptr", True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_whether_a_value_is_live(name: str) -> None:
    text, expected = CASES[name]
    made, module = kernel(BEGIN + " " + text)
    product = operations_named(module, "arith.muli")[0]
    assert (product.results[0] in live_values(made)) is expected
