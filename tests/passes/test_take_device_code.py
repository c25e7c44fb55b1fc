"""`take-device-code`: the kernels are what the outermost module contains."""

from __future__ import annotations

from tests.passes.running import checked, lowered_kernel
from triptych.targets.nvptx.take_device_code import take_device_code


def test_kernels_leave_their_module() -> None:
    checked(
        lowered_kernel("llvm.return"),
        take_device_code,
        """
        # CHECK-NOT: gpu.module
        # CHECK: llvm.func @k()
        """,
    )
