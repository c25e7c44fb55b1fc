"""`check-products` looks only at kernels of the checking build."""

from __future__ import annotations

import pytest

from triptych.diagnostics.kernel_errors import AsyncAccessError
from triptych.ir import bindings
from triptych.kernel_ir.dialects.async_order import CHECKS_ATTRIBUTE
from triptych.targets.cpu.sanitizer.check_wgmma_registers import check_products


@pytest.mark.parametrize("checked", [False, True])
def test_a_product_without_a_fence(checked: bool) -> None:
    context = bindings.mlir().Context()
    context.allow_unregistered_dialects = True
    attribute = f"attributes {{{CHECKS_ATTRIBUTE}}}" if checked else ""
    module = bindings.mlir().Module.parse(
        f"""module {{ gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %b: i1) kernel {attribute} {{
        %one = arith.constant 1 : i64
        %d = llvm.alloca %one x !llvm.array<4 x f32> : (i64) -> !llvm.ptr
        "tile.group_mma"(%d, %s, %s, %b) {{a_operand = [0, 0, 0, 0]}}
          : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()
        gpu.return }} }} }}""",
        context,
    )
    if not checked:
        assert not check_products(module)
        return
    with pytest.raises(AsyncAccessError, match="not fenced"):
        check_products(module)
