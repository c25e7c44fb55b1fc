"""Device model: lanes, threads, blocks and memories of a machine that runs kernels, as programs count with them.

A target states it, the meta-stage asks for it while it traces, and kernels that were traced for another machine than
`COMMON` carry it, so that every pass can ask as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from triptych.support.dataclass import dataclass
from triptych.support.source import Span

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

COUNTED_WHEN_IMPORTED: dict[str, Span] = {}
"""By the name of a module, where it has asked how many lanes a warp has while it was imported: of `COMMON`, whatever
machine its kernels are compiled for later."""


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One GPU."""

    title: str
    architecture: str
    multiprocessors: int
    memory: int
    """Gigabytes."""
    bandwidth: int
    """Of that memory, in gigabytes (10**9) a second."""
    cache: int
    """Megabytes of the second level."""
    source: str

    @property
    def generation(self) -> int:
        """100 of sm_100a."""
        return int(re.sub(r"\D", "", self.architecture))


_AMPERE = "NVIDIA A100 data sheet; NVIDIA A100 Tensor Core GPU Architecture (white paper)"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture (white paper)"
_ADA = "NVIDIA Ada GPU Architecture (white paper)"
_HOPPER = "NVIDIA H100 data sheet; NVIDIA H100 Tensor Core GPU Architecture (white paper)"
_BLACKWELL = (
    "NVIDIA HGX B200 data sheet; multiprocessors and cache as the driver reports them (chipsandcheese.com, B200)"
)

PRODUCTS: Mapping[str, GpuModel] = MappingProxyType(
    {
        "a100": GpuModel("NVIDIA A100", "sm_80", 108, 80, 2039, 40, _AMPERE),
        "a10": GpuModel("NVIDIA A10", "sm_86", 72, 24, 600, 6, f"NVIDIA A10 data sheet; {_GA102}"),
        "rtx3090": GpuModel("NVIDIA GeForce RTX 3090", "sm_86", 82, 24, 936, 6, _GA102),
        "l4": GpuModel("NVIDIA L4", "sm_89", 58, 24, 300, 48, f"NVIDIA L4 data sheet; {_ADA}"),
        "l40s": GpuModel("NVIDIA L40S", "sm_89", 142, 48, 864, 96, f"NVIDIA L40S data sheet; {_ADA}"),
        "rtx4090": GpuModel("NVIDIA GeForce RTX 4090", "sm_89", 128, 24, 1008, 72, _ADA),
        "h100": GpuModel("NVIDIA H100", "sm_90a", 132, 80, 3350, 50, f"{_HOPPER}; the SXM5 board"),
        "h200": GpuModel(
            "NVIDIA H200", "sm_90a", 132, 141, 4800, 50, "NVIDIA H200 data sheet; the chip is that of H100"
        ),
        "b200": GpuModel("NVIDIA B200", "sm_100a", 148, 180, 8000, 126, _BLACKWELL),
        "b300": GpuModel(
            "NVIDIA B300",
            "sm_103a",
            148,
            270,
            8000,
            126,
            "NVIDIA HGX B300 data sheet; no public page gives multiprocessors and cache, which are those of B200 here",
        ),
        "rtx5090": GpuModel(
            "NVIDIA GeForce RTX 5090",
            "sm_120a",
            170,
            32,
            1792,
            96,
            "NVIDIA RTX Blackwell GPU Architecture (white paper)",
        ),
    }
)
"""By the words of the setting `gpu`."""


def product_name(text: str) -> str:
    """A name as people write it, as 'RTX 4090' or 'rtx-4090', as the table has it."""
    return re.sub(r"[\s_-]|nvidia|geforce", "", text.lower())
