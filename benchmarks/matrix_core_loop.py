"""The main loop of a product from LDS on an MI300: 4 x 4 tiles of 32x32x8 for a wave, by kinds of instructions.

    python -m benchmarks.matrix_core_loop [--json]

A block of one wave has 128 rows and 128 columns, its factors in LDS whole. Two slices of k are one turn of the loop,
since a lane then loads 16 bytes of a row at once. It is compiled, not run: no card was asked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.matrix_core_gemm import SHARED, load_of, product
from benchmarks.rows import Row, run
from triptych import cute
from triptych.cute import amdgpu
from triptych.cute.runtime import from_dlpack

SIDE, DEPTH = 128, 128
TARGET = "amdgpu:gfx942"
OPERATION = amdgpu.MFMA(32, 32, 8, tt.Float16)


@tt.kernel
def from_shared_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
    """One tile: y = x @ w.T for x (128, 128), w (128, 128)."""
    dtype = x.element_type
    thread, _, _ = cute.arch.thread_idx()
    mma = product(OPERATION, (1, 1))
    smem = cute.SmemAllocator()
    tiles = [smem.allocate_tensor(dtype, SHARED.swizzled(dtype, SIDE, DEPTH, 1), byte_alignment=1024) for _ in "xw"]
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    for source, tile in zip((x, w), tiles, strict=True):
        part = copy.get_slice(thread)
        cute.copy(copy, part.partition_S(source), part.partition_D(tile[None, None, 0]))
    cute.arch.sync_threads()

    mine = mma.get_slice(thread)
    slices = [cute.local_tile(tile[None, None, 0], (SIDE, 16), (0, None)) for tile in tiles]
    rows = mma.make_fragment_A(mine.partition_A(slices[0])[None, None, None, 0])
    columns = mma.make_fragment_B(mine.partition_B(slices[1])[None, None, None, 0])
    load_x, load_w = cute.make_tiled_copy_A(load_of(OPERATION), mma), cute.make_tiled_copy_B(load_of(OPERATION), mma)
    parts_x, parts_w = load_x.get_slice(thread).partition_S(slices[0]), load_w.get_slice(thread).partition_S(slices[1])
    part_y = mine.partition_C(y)
    sums = mma.make_fragment_C(part_y)
    sums.fill(0.0)
    for i in tt.range(DEPTH // 16, unroll=1):
        cute.copy(load_x, parts_x[None, None, None, i], load_x.retile(rows))
        cute.copy(load_w, parts_w[None, None, None, i], load_w.retile(columns))
        cute.gemm(mma, sums, rows, columns, sums)
    cute.autovec_copy(sums, part_y)


@tt.jit
def from_shared(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
    from_shared_kernel(x, w, y).launch(grid=1, block=64)


def operands() -> list[Any]:
    """Tensors of the extents that the program has."""
    factors = (np.zeros((SIDE, DEPTH), np.float16) for _ in "xw")
    return [from_dlpack(each, assumed_align=16) for each in (*factors, np.zeros((SIDE, SIDE), np.float32))]


@dataclass(frozen=True)
class Loop:
    """The names of the instructions of one turn."""

    names: tuple[str, ...]

    def count(self, pattern: str) -> int:
        return sum(re.match(pattern, name) is not None for name in self.names)


def main_loop(assembly: str) -> Loop:
    """The loop with the most matrix instructions, among those of one block."""
    found = []
    for block in re.split(r"^(?=\.LBB)", assembly, flags=re.MULTILINE):
        label = block.partition(":")[0]
        words = [line.split() for line in block.splitlines() if line.startswith("\t") and line[1:2] not in ".;"]
        ends = [i for i, word in enumerate(words) if word[0].startswith("s_cbranch") and word[-1] == label]
        found += [Loop(tuple(word[0] for word in words[: end + 1])) for end in ends]
    return max(found, key=lambda loop: loop.count("v_mfma"))


def rows() -> Iterator[Row]:
    made = tt.compile(from_shared, *operands(), target=TARGET)
    loop, (kernel,) = main_loop(made.asm), made.resources.values()
    yield Row("instructions of a turn", len(loop.names), "", 57)
    yield Row("MFMA", loop.count("v_mfma"), "", 32)
    yield Row("reads of LDS", loop.count("ds_read"), "", 8)
    yield Row("moves between registers", loop.count("v_mov|v_accvgpr"), "", 0)
    yield Row("spills", kernel.spills, "", 0)
    yield Row("bytes of scratch", kernel.scratch, "", 0)
    yield Row("registers of a thread", kernel.registers, "")
    yield Row("of those accumulation registers", kernel.accumulation_registers, "")


def measure() -> Sequence[Row]:
    return list(rows())


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
