"""Thread indices in the block, the grid and the warp, and the block's index in its cluster."""

from __future__ import annotations

from typing import Any

from triptych.cute.arch.warp import shuffle_sync
from triptych.cute.dynamic.traced_integers import trusted_int
from triptych.cute.tracing.device import Integer, device_function, device_model, device_trace, kernel_body, number
from triptych.cute.tracing.eager import eager
from triptych.ir.handles import Value
from triptych.metastage.values.scalars import Int32, Uint32

__all__ = [
    "block_dim",
    "block_idx",
    "block_idx_in_cluster",
    "block_in_cluster_dim",
    "block_in_cluster_idx",
    "cluster_dim",
    "cluster_idx",
    "cluster_size",
    "grid_dim",
    "lane_idx",
    "make_warp_uniform",
    "num_warp_threads",
    "thread_idx",
    "warp_idx",
]

Three = tuple[Int32, Int32, Int32]


@device_function
def thread_idx() -> Three:
    """The thread's x, y, z in its block."""
    x, y, z = (extent - 1 for extent in _most_threads())
    return _three("gpu.thread_id", (x, y, z))


@device_function
def block_idx() -> Three:
    """The block's x, y, z in the grid."""
    return _three("gpu.block_id")


@device_function
def block_dim() -> Three:
    """Threads of a block along x, y, z."""
    return _three("gpu.block_dim", _most_threads())


@device_function
def grid_dim() -> Three:
    """Blocks of the grid along x, y, z."""
    return _three("gpu.grid_dim")


@device_function
def lane_idx() -> Int32:
    """The thread's place in its warp, 0 to `WARP_SIZE - 1`."""
    trace = device_trace()
    return _int32(trace.value("gpu.lane_id", (), "index"), device_model().lanes - 1)


@eager
def num_warp_threads() -> int:
    """How many threads a warp of the machine has that is compiled for: 64 on AMD's CDNA and `cpu:64`. A Python number,
    in kernels and in host functions; outside of traces 32, as `WARP_SIZE`."""
    return device_model().lanes


@device_function
def warp_idx() -> Int32:
    """The warp's place in its block: threads are counted along x first, then y, then z."""
    (x, y, z), (_, height, depth) = thread_idx(), kernel_body().block
    row: Any = y if _is_one(depth) else z * _extent(1) + y
    linear: Any = x if _is_one(height) and _is_one(depth) else row * _extent(0) + x
    warp: Int32 = (linear.to(Uint32) // device_model().lanes).to(Int32)
    return warp


@device_function
def make_warp_uniform(value: Integer) -> Int32:
    """The value of lane 0 in all lanes: says that they agree, so that one scalar stands for all."""
    uniform: Int32 = shuffle_sync(number(value).to(Int32), 0)
    return uniform


@device_function
def cluster_idx() -> Three:
    """The cluster's x, y, z in the grid."""
    x, y, z = (_quotient(i, n) for i, n in zip(block_idx(), kernel_body().cluster, strict=True))
    return x, y, z


@device_function
def cluster_dim() -> Three:
    """Clusters of the grid along x, y, z."""
    x, y, z = (_quotient(i, n) for i, n in zip(grid_dim(), kernel_body().cluster, strict=True))
    return x, y, z


@device_function
def block_in_cluster_idx() -> Three:
    """The block's x, y, z in its cluster."""
    x, y, z = (_remainder(i, n) for i, n in zip(block_idx(), kernel_body().cluster, strict=True))
    return x, y, z


@device_function
def block_in_cluster_dim() -> Three:
    """Blocks of a cluster along x, y, z."""
    x, y, z = kernel_body().cluster
    return Int32(x), Int32(y), Int32(z)


@device_function
def block_idx_in_cluster() -> Int32:
    """The block's place in its cluster, counted along x first."""
    x, y, z = block_in_cluster_idx()
    width, height, _ = kernel_body().cluster
    rank: Int32 = x + (y + z * height) * width
    return rank


@device_function
def cluster_size() -> Int32:
    """Blocks of a cluster."""
    x, y, z = kernel_body().cluster
    return Int32(x * y * z)


def _three(name: str, most: tuple[int | None, int | None, int | None] = (None, None, None)) -> Three:
    """The numbers along the three axes, and the most that each may be; None where the type is all that bounds it."""
    trace = device_trace()
    x, y, z = (
        _int32(trace.value(name, (), "index", {"dimension": trace.builder.attribute(f"#gpu<dim {axis}>")}), upper)
        for axis, upper in zip("xyz", most, strict=True)
    )
    return x, y, z


def _most_threads() -> tuple[int, int, int]:
    """The most threads of a block along each axis: as many as the launch says, or as the machine can have."""
    extents = zip(kernel_body().block, device_model().threads_by_dimension, strict=True)
    x, y, z = (extent if isinstance(extent, int) else most for extent, most in extents)
    return x, y, z


def _int32(index: Value, upper: int | None) -> Int32:
    trace = device_trace()
    place = Int32.of(trace.value("arith.index_cast", (index,), "i32"), trace.region)
    trusted_int(place, lower=0, upper=upper)  # the layout algebra divides it in one instruction, and in 32 bits
    return place


def _is_one(extent: object) -> bool:
    return isinstance(extent, int) and extent == 1


def _extent(axis: int) -> Any:
    known = kernel_body().block[axis]
    return known if isinstance(known, int) else block_dim()[axis]


def _quotient(index: Int32, size: int) -> Int32:
    return index if size == 1 else (index.to(Uint32) // size).to(Int32)


def _remainder(index: Int32, size: int) -> Int32:
    return Int32(0) if size == 1 else (index.to(Uint32) % size).to(Int32)
