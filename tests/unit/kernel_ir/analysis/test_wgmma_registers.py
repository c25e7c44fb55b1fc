"""`wgmma_registers`: which products meet registers that others touch, over all control flow."""

from __future__ import annotations

import pytest

from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.wgmma_registers import WgmmaHazard, misused_registers

COMMIT = '"tile.wgmma_commit"() : () -> ()'
FENCE, WAIT = '"tile.wgmma_fence"() : () -> ()', '"tile.wgmma_wait"() {groups = 0 : i32} : () -> ()'
PRODUCT = '"tile.wgmma"(%d, %s, %s, %b) {a_operand = [0, 0, 0, 0]} : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()'
STORE = "llvm.store %f, %e : f32, !llvm.ptr"
LOAD = "%{} = llvm.load %e : !llvm.ptr -> f32"


def found(*lines: str) -> list[WgmmaHazard]:
    """What is missing, for a kernel with these lines."""
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
    return [finding.missing for finding in misused_registers(kernel)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((STORE, FENCE, PRODUCT, PRODUCT, COMMIT, WAIT, LOAD.format("x")), []),
        ((PRODUCT,), [WgmmaHazard.FENCE]),
        ((FENCE, STORE, PRODUCT), [WgmmaHazard.FENCE]),
        ((FENCE, PRODUCT, LOAD.format("x"), COMMIT, WAIT), [WgmmaHazard.WAIT]),
        ((FENCE, PRODUCT, COMMIT, LOAD.format("x"), WAIT), [WgmmaHazard.WAIT]),
        ((FENCE, PRODUCT, STORE), [WgmmaHazard.WAIT]),
        ((FENCE, PRODUCT, WAIT, LOAD.format("x")), [WgmmaHazard.COMMIT]),
        ((FENCE, PRODUCT, WAIT, COMMIT, LOAD.format("x")), [WgmmaHazard.COMMIT]),
        ((FENCE, PRODUCT, WAIT, COMMIT, WAIT, LOAD.format("x")), []),
        ((FENCE, PRODUCT, "scf.if %b {", COMMIT, "}", WAIT, LOAD.format("x")), []),  # on one path it is closed
        (("scf.for %j = %i to %n step %i {", FENCE, PRODUCT, "}", LOAD.format("x")), [WgmmaHazard.WAIT]),
        (("scf.for %j = %i to %n step %i {", FENCE, PRODUCT, WAIT, "}", LOAD.format("x")), [WgmmaHazard.COMMIT]),
        ((FENCE, "scf.for %j = %i to %n step %i {", PRODUCT, COMMIT, "}", WAIT, LOAD.format("x")), []),
        ((FENCE, "scf.for %j = %i to %n step %i {", PRODUCT, COMMIT, WAIT, STORE, "}"), [WgmmaHazard.FENCE]),
        (("scf.if %b {", FENCE, "} else {", FENCE, "}", PRODUCT), []),
        ((FENCE, "scf.if %b {", PRODUCT, "}", LOAD.format("x")), []),  # only where both sides agree
    ],
)
def test_findings(lines: tuple[str, ...], expected: list[WgmmaHazard]) -> None:
    assert found(*lines) == expected
