"""`triptych.simt.product_registers`: which products meet registers that others touch, over all control flow."""

from __future__ import annotations

import pytest

from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.simt.product_registers import misused_registers

FENCE, WAIT = '"tile.group_fence"() : () -> ()', '"tile.group_wait"() {groups = 0 : i32} : () -> ()'
PRODUCT = (
    '"tile.group_mma"(%d, %s, %s, %b) {a_operand = [0, 0, 0, 0]} : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()'
)
STORE = "llvm.store %f, %e : f32, !llvm.ptr"
LOAD = "%{} = llvm.load %e : !llvm.ptr -> f32"


def found(*lines: str) -> list[bool]:
    """Whether each finding is of a missing fence, for a kernel with these lines."""
    context = bindings.mlir().Context()
    context.allow_unregistered_dialects = True
    text = "\n".join(lines)
    module = bindings.mlir().Module.parse(
        f"""module {{ gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %b: i1, %f: f32, %n: index) kernel {{
        %one = arith.constant 1 : i64
        %i = arith.constant 1 : index
        %d = llvm.alloca %one x !llvm.array<4 x f32> : (i64) -> !llvm.ptr
        %e = llvm.getelementptr %d[1] : (!llvm.ptr) -> !llvm.ptr, f32
        {text}
        gpu.return }} }} }}""",
        context,
    )
    (kernel,) = operations_named(module, "gpu.func")
    return [finding.is_fence for finding in misused_registers(kernel)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((STORE, FENCE, PRODUCT, PRODUCT, WAIT, LOAD.format("x")), []),
        ((PRODUCT,), [True]),
        ((FENCE, STORE, PRODUCT), [True]),
        ((FENCE, PRODUCT, LOAD.format("x"), WAIT), [False]),
        ((FENCE, PRODUCT, STORE), [False]),
        (("scf.for %j = %i to %n step %i {", FENCE, PRODUCT, "}", LOAD.format("x")), [False]),
        ((FENCE, "scf.for %j = %i to %n step %i {", PRODUCT, WAIT, STORE, "}"), [True]),
        (("scf.if %b {", FENCE, "} else {", FENCE, "}", PRODUCT), []),
        ((FENCE, "scf.if %b {", PRODUCT, "}", LOAD.format("x")), []),  # only where both sides agree
    ],
)
def test_findings(lines: tuple[str, ...], expected: list[bool]) -> None:
    assert found(*lines) == expected
