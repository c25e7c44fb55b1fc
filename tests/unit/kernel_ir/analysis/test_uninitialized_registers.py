"""`uninitialized_registers` and `uninitialized_values`: what is proven to be set, and the rest.

What the pass `register_shadows` makes of it, with `unset_origins`, `tests/checkers` runs.
"""

from __future__ import annotations

import pytest

from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.uninitialized_registers import number_of, registers_of, unproven_reads
from triptych.kernel_ir.analysis.uninitialized_values import BRANCH, SHARE, STORE, unset_values

SET = "llvm.store %f, %e : f32, !llvm.ptr"
READ = "%x = llvm.load %e : !llvm.ptr -> f32"
OUT = "llvm.store %x, %g : f32, !llvm.ptr<1>"
PUT = OUT.replace("%g", "%h").replace("<1>", "<3>")
FIRST = "llvm.store %f, %d : f32, !llvm.ptr"
LOOP = """scf.for %c = %zero to %{end} step %i {{
    %j = arith.index_cast %c : index to i64
    %p = llvm.getelementptr %d[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %f, %p : f32, !llvm.ptr
}}"""
WHOLE = "%x = llvm.load %d : !llvm.ptr -> vector<4xf32>"


def uses(*lines: str) -> tuple[int, list[str]]:
    """How many reads are not proven, and what is done with their values, for a kernel with these lines."""
    text = "\n".join(lines)
    module = bindings.mlir().Module.parse(
        f"""module {{ gpu.module @m {{
        gpu.func @k(%g: !llvm.ptr<1>, %h: !llvm.ptr<3>, %b: i1, %f: f32, %n: index) kernel {{
        %four = llvm.mlir.constant(4 : i32) : i32
        %zero = arith.constant 0 : index
        %i = arith.constant 1 : index
        %three = arith.constant 3 : index
        %all = arith.constant 4 : index
        %d = llvm.alloca %four x f32 : (i32) -> !llvm.ptr
        %e = llvm.getelementptr %d[1] : (!llvm.ptr) -> !llvm.ptr, f32
        {text}
        gpu.return }} }} }}""",
        bindings.mlir().Context(),
    )
    (kernel,) = operations_named(module, "gpu.func")
    registers = registers_of(kernel)
    unproven, certain = unproven_reads(kernel, registers)
    return len(unproven), [use.verb for use in unset_values(registers, unproven, certain).uses]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((SET, READ, OUT), (0, [])),
        ((READ, OUT), (1, [STORE])),
        ((READ,), (1, [])),
        ((FIRST, READ, PUT), (1, [SHARE])),
        ((LOOP.format(end="n"), READ, PUT), (1, [])),
        ((f"scf.if %b {{ {SET} }}", READ, OUT), (1, [STORE])),
        ((f"scf.if %b {{ {SET} }} else {{ {SET} }}", READ, OUT), (0, [])),
        ((LOOP.format(end="all"), WHOLE), (0, [])),
        ((LOOP.format(end="three"), WHOLE), (1, [])),
        ((LOOP.format(end="n"), READ, OUT), (1, [STORE])),
        ((READ, "%t = arith.cmpf olt, %x, %f : f32", "scf.if %t { }"), (1, [BRANCH])),
        (
            (READ, "%s = scf.for %c = %zero to %n step %i iter_args(%a = %x) -> f32 { scf.yield %a : f32 }",
             "llvm.store %s, %g : f32, !llvm.ptr<1>"),
            (1, [STORE]),
        ),
    ],
)  # fmt: skip
def test_what_is_proven_and_what_matters(lines: tuple[str, ...], expected: tuple[int, list[str]]) -> None:
    assert uses(*lines) == expected


def test_numbers_of_a_turn() -> None:
    module = bindings.mlir().Module.parse(
        """func.func @f(%c: i32) -> i32 {
        %two = arith.constant 2 : i32
        %r = arith.remsi %c, %two : i32
        %s = arith.shli %r, %two : i32
        return %s : i32 }""",
        bindings.mlir().Context(),
    )
    (function,) = operations_named(module, "func.func")
    (counter,) = function.regions[0].blocks[0].arguments
    (end,) = operations_named(module, "func.return")
    assert [number_of(end.operands[0], {counter: turn}) for turn in range(4)] == [0, 4, 0, 4]
    assert number_of(end.operands[0], {}) is None
    assert number_of(end.operands[0], {counter: -3}) is None
