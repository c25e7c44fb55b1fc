"""Matrix instructions of a warp and of a warpgroup: D = A * B + C on a small tile that lies in registers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from triptych.layout import Layout
from triptych.support.dataclass import dataclass
from triptych.support.forking import lazy

REGISTER_BITS = 32
WIDTHS = {
    "f64": 64,
    "f32": 32,
    "s32": 32,
    "tf32": 32,
    "f16": 16,
    "bf16": 16,
    "s8": 8,
    "u8": 8,
    "e4m3": 8,
    "e5m2": 8,
    "e4m3fnuz": 8,
    "e5m2fnuz": 8,
    "e2m1": 4,
}
"""Bits of the element types."""


@dataclass(frozen=True)
class WarpMma:
    """One instruction. Tiles are A (m, k), B (n, k), and C and D (m, n)."""

    shape_mnk: tuple[int, int, int]
    a: str
    b: str
    accumulator: str
    since: int
    """The first generation of GPUs that has it."""
    threads: ClassVar[int] = 32
    """Who execute it together."""

    @property
    def name(self) -> str:
        """Its name in modules: shape and types as PTX writes them, D A B C."""
        m, n, k = self.shape_mnk
        return f"m{m}n{n}k{k}.{self.accumulator}.{self.a}.{self.b}.{self.accumulator}"

    @lazy
    def tv_a(self) -> Layout:
        """(thread, value) -> m + M * k."""
        m, _, k = self.shape_mnk
        return _thread_value_layout(m, k, elements_per_register(self.a))

    @lazy
    def tv_b(self) -> Layout:
        """(thread, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return _thread_value_layout(n, k, elements_per_register(self.b))

    @lazy
    def tv_c(self) -> Layout:
        """(thread, value) -> m + M * n."""
        m, n, _ = self.shape_mnk
        return _thread_value_layout(m, n, 2)


def elements_per_register(kind: str) -> int:
    """How many elements of a type one register holds; an element of 64 bits counts as a register."""
    return max(REGISTER_BITS // WIDTHS[kind], 1)


def register_bytes(kind: str) -> int:
    """Of a register that holds such elements."""
    return max(REGISTER_BITS, WIDTHS[kind]) // 8


def _thread_value_layout(rows: int, columns: int, together: int) -> Layout:
    """Eight rows for each group of four threads; a thread has `together` columns side by side, then further rows, then
    the columns after those of the whole group."""
    wide = 4 * together
    counts = (together, rows // 8, columns // wide)
    strides = (rows, 8, rows * wide)
    kept = [(count, stride) for count, stride in zip(counts, strides, strict=True) if count > 1]
    shape, stride = zip(*kept, strict=True) if kept else ((1,), (0,))
    if len(shape) == 1:
        return Layout(((4, 8), shape[0]), ((rows * together, 1), stride[0]))
    return Layout(((4, 8), shape), ((rows * together, 1), stride))


def _instructions() -> tuple[WarpMma, ...]:
    halves = [WarpMma((16, 8, k), kind, kind, "f32", 80) for kind in ("f16", "bf16") for k in (8, 16)]
    halves += [WarpMma((16, 8, k), "f16", "f16", "f16", 80) for k in (8, 16)]
    tf32 = [WarpMma((16, 8, k), "tf32", "tf32", "f32", 80) for k in (4, 8)]
    bytes_ = [WarpMma((16, 8, k), a, b, "s32", 80) for a in ("s8", "u8") for b in ("s8", "u8") for k in (16, 32)]
    fp8 = [WarpMma((16, 8, 32), a, b, "f32", 89) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    return (*halves, *tf32, *bytes_, *fp8)


WARP_MMAS = {instruction.name: instruction for instruction in _instructions()}
"""Every instruction by its name."""


@dataclass(frozen=True)
class ScaledWarpMma(WarpMma):
    """One instruction with block scales: every product of A and B is multiplied by a scale of a row of A and one of a
    row of B, which neighbours along K share.

    A thread gives the scales of a row as the low bytes of a register: for row m of A the thread 4 * (m % 8) + m / 8,
    for row n of B the thread 4 * n. Others may hold the same.
    """

    kind: str
    scale: str
    """The type of the scales: ue8m0, a power of two, or ue4m3."""
    scales: int
    """How many a row has."""

    @property
    def name(self) -> str:
        """Its name in modules: shape, kind, number of scales, types."""
        m, n, k = self.shape_mnk
        types = f"{self.accumulator}.{self.a}.{self.b}.{self.accumulator}.{self.scale}"
        return f"m{m}n{n}k{k}.{self.kind}.scale.{self.scales}x.{types}"

    @property
    def container_bits(self) -> int:
        """Bits of a register for one element: those of `mxf8f6f4` have a byte each, e2m1 in the bits 2 to 5 of it."""
        return 8 if self.kind == "mxf8f6f4" else 4

    @property
    def vector(self) -> int:
        """Elements along K that share a scale."""
        return self.shape_mnk[2] // self.scales

    @lazy
    def tv_a(self) -> Layout:
        """(thread, value) -> m + M * k."""
        m, _, k = self.shape_mnk
        return _thread_value_layout(m, k, REGISTER_BITS // self.container_bits)

    @lazy
    def tv_b(self) -> Layout:
        """(thread, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return _thread_value_layout(n, k, REGISTER_BITS // self.container_bits)

    @lazy
    def tv_scales_a(self) -> Layout:
        """(thread, value) -> m + M * k, a value for each element of K; layouts of scales join those that share one."""
        m, _, k = self.shape_mnk
        return Layout(((2, 2, 8), k), ((8, 0, 1), m))

    @lazy
    def tv_scales_b(self) -> Layout:
        """(thread, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return Layout(((4, 8), k), ((0, 1), n))


def _scaled_instructions() -> Iterator[ScaledWarpMma]:
    wide, deep = (16, 8, 32), (16, 8, 64)
    bytes_ = ("e4m3", "e5m2", "e2m1")
    for a in bytes_:
        yield from (ScaledWarpMma(wide, a, b, "f32", 120, "mxf8f6f4", "ue8m0", 1) for b in bytes_)
    yield ScaledWarpMma(deep, "e2m1", "e2m1", "f32", 120, "mxf4", "ue8m0", 2)
    yield ScaledWarpMma(deep, "e2m1", "e2m1", "f32", 120, "mxf4nvf4", "ue4m3", 4)


SCALED_WARP_MMAS = {instruction.name: instruction for instruction in _scaled_instructions()}
"""Every instruction with block scales by its name."""

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
        return _warpgroup_thread_value_layout(self.shape_mnk[1], 2)

    @lazy
    def tv_a(self) -> Layout:
        """(thread, value) -> m + 64 * k for A in registers."""
        return _warpgroup_thread_value_layout(self.shape_mnk[2], elements_per_register(self.a))

    @lazy
    def tv_shared_a(self) -> Layout:
        """(thread, value) -> m + 64 * k for A in shared memory."""
        m, _, k = self.shape_mnk
        return Layout((WARPGROUP_THREADS, (m, k)), (0, (1, m)))

    @lazy
    def tv_b(self) -> Layout:
        """(thread, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return Layout((WARPGROUP_THREADS, (n, k)), (0, (1, n)))


def _warpgroup_thread_value_layout(columns: int, together: int) -> Layout:
    """Sixteen rows for each warp and eight for each group of four threads of it; a thread has `together` columns side
    by side, then the row eight further, then the columns after those of the whole group."""
    wide = 4 * together
    counts, strides = (together, 2, columns // wide), (ROWS, 8, ROWS * wide)
    first = 1 if together == 1 else 0  # elements as wide as a register have no neighbours in it
    return Layout(((4, 8, 4), counts[first:]), ((ROWS * together, 1, 16), strides[first:]))


def _warpgroup_instructions() -> Iterator[WarpgroupMma]:
    columns = range(8, 257, 8)
    fp8 = ("e4m3", "e5m2")
    kinds = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32")]
    kinds += [(a, b, accumulator) for a in fp8 for b in fp8 for accumulator in ("f32", "f16")]
    for a, b, accumulator in kinds:
        depth = DEPTH_BYTES * 8 // WIDTHS[a]
        yield from (WarpgroupMma((ROWS, n, depth), a, b, accumulator) for n in columns)
    for a, b in ((a, b) for a in ("s8", "u8") for b in ("s8", "u8")):
        yield from (WarpgroupMma((ROWS, n, DEPTH_BYTES), a, b, "s32") for n in columns if n in (8, 24) or n % 16 == 0)


WARPGROUP_MMAS = {instruction.name: instruction for instruction in _warpgroup_instructions()}
"""Every instruction by its name."""
