"""GPU models by the names that they are sold under: what public programs read where there is no GPU, and what
`triptych devices` prints. What an architecture decides (registers, shared memory, threads) is not repeated here.

Every row names where its numbers are public; of memory, what the maker calls a gigabyte is counted as 2**30 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
