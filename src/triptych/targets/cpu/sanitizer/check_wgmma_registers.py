"""Pass `check-wgmma-registers`: in the checking build, products whose registers are touched without a fence or a wait.

A wait for groups that the product is in none of is no wait for it.
"""

from __future__ import annotations

from triptych.diagnostics.kernel_errors import AsyncAccessError
from triptych.ir.handles import Module
from triptych.ir.location import place_of
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.wgmma_registers import Finding, WgmmaHazard, misused_registers


def check_wgmma_registers(module: Module) -> bool:
    """Refuse the first such product."""
    for kernel in operations_named(module, "gpu.func"):
        found = misused_registers(kernel)
        if found:
            raise _missing_fence(found[0]) if found[0].missing is WgmmaHazard.FENCE else _missing_wait(found[0])
    return False


def _missing_fence(found: Finding) -> AsyncAccessError:
    earlier = place_of(found.earlier)
    return AsyncAccessError(
        "a product begins with registers that were written and not fenced",
        span=place_of(found.operation),
        found="no `warpgroup.fence()` between the last write of its registers and the product",
        expected="a fence before the first product, and wherever other instructions have written its registers",
        instead="`cute.nvgpu.warpgroup.fence()` before `cute.gemm`",
        related=[] if earlier is None else [("the registers", earlier)],
    )


def _missing_wait(found: Finding) -> AsyncAccessError:
    product = place_of(found.earlier)
    is_open = found.missing is WgmmaHazard.COMMIT
    return AsyncAccessError(
        "the accumulator of a WGMMA is accessed while it runs",
        span=place_of(found.operation),
        found="a wait for groups, and the product is in none: no `warpgroup.commit_group()` is between the two"
        if is_open
        else "no `warpgroup.wait_group(...)` between the product and this line",
        expected="a wait before anything else reads or writes the accumulator",
        instead="`cute.nvgpu.warpgroup.commit_group()` behind the product, before the wait"
        if is_open
        else "`cute.nvgpu.warpgroup.commit_group()` and `wait_group(0)` first",
        related=[] if product is None else [("the product", product)],
    )
