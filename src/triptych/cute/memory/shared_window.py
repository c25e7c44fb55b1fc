"""Shared-memory addresses as numbers, counted from where the shared memory of the block starts, and its capacity.

So they have 32 bits on every machine, as programs expect that hand them to instructions. Where a machine has addresses
of its own for shared memory these are the same numbers up to a constant. In a cluster the block's rank is in the bits
from 24 on, so that the numbers of all its blocks differ.
"""

from __future__ import annotations

import re

from triptych.ir.handles import Value
from triptych.ir.modules import SHARED
from triptych.ir.types import CLUSTER_SPACE, SHARED_SPACE, pointer_to
from triptych.kernel_ir.dialects.simt import CLUSTER_ADDRESS
from triptych.metastage.trace.trace import Trace
from triptych.targets.nvptx.description.architectures import ARCHITECTURES

_POINTER, _IN_CLUSTER = pointer_to(SHARED_SPACE), pointer_to(CLUSTER_SPACE)
_DYNAMIC = -(1 << 31)
RANK_BIT = 24
"""No block has as much shared memory as this bit counts."""


def shared_start(trace: Trace) -> Value:
    """Where the shared memory of the block starts."""
    assert trace.device is not None, "only device code has shared memory"
    trace.device.declare_shared(trace.location())
    return trace.value("llvm.mlir.addressof", (), _POINTER, {"global_name": trace.builder.attribute(f"@{SHARED}")})


def shared_address(trace: Trace, pointer: Value) -> Value:
    """A pointer into shared memory, also of another block of the cluster, as an i32."""
    if trace.device_model.assembly:
        return trace.value("llvm.ptrtoint", (pointer,), "i32")
    here = trace.value("llvm.ptrtoint", (pointer,), "i64")
    if not _has_cluster(trace):
        start = trace.value("llvm.ptrtoint", (shared_start(trace),), "i64")
        return trace.value("arith.trunci", (trace.value("arith.subi", (here, start), "i64"),), "i32")
    first, second = (trace.value("llvm.ptrtoint", (_block_start(trace, rank),), "i64") for rank in range(2))
    offset = trace.value("arith.subi", (here, first), "i64")
    distance = trace.value("arith.subi", (second, first), "i64")
    rank = trace.value("arith.divui", (offset, distance), "i64")
    within = trace.value("arith.remui", (offset, distance), "i64")
    shifted = trace.value("arith.shli", (rank, _number(trace, RANK_BIT)), "i64")
    return trace.value("arith.trunci", (trace.value("arith.ori", (shifted, within), "i64"),), "i32")


def shared_pointer(trace: Trace, address: Value) -> Value:
    """The pointer of an address in shared memory, an i64."""
    if trace.device_model.assembly:
        return trace.value("llvm.inttoptr", (address,), _POINTER)
    if not _has_cluster(trace):
        return _further(trace, shared_start(trace), address)
    return trace.value("llvm.addrspacecast", (cluster_pointer(trace, address),), _POINTER)


def cluster_pointer(trace: Trace, address: Value) -> Value:
    """The pointer, for the memories of all blocks of the cluster, of an address in shared memory, an i64."""
    if trace.device_model.assembly:
        return trace.value("llvm.inttoptr", (address,), _IN_CLUSTER)
    within = trace.value("arith.andi", (address, _number(trace, (1 << RANK_BIT) - 1)), "i64")
    rank = trace.value("arith.shrui", (address, _number(trace, RANK_BIT)), "i64")
    place = _further(trace, shared_start(trace), within)
    return trace.value(CLUSTER_ADDRESS, (place, trace.value("arith.trunci", (rank,), "i32")), _IN_CLUSTER)


def _has_cluster(trace: Trace) -> bool:
    return trace.kernel is not None and trace.kernel.cluster != (1, 1, 1)


def _block_start(trace: Trace, rank: int) -> Value:
    number = trace.value("arith.constant", (), "i32", {"value": trace.builder.integer("i32", rank)})
    return trace.value(CLUSTER_ADDRESS, (shared_start(trace), number), _IN_CLUSTER)


def _further(trace: Trace, start: Value, distance: Value) -> Value:
    attributes = {
        "elem_type": trace.builder.type_attribute("i8"),
        "rawConstantIndices": trace.builder.attribute(f"array<i32: {_DYNAMIC}>"),
    }
    return trace.value("llvm.getelementptr", (start, distance), _POINTER, attributes)


def _number(trace: Trace, value: int) -> Value:
    return trace.value("arith.constant", (), "i64", {"value": trace.builder.integer("i64", value)})


def get_smem_capacity_in_bytes(compute_capability: str | None = None) -> int:
    """For an architecture such as "sm_80", "sm_90a" or "80"; without a name the most that any has.

    The CPU target has as much as the largest.
    """
    capacities = {architecture.generation: architecture.shared_of_a_block for architecture in ARCHITECTURES.values()}
    if compute_capability is None:
        return max(capacities.values())
    named = re.fullmatch(r"(?:sm_)?(\d+)[af]?", compute_capability)
    if named is None or int(named[1]) not in capacities:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(f"no architecture is called {compute_capability!r}; there are {known}")
    return capacities[int(named[1])]
