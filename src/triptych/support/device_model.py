"""Device model: lanes, threads, blocks and memories of a machine that runs kernels, as programs count with them.

A target states it, the meta-stage asks for it while it traces, and kernels that were traced for another machine than
`COMMON` carry it, so that every pass can ask as well.
"""

from __future__ import annotations

from dataclasses import dataclass

Three = tuple[int, int, int]

_MOST_LANES = 64
"""A mask of lanes is an integer with a bit for each."""


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """The defaults are those of every NVIDIA GPU: a program that runs on the CPU is to run there."""

    lanes: int = 32
    """Threads of a warp."""
    threads: int = 1024
    """Threads that a block may have."""
    threads_by_dimension: Three = (1024, 1024, 64)
    blocks_by_dimension: Three = (2**31 - 1, 2**31 - 1, 2**31 - 1)
    shared_bytes: int = 227 * 1024
    """Shared memory that a block may ask for: what the largest GPUs give."""
    assembly: str = ""
    """The assembly language that kernels may have text of: `ptx`, or none."""

    def __post_init__(self) -> None:
        if self.lanes not in (1 << n for n in range(1, _MOST_LANES.bit_length())) or self.threads % self.lanes:
            raise ValueError(
                f"a warp has a power of two of lanes, 2 to {_MOST_LANES}, and a block a multiple of them: {self}"
            )

    @property
    def all_lanes(self) -> int:
        """A mask with a bit for each lane."""
        return (1 << self.lanes) - 1

    @property
    def mask_bits(self) -> int:
        """How wide an integer is that masks of lanes are kept in."""
        return max(self.lanes, 32)

    @property
    def warps(self) -> int:
        """The most that a block has."""
        return self.threads // self.lanes


COMMON = DeviceModel()
"""What programs can count on where no target says otherwise."""
