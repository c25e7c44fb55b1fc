"""Errors of launches and of running kernels: shapes, barriers, warps, memory."""

from __future__ import annotations

from triptych.diagnostics.runtime_errors import CompiledCodeError


class LaunchShapeError(CompiledCodeError, ValueError):
    """A grid or a block that no launch can have, or more shared memory than a block has."""

    code = "TT0620"


class DivergentBarrierError(CompiledCodeError, RuntimeError):
    """Threads of a block wait at a barrier that other threads of the block do not come to."""

    code = "TT0621"


class DeadlockError(CompiledCodeError, RuntimeError):
    """The warps of a block wait for each other and none can go on."""

    code = "TT0622"


class PartialWarpError(CompiledCodeError, RuntimeError):
    """Only some threads of a warp execute an instruction of the whole warp."""

    code = "TT0623"


class BlockMemoryError(CompiledCodeError, MemoryError):
    """One block of a kernel needs more memory than the target has for it."""

    code = "TT0624"


class MbarrierError(CompiledCodeError, RuntimeError):
    """An mbarrier that nobody has initialised, or that counts more arrivals or bytes than a phase of it can have."""

    code = "TT0626"


class ClusterError(CompiledCodeError, RuntimeError):
    """A block of a cluster that is not there or has ended, a barrier of the cluster that is used out of turn, or a
    cluster that asks for another one after it has been refused."""

    code = "TT0627"


class AsyncAccessError(CompiledCodeError, RuntimeError):
    """Shared memory is accessed that a copy or product under way needs, or not fenced before one (checking build)."""

    code = "TT0628"


class MulticastAddressError(CompiledCodeError, ValueError):
    """An instruction for all GPUs at once is given an address of one, or of none."""

    code = "TT0629"


class DSLCudaRuntimeError(RuntimeError):
    """What public programs catch where CUDA refuses something; `error_code` is CUDA's number for the reason."""

    __module__ = "triptych"
    error_code: int = 999
    """CUDA's `cudaErrorUnknown`."""


class CooperativeLaunchError(CompiledCodeError, DSLCudaRuntimeError):
    """A cooperative launch has more blocks than can run at the same time, so that some would wait for ever."""

    code = "TT0625"
    error_code = 720
    """CUDA's `cudaErrorCooperativeLaunchTooLarge`."""


class TensorMemoryError(CompiledCodeError, RuntimeError):
    """Columns of tensor memory are taken, used or given back against the rules, or lanes of other warps."""

    code = "TT0653"
