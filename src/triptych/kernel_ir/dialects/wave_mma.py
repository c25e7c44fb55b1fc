"""Matrix instructions of AMD GPUs: D = A * B + C on a small tile that lies in the registers of a wave.

Input: the rules by which matrix cores deal elements to lanes. Output: `WAVE_MMAS`, the instructions (MFMA of CDNA with
64 threads, WMMA of RDNA 3 and 4 with 32), and `mma_of`, the entry of any `tile.mma`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.mma import WARP_MMAS, WIDTHS, WarpMma
from triptych.layout import Layout
from triptych.support.dataclass import dataclass
from triptych.support.forking import lazy

CDNA = ("gfx90a", "gfx942", "gfx950")
"""MI200, MI300 and MI350, whose waves have 64 threads."""
RDNA3, RDNA4 = ("gfx1100",), ("gfx1201",)
"""Waves of 32 threads."""
MFMA, WMMA3, WMMA4 = "mfma", "wmma11", "wmma12"
"""Families: each has rules of its own for who holds what."""
_THREADS = {MFMA: 64, WMMA3: 32, WMMA4: 32}


@dataclass(frozen=True)
class WaveMma:
    """One instruction. Tiles are A (m, k), B (n, k), and C and D (m, n)."""

    family: str
    shape_mnk: tuple[int, int, int]
    a: str
    b: str
    accumulator: str
    chips: tuple[str, ...]
    """Those that have it."""

    @property
    def name(self) -> str:
        """Its name in modules: the family, the shape, and the types D A B C."""
        m, n, k = self.shape_mnk
        return f"{self.family}.m{m}n{n}k{k}.{self.accumulator}.{self.a}.{self.b}.{self.accumulator}"

    @property
    def threads(self) -> int:
        """Who execute it together."""
        return _THREADS[self.family]

    @lazy
    def tv_a(self) -> Layout:
        """(thread, value) -> m + M * k."""
        m, _, k = self.shape_mnk
        return _multiplied(self.family, m, k, WIDTHS[self.a])

    @lazy
    def tv_b(self) -> Layout:
        """(thread, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return _multiplied(self.family, n, k, WIDTHS[self.b])

    @lazy
    def tv_c(self) -> Layout:
        """(thread, value) -> m + M * n."""
        m, n, _ = self.shape_mnk
        return _sums(self.family, m, n, WIDTHS[self.accumulator])


def _multiplied(family: str, rows: int, depth: int, bits: int) -> Layout:
    """A lane has a row of A, or of B; groups of lanes have different parts of k, a run of neighbours each."""
    if family == WMMA3:  # both halves of the wave hold everything
        return Layout(((rows, 2), depth), ((1, 0), rows))
    groups = _THREADS[family] // rows
    if family == WMMA4 and bits == 16:  # two runs of four neighbours
        return Layout(((rows, groups), (4, 2)), ((1, 4 * rows), (rows, 8 * rows)))
    run = depth // groups
    return Layout(((rows, groups), run), ((1, rows * run), rows))


def _sums(family: str, rows: int, columns: int, bits: int) -> Layout:
    """A lane has numbers of one column."""
    groups = _THREADS[family] // columns
    values = rows // groups
    if family == WMMA4:
        return Layout(((columns, groups), values), ((rows, values), 1))
    if family == WMMA3 or bits == 64:  # rows go around the groups of lanes one by one
        return Layout(((columns, groups), values), ((rows, 1), groups))
    if values == _RUN:
        return Layout(((columns, groups), _RUN), ((rows, _RUN), 1))
    return Layout(((columns, groups), (_RUN, values // _RUN)), ((rows, _RUN), (1, _RUN * groups)))


_RUN = 4
"""Rows of the sums that a lane of CDNA holds side by side."""


def _mfma(shapes: tuple[tuple[int, int, int], ...], a: str, b: str, to: str, chips: tuple[str, ...]) -> list[WaveMma]:
    return [WaveMma(MFMA, shape, a, b, to, chips) for shape in shapes]


_DEEPEST = (16, 16, 32), (32, 32, 16)
"""Shapes that several types share."""
_FLAVOURS = (("", ("gfx950",), True), ("fnuz", ("gfx942",), False))
"""Floats of 8 bits: those of the Open Compute Project, and those with one zero; the chips whose MFMA multiply them, and
whether WMMA do, too."""


def _instructions() -> Iterator[WaveMma]:
    yield from _mfma(((32, 32, 2), (16, 16, 4)), "f32", "f32", "f32", CDNA)
    yield from _mfma(((16, 16, 4),), "f64", "f64", "f64", CDNA)
    yield from _mfma(((16, 16, 8), (32, 32, 4)), "tf32", "tf32", "f32", ("gfx942",))
    for half in ("f16", "bf16"):
        yield from _mfma(((16, 16, 16), (32, 32, 8)), half, half, "f32", CDNA)
        yield from _mfma(_DEEPEST, half, half, "f32", ("gfx950",))
    yield from _mfma(((16, 16, 16), (32, 32, 8)), "s8", "s8", "s32", ("gfx90a",))
    yield from _mfma(_DEEPEST, "s8", "s8", "s32", ("gfx942", "gfx950"))
    yield from _mfma(((16, 16, 64), (32, 32, 32)), "s8", "s8", "s32", ("gfx950",))
    square = (16, 16, 16)
    for family, chips in ((WMMA3, RDNA3), (WMMA4, RDNA4)):
        yield from (WaveMma(family, square, half, half, "f32", chips) for half in ("f16", "bf16"))
        yield from (WaveMma(family, square, a, b, "s32", chips) for a in ("s8", "u8") for b in ("s8", "u8"))
    for flavour, chips, of_rdna in _FLAVOURS:
        for a, b in ((f"{a}{flavour}", f"{b}{flavour}") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")):
            yield from _mfma(_DEEPEST, a, b, "f32", chips)
            if of_rdna:
                yield WaveMma(WMMA4, square, a, b, "f32", RDNA4)


WAVE_MMAS: Mapping[str, WaveMma] = MappingProxyType({each.name: each for each in _instructions()})
"""Every instruction by its name."""

RegisterMma = WarpMma | WaveMma
"""What a `tile.mma` may name."""
_ENTRIES: Mapping[str, Any] = MappingProxyType({**WARP_MMAS, **WAVE_MMAS})


def mma_of(product: Operation) -> RegisterMma:
    """The instruction of a `tile.mma`."""
    entry: RegisterMma = _ENTRIES[str(product.attributes["instruction"].value)]
    return entry
