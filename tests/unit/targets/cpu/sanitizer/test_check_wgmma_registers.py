<<<<<<<< HEAD:tests/unit/targets/cpu/sanitizer/test_check_wgmma_registers.py
"""`check-products` refuses a product whose registers nothing has fenced."""
========
"""`check-wgmma-registers` looks only at kernels of the checking build."""
>>>>>>>> 70d59d7f (kernel_ir: TMA, WGMMA and tensormap operations have PTX's names):tests/passes/test_check_wgmma_registers.py

from __future__ import annotations

import pytest

from triptych.diagnostics.kernel_errors import AsyncAccessError
from triptych.ir import bindings
<<<<<<<< HEAD:tests/unit/targets/cpu/sanitizer/test_check_wgmma_registers.py
from triptych.targets.cpu.sanitizer.check_wgmma_registers import check_products
========
from triptych.kernel_ir.dialects.async_order import CHECKS_ATTRIBUTE
from triptych.targets.cpu.sanitizer.check_wgmma_registers import check_wgmma_registers
>>>>>>>> 70d59d7f (kernel_ir: TMA, WGMMA and tensormap operations have PTX's names):tests/passes/test_check_wgmma_registers.py


@pytest.mark.parametrize("fenced", [False, True])
def test_a_product_without_a_fence(fenced: bool) -> None:
    context = bindings.mlir().Context()
    context.allow_unregistered_dialects = True
    fence = '"tile.group_fence"() : () -> ()' if fenced else ""
    module = bindings.mlir().Module.parse(
        f"""module {{ gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %b: i1) kernel {{
        %one = arith.constant 1 : i64
        %d = llvm.alloca %one x !llvm.array<4 x f32> : (i64) -> !llvm.ptr
<<<<<<<< HEAD:tests/unit/targets/cpu/sanitizer/test_check_wgmma_registers.py
        {fence}
        "tile.group_mma"(%d, %s, %s, %b) {{a_operand = [0, 0, 0, 0]}}
========
        "tile.wgmma"(%d, %s, %s, %b) {{a_operand = [0, 0, 0, 0]}}
>>>>>>>> 70d59d7f (kernel_ir: TMA, WGMMA and tensormap operations have PTX's names):tests/passes/test_check_wgmma_registers.py
          : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()
        gpu.return }} }} }}""",
        context,
    )
<<<<<<<< HEAD:tests/unit/targets/cpu/sanitizer/test_check_wgmma_registers.py
    if fenced:
        assert not check_products(module)
========
    if not checked:
        assert not check_wgmma_registers(module)
>>>>>>>> 70d59d7f (kernel_ir: TMA, WGMMA and tensormap operations have PTX's names):tests/passes/test_check_wgmma_registers.py
        return
    with pytest.raises(AsyncAccessError, match="not fenced"):
        check_wgmma_registers(module)
