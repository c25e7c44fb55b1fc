"""`Tiling`: a dataclass of the user's own fields, and sentences about what does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

from triptych.targets.nvptx.description.architectures import WARP
from triptych.workbench.devices import Device

_MOST_IN_A_CLUSTER = 8
"""Blocks that every GPU with clusters takes; more need a launch attribute, and not every device has them."""
_FIRST_WITH_CLUSTERS = 90


class Tiling:
    """Subclass it as a dataclass. `pd` are the dimensions of the problem, whatever the plan takes them to be."""

    def validate(self, pd: Any) -> bool:
        """Whether the tiling suits the problem."""
        return True

    def problems(self, pd: Any, device: Device) -> list[str]:
        """What does not fit, by how much, and the nearest value that does; nothing if it can run."""
        return [] if self.validate(pd) else [f"{self} does not suit the problem {pd}"]

    def parameters(self) -> dict[str, Any]:
        """Its fields, as they are tuned and recorded."""
        as_dict: Any = asdict
        return dict(as_dict(self) if is_dataclass(type(self)) else vars(self))


def stage_bytes(stages: int, *tiles: tuple[int, int, int]) -> int:
    """Shared memory of buffers that hold `stages` of each tile (rows, columns, bits of an element)."""
    return stages * sum(-(-rows * columns * bits // 8) for rows, columns, bits in tiles)


def shared_problems(device: Device, stages: int, *tiles: tuple[int, int, int]) -> Iterator[str]:
    """Whether a block's buffers fit; the nearest is fewer stages."""
    limit, used = device.shared_of_a_block, stage_bytes(stages, *tiles)
    if limit and used > limit:
        most = limit // max(1, stage_bytes(1, *tiles))
        nearest = f"at most {most} stages fit" if most else "not even one stage fits: a smaller tile"
        yield f"{used} bytes of shared memory are {used - limit} more than a block of {device.name} has; {nearest}"


def thread_problems(device: Device, threads: int) -> Iterator[str]:
    """Whether a block has whole warps, and not too many threads."""
    if threads > device.threads_of_a_block:
        yield f"{threads} threads are {threads - device.threads_of_a_block} more than a block of {device.name} has"
    if threads % WARP:
        fewer, more = threads // WARP * WARP or WARP, -(-threads // WARP) * WARP
        yield f"{threads} threads are no whole warps; {fewer} or {more} are"


def register_problems(device: Device, threads: int, registers: int) -> Iterator[str]:
    """Whether a thread has not too many registers, and a block not more than there are."""
    if registers > device.registers_of_a_thread:
        yield f"{registers} registers are more than the {device.registers_of_a_thread} of a thread of {device.name}"
    if device.registers and threads * registers > device.registers:
        most = device.registers // threads
        yield f"{threads} threads of {registers} registers need {threads * registers} of {device.registers}; {most} fit"


def cluster_problems(device: Device, shape: tuple[int, int], grid: tuple[int, int]) -> Iterator[str]:
    """Whether clusters exist, are not too large, and divide the grid."""
    blocks = shape[0] * shape[1]
    if blocks == 1:
        return
    digits = "".join(filter(str.isdigit, device.architecture))
    if not digits or int(digits) < _FIRST_WITH_CLUSTERS:
        yield f"{device.name} has no clusters; a shape of (1, 1) runs"
    if blocks > _MOST_IN_A_CLUSTER:
        yield f"a cluster of {blocks} blocks is {blocks - _MOST_IN_A_CLUSTER} more than every device takes"
    for name, extent, step in zip(("rows", "columns"), grid, shape, strict=True):
        if extent % step:
            yield f"{extent} {name} of blocks are no multiple of {step}; {-(-extent // step) * step} are"


def multiple_problems(**extents: tuple[int, int]) -> Iterator[str]:
    """Whether extents are multiples of their tiles, as `m=(100, 64)`."""
    for name, (extent, tile) in extents.items():
        if extent % tile:
            yield f"{name} = {extent} is no multiple of {tile}; {-(-extent // tile) * tile} is"
