"""The errors that a run-time check may raise, by the name that they have in MLIR."""

from __future__ import annotations

from triptych.diagnostics.kernel_errors import (
    AsyncAccessError,
    BlockMemoryError,
    ClusterError,
    CooperativeLaunchError,
    DeadlockError,
    DivergentBarrierError,
    LaunchShapeError,
    MbarrierError,
    PartialWarpError,
)
from triptych.diagnostics.runtime_errors import (
    AssertionFailedError,
    CompiledCodeError,
    DivisionByZeroError,
    IndexOutOfRangeError,
    LayoutRequirementError,
    MisalignedAccessError,
    NanMembershipError,
    NegativeShiftError,
    NullPointerError,
    OutOfBoundsError,
    ZeroStepError,
)

CHECK_ERRORS: dict[str, type[CompiledCodeError]] = {
    cls.__name__: cls
    for cls in (
        DivisionByZeroError,
        AssertionFailedError,
        IndexOutOfRangeError,
        NegativeShiftError,
        ZeroStepError,
        LayoutRequirementError,
        OutOfBoundsError,
        MisalignedAccessError,
        NullPointerError,
        NanMembershipError,
        LaunchShapeError,
        DivergentBarrierError,
        DeadlockError,
        ClusterError,
        MbarrierError,
        AsyncAccessError,
        PartialWarpError,
        BlockMemoryError,
        CooperativeLaunchError,
    )
}
"""What a run-time check may raise, by the name it has in MLIR."""
