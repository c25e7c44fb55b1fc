"""Cluster launch control: a running cluster asks for another one of the grid, and reads the answer (sm_100)."""

from __future__ import annotations

from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import device_function, device_trace
from triptych.kernel_ir.dialects.tile import CLC_QUERY, CLC_TRY_CANCEL
from triptych.metastage.values.scalars import Boolean, Int32

__all__ = ["clc_response", "issue_clc_query"]


@device_function
def issue_clc_query(mbar_ptr: Pointer, clc_response_ptr: Pointer) -> None:
    """One thread asks; the answer comes to 16 bytes of shared memory, and completes them on the mbarrier, of every
    block."""
    device_trace().operation(CLC_TRY_CANCEL, (clc_response_ptr.ir_value(), mbar_ptr.ir_value()))


@device_function
def clc_response(result_addr: Pointer) -> tuple[Int32, Int32, Int32, Boolean]:
    """The index of the first block of the cluster that was given, and whether one was."""
    trace = device_trace()
    kinds = [trace.builder.type(name) for name in ("i1", "i32", "i32", "i32")]
    given, *where = trace.operation(CLC_QUERY, (result_addr.ir_value(),), kinds).results
    x, y, z = (Int32.of(value, trace.region) for value in where)
    return x, y, z, Boolean.of(given, trace.region)
