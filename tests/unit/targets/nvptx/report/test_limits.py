"""How many blocks fit, computed by hand from NVIDIA's public rules, and what the next step takes.

Limits of a multiprocessor: "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide
(docs.nvidia.com/cuda/cuda-c-programming-guide), and "Occupancy" of the tuning guides for Ampere, Ada and Hopper:
65,536 registers; 2,048 threads and 32 blocks (8.0, 9.0, 10.x), 1,536 threads and 16 (8.6) or 24 blocks (8.9, 12.0);
164, 100 and 228 KiB of shared memory, of which each block takes 1 KiB for the system. How they are given out:
`cuda_occupancy.h` of the CUDA toolkit: registers by warps in units of 256, warps in fours, shared memory in units of
128 bytes. A program around that header gave our numbers for these and for 20,000 drawn combinations.
"""

from __future__ import annotations

import pytest

from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.report.resources import Need, limits, next_step

KIB = 1024
BY_HAND = [
    # architecture, threads, registers, shared bytes, blocks
    ("sm_80", 256, 32, 0, 8),  # 1,024 of a warp: 64 warps, 8 blocks; threads: 8
    ("sm_80", 256, 33, 0, 6),  # 1,056 -> 1,280: 51 -> 48 warps
    ("sm_80", 256, 64, 0, 4),  # 2,048: 32 warps
    ("sm_80", 256, 65, 0, 3),  # 2,080 -> 2,304: 28 warps
    ("sm_80", 256, 128, 0, 2),  # 4,096: 16 warps
    ("sm_80", 256, 255, 0, 1),  # 8,160 -> 8,192: 8 warps
    ("sm_80", 1024, 32, 0, 2),  # 64 warps of 32
    ("sm_80", 1024, 64, 0, 1),
    ("sm_80", 1024, 65, 0, 0),  # 28 warps, and a block has 32: no launch
    ("sm_80", 32, 16, 0, 32),  # threads would allow 64: the most blocks
    ("sm_80", 64, 16, 0, 32),
    ("sm_80", 128, 40, 48 * KIB, 3),  # 49 KiB of 164: 3; registers: 48 warps, 12 blocks
    ("sm_80", 128, 40, 163 * KIB, 1),  # 164 of 164
    ("sm_80", 128, 40, 163 * KIB + 1, 0),
    ("sm_80", 96, 40, 0, 16),  # 48 warps of 3; threads: 21
    ("sm_80", 192, 56, 0, 6),  # 1,792: 36 warps of 6; threads: 10
    ("sm_80", 128, 32, 54_784, 3),  # 55,808 = 436 * 128, three times 167,424 of 167,936
    ("sm_80", 128, 32, 54_954, 2),  # 55,978 -> 56,064, three times 168,192
    ("sm_86", 256, 32, 0, 6),  # threads: 1,536 / 256; registers: 8
    ("sm_86", 256, 40, 0, 6),  # 1,280: 48 warps, 6 blocks too
    ("sm_86", 256, 48, 0, 5),  # 1,536: 42 -> 40 warps
    ("sm_86", 1024, 32, 0, 1),  # threads
    ("sm_86", 32, 32, 0, 16),  # blocks
    ("sm_86", 128, 32, 32 * KIB, 3),  # 33 KiB of 100
    ("sm_86", 128, 32, 99 * KIB, 1),
    ("sm_89", 32, 32, 0, 24),  # blocks
    ("sm_89", 64, 24, 4_000, 20),  # 5,024 -> 5,120 of 102,400; registers: 768, 85 -> 84 warps of 2
    ("sm_90", 384, 168, 0, 1),  # 5,376: 12 warps
    ("sm_90", 128, 168, 0, 3),
    ("sm_90", 256, 32, 227 * KIB, 1),
    ("sm_90", 256, 32, 113 * KIB, 2),  # 114 KiB twice: 228
    ("sm_90a", 160, 90, 98_368, 2),  # 99,392 -> 99,456 of 233,472; registers: 3,072, 20 warps of 5
    ("sm_100a", 512, 64, 0, 2),  # 32 warps of 16
    ("sm_120a", 128, 80, 0, 6),  # 2,560: 25 -> 24 warps
    ("sm_120a", 32, 255, 0, 8),
]


@pytest.mark.parametrize(("name", "threads", "registers", "shared", "blocks"), BY_HAND)
def test_blocks_at_once(name: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert limits(Need(threads, registers, shared), ARCHITECTURES[name]).blocks == blocks


@pytest.mark.parametrize(
    ("name", "need", "first", "step"),
    [
        # 84 registers: 2,816, 20 warps of 8. Three blocks are 24 warps: 2,730 -> 2,560 of each, 80 registers
        ("sm_80", Need(256, 84, 0), ("registers",), "4 registers fewer: 3 blocks instead of 2"),
        ("sm_80", Need(256, 33, 0), ("registers",), "1 register fewer: 8 blocks instead of 6"),
        # a quarter of 164 KiB is 41,984 bytes, 40,960 without those of the system
        (
            "sm_80",
            Need(128, 40, 48 * KIB),
            ("shared memory",),
            "8,192 bytes of shared memory fewer: 4 blocks instead of 3",
        ),
        # two blocks in 100 KiB: 50 KiB each
        (
            "sm_86",
            Need(128, 168, 99 * KIB),
            ("shared memory",),
            "51,200 bytes of shared memory fewer: 2 blocks instead of 1",
        ),
        # registers: 128 are 16 warps, two blocks of 8; shared: 75 KiB twice of 164. For three: 80, and 53.6 KiB
        (
            "sm_80",
            Need(256, 128, 74 * KIB),
            ("registers", "shared memory"),
            "48 registers and 20,864 bytes of shared memory fewer: 3 blocks instead of 2",
        ),
        ("sm_86", Need(1024, 32, 0), ("threads",), "256 threads fewer: 2 blocks instead of 1"),
        ("sm_80", Need(32, 16, 0), ("blocks",), ""),
        ("sm_80", Need(256, 32, 0), ("registers", "threads"), ""),  # all 64 warps are there
        (
            "sm_80",
            Need(128, None, 48 * KIB),
            ("shared memory",),
            "8,192 bytes of shared memory fewer: 4 blocks instead of 3",
        ),
    ],
)
def test_next_step(name: str, need: Need, first: tuple[str, ...], step: str) -> None:
    assert limits(need, ARCHITECTURES[name]).first == first
    assert next_step(need, ARCHITECTURES[name]) == step
