"""UMMA instructions (`tcgen05.mma`): one thread multiplies tiles of shared memory into tensor memory.

Input: the name of an instruction, `m128n256k16.f32.f16.f16.cta1`: its shape, the types of D, A and B, and how many CTAs
of a pair compute it; with block scales also their type and how many elements share one, `….cta1.ue4m3x16`. Output: its
layouts, whether there is such an instruction, and the bits that say it.
"""

from __future__ import annotations

import re
from functools import cache

from triptych.kernel_ir.dialects.mma import WIDTHS
from triptych.kernel_ir.dialects.tensor_memory import LANES
from triptych.layout import Layout
from triptych.support.dataclass import dataclass

DEPTH_BITS = 256
"""What an instruction takes of a row of A or B: K elements."""
LONG_DEPTH_BITS = 384
"""What one of K = 96 takes, elements of four bits with block scales: three chunks of 16 bytes, the last of which may be
in a second buffer."""
_NAME = re.compile(r"m(\d+)n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)\.cta([12])(?:\.(\w+)x(\d+))?")
_HALVES, _FP8, _BYTES = ("f16", "bf16"), ("e4m3", "e5m2"), ("s8", "u8")
_D_BITS = {"f16": 0, "f32": 1, "s32": 2}
_SCALE_BITS = {"ue4m3": 0, "ue8m0": 1}
_SCALED_KINDS = {("ue8m0", 32): "mxf4", ("ue4m3", 16): "mxf4nvf4", ("ue8m0", 16): "mxf4nvf4"}
"""Of elements of four bits, by the type of scales and how many elements share one."""
_OPERAND_BITS = {"e2m1": 1, "f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "u8": 0, "s8": 1}


@dataclass(frozen=True)
class Umma:
    """One instruction. Tiles are A (m, k), B (n, k), and D (m, n), of both CTAs where there are two."""

    shape_mnk: tuple[int, int, int]
    accumulator: str
    a: str
    b: str
    ctas: int
    scale: str = ""
    """The type of block scales, or nothing where there are none."""
    vector: int = 0
    """Elements along K that share a scale."""

    @property
    def name(self) -> str:
        """Its name in modules."""
        m, n, k = self.shape_mnk
        scales = f".{self.scale}x{self.vector}" if self.scale else ""
        return f"m{m}n{n}k{k}.{self.accumulator}.{self.a}.{self.b}.cta{self.ctas}{scales}"

    @property
    def scales(self) -> int:
        """Scales of a row."""
        return self.shape_mnk[2] // self.vector if self.scale else 0

    @property
    def is_long(self) -> bool:
        """Whether it is one of K = 96, whose A and B each lie in up to two buffers."""
        return bool(self.scale) and self.shape_mnk[2] * WIDTHS[self.a] == LONG_DEPTH_BITS

    @property
    def kind(self) -> str:
        """What PTX calls its types."""
        if self.is_long:
            return "mxf4nvf4"
        if self.scale:
            return "mxf8f6f4" if self.a in _FP8 else _SCALED_KINDS[self.scale, self.vector]
        if self.a in _HALVES:
            return "f16"
        return {"tf32": "tf32", "e4m3": "f8f6f4", "e5m2": "f8f6f4", "s8": "i8", "u8": "i8"}[self.a]

    def exists(self) -> bool:
        """Whether machines have it."""
        m, n, k = self.shape_mnk
        if self.a not in WIDTHS or self.b not in WIDTHS or k * WIDTHS[self.a] not in (DEPTH_BITS, LONG_DEPTH_BITS):
            return False
        if k * WIDTHS[self.a] == LONG_DEPTH_BITS and (self.a != "e2m1" or not self.scale):
            return False
        if self.scale:
            return self._has_scales() and m == LANES * self.ctas and n in range(8 * self.ctas, 257, 8 * self.ctas)
        return self._has_types() and m in ((64, 128) if self.ctas == 1 else (128, 256)) and n in self._columns(m)

    def _has_types(self) -> bool:
        a, b, d = self.a, self.b, self.accumulator
        if a in _HALVES:
            return a == b and (d == "f32" or (d == "f16" and a == "f16"))
        if a == "tf32":
            return b == a and d == "f32"
        if a in _FP8:
            return b in _FP8 and d in ("f32", "f16")
        return a in _BYTES and b in _BYTES and d == "s32"

    def _has_scales(self) -> bool:
        if self.accumulator != "f32":
            return False
        if self.a in _FP8:
            return self.b in _FP8 and (self.scale, self.vector) == ("ue8m0", 32)
        return self.a == self.b == "e2m1" and (self.scale, self.vector) in _SCALED_KINDS

    def _columns(self, m: int) -> range | tuple[int, ...]:
        if self.a in _BYTES:
            return (
                (8, *range(16, 257, 16)) if self.ctas == 1 and m == 64 else range(16 * self.ctas, 257, 16 * self.ctas)
            )
        step = 8 * self.ctas
        return range(step, 257, step)

    @property
    def columns(self) -> int:
        """Columns of tensor memory that its sums take, in each CTA."""
        m, n, _ = self.shape_mnk
        return n // 2 if self.ctas == 2 and m == LANES else n

    # layouts: the "threads" of an instruction are its CTAs ------------------------------------------------------------
    @property
    def threads(self) -> Layout:
        """The CTAs that compute it together."""
        return Layout(1, 0) if self.ctas == 1 else Layout(2, 1)

    @property
    def tv_a(self) -> Layout:
        """(CTA, value) -> m + M * k."""
        m, _, k = self.shape_mnk
        return self._shared_out(m, k)

    @property
    def tv_b(self) -> Layout:
        """(CTA, value) -> n + N * k."""
        _, n, k = self.shape_mnk
        return self._shared_out(n, k)

    @property
    def tv_c(self) -> Layout:
        """(CTA, value) -> m + M * n."""
        m, n, _ = self.shape_mnk
        return self._shared_out(m, n)

    def _shared_out(self, rows: int, columns: int) -> Layout:
        each = rows // self.ctas
        return Layout((self.ctas, (each, columns)), (each if self.ctas > 1 else 0, (1, rows)))

    # bits -------------------------------------------------------------------------------------------------------------
    def descriptor(self, a_major: int, b_major: int) -> int:
        """The 32 bits of the instruction descriptor; majors are 0 for K and 1 for M or N."""
        m, n, _ = self.shape_mnk
        if self.scale:  # which bytes of a word scales are is added at run time
            types = _OPERAND_BITS[self.a] << 7 | _OPERAND_BITS[self.b] << 10 | _SCALE_BITS[self.scale] << 23
            return types | a_major << 15 | b_major << 16 | n // 8 << 17 | m // 128 << 27 | int(self.is_long) << 31
        types = _D_BITS[self.accumulator] << 4 | _OPERAND_BITS[self.a] << 7 | _OPERAND_BITS[self.b] << 10
        return types | a_major << 15 | b_major << 16 | n // 8 << 17 | m // 16 << 24


@cache
def umma(name: str) -> Umma | None:
    """The instruction of a name; None where there is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    m, n, k, accumulator, a, b, ctas, scale, vector = found.groups()
    made = Umma((int(m), int(n), int(k)), accumulator, a, b, int(ctas), scale or "", int(vector or 0))
    return made if made.exists() else None
