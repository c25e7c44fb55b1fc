"""Builder calls of NVIDIA's dialect that programs make themselves: `cutlass._mlir.dialects.nvvm`.

Each stands for the operation of the language that means the same, so it runs on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from triptych.compat.mlir_builders.values import raw, wrapped
from triptych.cute.copies.dispatch import only_if
from triptych.cute.copies.tma_copies import load_as_mapped
from triptych.cute.tracing.device import device_function, device_trace
from triptych.kernel_ir.dialects.simt import ELECT, MBARRIER_TEST
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

__all__ = [
    "CpAsyncBulkTensorGlobalToSharedClusterOp",
    "CpAsyncBulkTensorLoadMode",
    "TMALoadMode",
    "elect_sync",
    "mbarrier_try_wait_parity_timelimit",
]


class TMALoadMode(Enum):
    """Which elements of a tensor a box is."""

    TILE = 0


CpAsyncBulkTensorLoadMode = TMALoadMode


def __dir__() -> list[str]:
    return __all__


@device_function
def elect_sync(*, membermask: object = None, loc: object = None, ip: object = None) -> Any:
    """True in one lane of the warp."""
    return wrapped(device_trace().value(ELECT, (), "i1"))


@device_function
def mbarrier_try_wait_parity_timelimit(
    addr: object, phase: object, ticks: object, *, loc: object = None, ip: object = None
) -> Any:
    """Whether the phase of a parity is over; how long to wait for it is the machine's own affair."""
    return wrapped(device_trace().value(MBARRIER_TEST, (raw(addr), raw(phase)), "i1"))


@device_function
def CpAsyncBulkTensorGlobalToSharedClusterOp(
    dstMem: object,
    tmaDescriptor: object,
    coordinates: Sequence[Any],
    mbar: object,
    im2colOffsets: Sequence[Any] = (),
    *,
    predicate: object = None,
    mode: TMALoadMode = TMALoadMode.TILE,
    loadMode: TMALoadMode = TMALoadMode.TILE,
    loc: object = None,
    ip: object = None,
) -> None:
    """Load a box, as large as its tensor map says, in the threads whose predicate holds."""
    if im2colOffsets:
        found = f"{len(im2colOffsets)} offsets of im2col"
        raise OperandTypeError("TMA loads are of tiles", span=place(), found=found, expected="none, and TILE")
    operands = raw(tmaDescriptor), raw(dstMem), raw(mbar), list(map(raw, coordinates))

    def load() -> None:
        load_as_mapped(*operands)

    load() if predicate is None else only_if(wrapped(raw(predicate)), load)
