"""Matrix instructions of a warpgroup: D = A * B [+ D] on 64 rows, by four warps together while they go on.

An entry is a shape and the element types, in the words of PTX. D always lies in registers, B in shared memory, A in
either. Registers are those of four instructions of a warp one below the other, so the layouts (thread, value) -> number
of a coordinate follow from one rule; an operand in shared memory is whole for every thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from triptych.kernel_ir.dialects.warp_mma import WIDTHS, elements_per_register
from triptych.layout import Layout
from triptych.support.forking import lazy

WARPGROUP_WARPS = 4
WARPGROUP_THREADS = 128
ROWS = 64
"""M of every instruction."""
DEPTH_BYTES = 32
"""What an instruction takes of a row of A, or of B: K elements."""


@dataclass(frozen=True)
class WarpgroupMma:
    """One instruction. Tiles are A (m, k), B (n, k), and D (m, n)."""

    shape_mnk: tuple[int, int, int]
    a: str
    b: str
    accumulator: str

    @property
    def name(self) -> str:
        """Its name in modules: shape and types as PTX writes them, D A B."""
        m, n, k = self.shape_mnk
        return f"m{m}n{n}k{k}.{self.accumulator}.{self.a}.{self.b}"

    @property
    def transposes(self) -> bool:
        """Whether operands in shared memory may be contiguous along M or N."""
        return WIDTHS[self.a] == 16

    @lazy
    def tv_c(self) -> Layout:
        """(thread, value) -> m + 64 * n."""
        return _thread_value_layout(self.shape_mnk[1], 2)

    @lazy
    def tv_a(self) -> Layout:
        """(thread, value) -> m + 64 * k for A in registers."""
        return _thread_value_layout(self.shape_mnk[2], elements_per_register(self.a))

    @lazy
    def tv_shared_a(self) -> Layout:
        """(thread, value) -> m + 64 * k for A in shared memory."""
        m, _, k = self.shape_mnk
        return Layout((WARPGROUP_THREADS, (m, k)), (0, (1, m)))

    @lazy
    def tv_shared_b(self) -> Layout:
        """(thread, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return Layout((WARPGROUP_THREADS, (n, k)), (0, (1, n)))


def _thread_value_layout(columns: int, together: int) -> Layout:
    """Sixteen rows for each warp and eight for each group of four threads of it; a thread has `together` columns side
    by side, then the row eight further, then the columns after those of the whole group."""
    wide = 4 * together
    counts, strides = (together, 2, columns // wide), (ROWS, 8, ROWS * wide)
    first = 1 if together == 1 else 0  # elements as wide as a register have no neighbours in it
    return Layout(((4, 8, 4), counts[first:]), ((ROWS * together, 1, 16), strides[first:]))


def _instructions() -> Iterator[WarpgroupMma]:
    columns = range(8, 257, 8)
    fp8 = ("e4m3", "e5m2")
    kinds = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32")]
    kinds += [(a, b, accumulator) for a in fp8 for b in fp8 for accumulator in ("f32", "f16")]
    for a, b, accumulator in kinds:
        depth = DEPTH_BYTES * 8 // WIDTHS[a]
        yield from (WarpgroupMma((ROWS, n, depth), a, b, accumulator) for n in columns)
    for a, b in ((a, b) for a in ("s8", "u8") for b in ("s8", "u8")):
        yield from (WarpgroupMma((ROWS, n, DEPTH_BYTES), a, b, "s32") for n in columns if n in (8, 24) or n % 16 == 0)


WARPGROUP_MMAS = {instruction.name: instruction for instruction in _instructions()}
"""Every instruction by its name."""
