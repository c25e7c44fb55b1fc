"""Cluster analysis: how many blocks a cluster has, and whether its blocks communicate."""

from __future__ import annotations

from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects import simt as dialect
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.kernel_ir.dialects.tile import LOAD_BOX

CLUSTER_ATTRIBUTE = "triptych.cluster"
"""Of a kernel that is launched in clusters: blocks along x, y, z."""

_BETWEEN_BLOCKS = frozenset(
    {dialect.CLUSTER_ARRIVE, dialect.CLUSTER_WAIT, dialect.CLUSTER_ADDRESS, dialect.STORE_ASYNC}
)
_WITH_RANK = 3
"""Operands of an operation on an mbarrier that names a block."""


def cluster_of(kernel: Operation) -> tuple[int, int, int]:
    """Blocks of a cluster along x, y, z."""
    if CLUSTER_ATTRIBUTE not in kernel.attributes:
        return 1, 1, 1
    x, y, z = kernel.attributes[CLUSTER_ATTRIBUTE]
    return x, y, z


def reaches_other_blocks(kernel: Operation) -> bool:
    """Whether blocks of a cluster wait for each other, or reach each other's shared memory."""
    return any(_is_between_blocks(found) for found in walk(kernel))


def _is_between_blocks(operation: Operation) -> bool:
    name = operation.name
    if name == LOAD_BOX:
        return bool(operation.attributes["multicast"].value)
    if name.startswith("simt.mbarrier_") and len(operation.operands) == _WITH_RANK:
        return True
    return name in _BETWEEN_BLOCKS
