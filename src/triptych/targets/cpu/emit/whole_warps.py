"""Warp convergence: instructions that all threads of a warp execute together; a missing lane is an error there."""

from __future__ import annotations

from triptych.diagnostics.kernel_errors import PartialWarpError
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Operation
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.tile import WARP_THREADS
from triptych.targets.cpu.emit.collectives import require
from triptych.targets.cpu.emit.warp import Warp


def require_whole_warp(warp: Warp, operation: Operation) -> None:
    """Lanes that are missing have no part in the result of the others: on a GPU it is undefined."""
    code = warp.code
    if code.width != WARP_THREADS:
        raise LoweringError(
            f"an instruction of {WARP_THREADS} threads on a machine whose warps have {code.width} lanes",
            span=place_of(operation),
            found=operation.name.partition(".")[2],
            expected="an instruction that the machine has",
        )
    if warp.mask is None:
        return
    every = code.compare("eq", code.bits(warp.mask), code.constant(-1, "i32"))
    attributes = code.check_attributes(
        PartialWarpError,
        "only some threads of a warp execute an instruction of the whole warp",
        span=place_of(operation),
        found=operation.name.partition(".")[2],
        expected=f"all {WARP_THREADS} threads to come here together",
        instead="the instruction outside the branch, or a condition that is the same for a whole warp",
    )
    missing = code.first(code.invert(warp.mask))
    require(warp, every, missing, attributes)
