"""`check-wgmma-registers` refuses a product whose registers nothing has fenced."""

from __future__ import annotations

import pytest

from triptych.diagnostics.kernel_errors import AsyncAccessError
from triptych.ir import bindings
from triptych.targets.cpu.sanitizer.check_wgmma_registers import check_wgmma_registers


@pytest.mark.parametrize("fenced", [False, True])
def test_a_product_without_a_fence(fenced: bool) -> None:
    context = bindings.mlir().Context()
    context.allow_unregistered_dialects = True
    fence = '"tile.wgmma_fence"() : () -> ()' if fenced else ""
    module = bindings.mlir().Module.parse(
        f"""module {{ gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %b: i1) kernel {{
        %one = arith.constant 1 : i64
        %d = llvm.alloca %one x !llvm.array<4 x f32> : (i64) -> !llvm.ptr
        {fence}
        "tile.wgmma"(%d, %s, %s, %b) {{a_operand = [0, 0, 0, 0]}}
          : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()
        gpu.return }} }} }}""",
        context,
    )
    if fenced:
        assert not check_wgmma_registers(module)
        return
    with pytest.raises(AsyncAccessError, match="not fenced"):
        check_wgmma_registers(module)
