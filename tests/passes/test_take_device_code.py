"""`extract-device-module`: the kernels are what the outermost module contains."""

from __future__ import annotations

from tests.passes.running import checked, lowered_kernel
from triptych.kernel_ir.transforms.extract_device_module import extract_device_module


def test_kernels_leave_their_module() -> None:
    checked(
        lowered_kernel("llvm.return"),
        extract_device_module,
        """
        # CHECK-NOT: gpu.module
        # CHECK: llvm.func @k()
        """,
    )
