"""Cluster analysis: how many blocks a cluster has, and whether its blocks communicate."""

from __future__ import annotations

from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.kernel_ir.dialects.traits import definition_of

CLUSTER_ATTRIBUTE = "triptych.cluster"
"""Of a kernel that is launched in clusters: blocks along x, y, z."""


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
    definition = definition_of(operation)
    return definition is not None and definition.leaves_block is not None and definition.leaves_block(operation)
