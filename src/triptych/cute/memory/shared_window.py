"""Meta-stage, shared memory as numbers: an address counts from where the shared memory of the block starts.

So it has 32 bits on every machine, as programs expect that hand it to instructions. Where a machine has addresses of
its own for shared memory these are the same numbers up to a constant.
"""

from __future__ import annotations

from triptych.ir.device_module import SHARED
from triptych.ir.handles import Value
from triptych.ir.types import SHARED_SPACE, pointer_to
from triptych.metastage.tracing import Trace

_POINTER = pointer_to(SHARED_SPACE)
_DYNAMIC = -(1 << 31)


def shared_start(trace: Trace) -> Value:
    """Where the shared memory of the block starts."""
    assert trace.device is not None
    trace.device.declare_shared(trace.location())
    return trace.value("llvm.mlir.addressof", (), _POINTER, {"global_name": trace.builder.attribute(f"@{SHARED}")})


def shared_address(trace: Trace, pointer: Value) -> Value:
    """A pointer into shared memory as an i32."""
    if trace.device_model.assembly:
        return trace.value("llvm.ptrtoint", (pointer,), "i32")
    here, start = (trace.value("llvm.ptrtoint", (each,), "i64") for each in (pointer, shared_start(trace)))
    return trace.value("arith.trunci", (trace.value("arith.subi", (here, start), "i64"),), "i32")


def shared_pointer(trace: Trace, address: Value) -> Value:
    """The pointer of an address in shared memory, an i64."""
    if trace.device_model.assembly:
        return trace.value("llvm.inttoptr", (address,), _POINTER)
    attributes = {
        "elem_type": trace.builder.type_attribute("i8"),
        "rawConstantIndices": trace.builder.attribute(f"array<i32: {_DYNAMIC}>"),
    }
    return trace.value("llvm.getelementptr", (shared_start(trace), address), _POINTER, attributes)
