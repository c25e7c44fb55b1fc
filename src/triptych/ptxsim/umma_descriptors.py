"""Instruction descriptors of UMMA: what 32 bits say of shapes and types; and how elements of a type lie in bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from triptych.ptxsim.block_scales import SCALED, ScaleForm
from triptych.ptxsim.conversions import Numbers
from triptych.ptxsim.matrices import FACTORS
from triptych.ptxsim.operands import WARP
from triptych.ptxsim.tensor_memory import LANES, TensorMemoryError

_NARROW = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_FACTORS = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": _NARROW,
    "i8": {0: "u8", 1: "s8"},
    "mxf8f6f4": _NARROW,
    "mxf4": {1: "e2m1x2"},
    "mxf4nvf4": {1: "e2m1x2"},
}
"""By the kind of the instruction, and the number in the descriptor."""
_SUMS = {
    "f16": {0: "f16", 1: "f32"},
    "tf32": {1: "f32"},
    "f8f6f4": {0: "f16", 1: "f32"},
    "i8": {2: "s32"},
}
_SMALL: dict[str, tuple[int, Any]] = {
    "e2m1": (4, ml_dtypes.float4_e2m1fn),
    "e2m3": (6, ml_dtypes.float6_e2m3fn),
    "e3m2": (6, ml_dtypes.float6_e3m2fn),
}
"""Types of less than a byte: their bits, of which 16 elements are in 16 bytes, at their beginning. `e2m1x2` are two in
each byte."""
_RESERVED = 0b111 | 1 << 6 | 1 << 23 | 1 << 29 | 3 << 30
"""Of dense products; those of sparse ones, too."""
_RESERVED_SCALED = 0b1111 | 1 << 6
_DEPTH_BYTES, _LONG_DEPTH_BYTES = 32, 48
"""What an instruction takes of a row of A or B; of K = 96, which elements of four bits have, the larger one."""


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """One instruction. Rows and columns are those of both blocks where there are two."""

    m: int
    n: int
    ctas: int
    sum: str
    left: str
    right: str
    negated: tuple[bool, bool]
    transposed: tuple[bool, bool]
    saturates: bool = False
    scales: ScaleForm | None = None
    depth_bytes: int = _DEPTH_BYTES

    @property
    def is_long(self) -> bool:
        """Whether it is a product of K = 96."""
        return self.depth_bytes == _LONG_DEPTH_BYTES

    def accumulators(self, lane: int, first: int, what: str) -> tuple[Any, Any]:
        """The lanes and columns of D (rows of one block, columns), which begins at a lane and a column."""
        rows, columns = np.arange(self.m // self.ctas)[:, None], np.arange(self.n)[None, :]
        if lane != 0 and (self.m != 64 or lane != 16):
            raise TensorMemoryError(f"{what}: D of {self.m} rows begins in lane {lane}")
        if self.ctas == 2 and self.m == LANES:
            half = self.n // 2
            return rows + LANES // 2 * (columns // half), first + columns % half + 0 * rows
        if self.m == LANES // 2:
            rows = rows // 16 * WARP + rows % 16 + lane
        return rows + 0 * columns, first + columns + 0 * rows


def decoded(bits: int, kind: str, ctas: int, what: str) -> InstructionDescriptor:
    """What a descriptor says to an instruction of a kind."""
    if kind not in _SUMS:
        raise TensorMemoryError(f"{what}: kind::{kind} is not known here")
    reserved = bits & (_RESERVED | (0 if kind == "i8" else 1 << 3) | (3 << 13 if kind == "i8" else 0))
    if reserved:
        raise TensorMemoryError(f"{what}: the instruction descriptor {bits:#010x} has bits {reserved:#x}")
    total, left, right = (
        table.get(bits >> at & mask)
        for table, at, mask in ((_SUMS[kind], 4, 3), (_FACTORS[kind], 7, 7), (_FACTORS[kind], 10, 7))
    )
    if total is None or left is None or right is None:
        raise TensorMemoryError(f"{what}: the instruction descriptor {bits:#010x} has a type that {kind} has not")
    m, n = (bits >> 24 & 31) << 4, (bits >> 17 & 63) << 3
    said = InstructionDescriptor(
        m, n, ctas, total, left, right, _flags(bits, 13), _flags(bits, 15), bool(bits >> 3 & 1)
    )
    if (left != right and kind == "f16") or (left == "bf16" and total == "f16") or not _has_shape(said, kind):
        raise TensorMemoryError(f"{what}: there is no product {said}")
    _check_majors(said, what)
    return said


def decoded_scaled(bits: int, kind: str, count: int, ctas: int, what: str) -> InstructionDescriptor:
    """What a descriptor says to an instruction with block scales, so many for each row."""
    if reserved := bits & _RESERVED_SCALED:
        raise TensorMemoryError(f"{what}: the instruction descriptor {bits:#010x} has bits {reserved:#x}")
    left, right = (_FACTORS[kind].get(bits >> at & 7) for at in (7, 10))
    if left is None or right is None:
        raise TensorMemoryError(f"{what}: the instruction descriptor {bits:#010x} has a type that {kind} has not")
    is_long = bool(bits >> 31)
    if is_long and left != "e2m1x2":
        raise TensorMemoryError(f"{what}: there is no product of K = 96 of {left}")
    taken = count * 3 // 2 if is_long else count
    scales = ScaleForm("ue8m0" if bits >> 23 & 1 else "ue4m3", taken, (bits >> 29 & 3, bits >> 4 & 3))
    steps = count // 2 if is_long else count
    fits = all(first % steps == 0 and (is_long or first + count <= 4) for first in scales.first)
    if scales.kind not in SCALED[kind, count] or not fits:
        raise TensorMemoryError(f"{what}: there are no factors {scales}")
    m, n = (bits >> 24 & 31) << 4, (bits >> 17 & 63) << 3
    said = InstructionDescriptor(m, n, ctas, "f32", left, right, _flags(bits, 13), _flags(bits, 15), scales=scales)
    said = replace(said, depth_bytes=_LONG_DEPTH_BYTES) if is_long else said
    if m != LANES * ctas or not 8 <= n <= 256 or n % (8 * ctas):
        raise TensorMemoryError(f"{what}: there is no product {said}")
    _check_majors(said, what)
    return said


def _check_majors(said: InstructionDescriptor, what: str) -> None:
    for is_mn, each in zip(said.transposed, (said.left, said.right), strict=True):
        if is_mn and each in (*_SMALL, "e2m1x2"):
            raise TensorMemoryError(f"{what}: rows of {said.left} and {said.right} must lie along K")


def _flags(bits: int, at: int) -> tuple[bool, bool]:
    return bool(bits >> at & 1), bool(bits >> at + 1 & 1)


def _has_shape(said: InstructionDescriptor, kind: str) -> bool:
    m, n = said.m, said.n
    if m not in ((64, 128) if said.ctas == 1 else (128, 256)) or not 8 <= n <= 256:
        return False
    if kind == "i8":
        return n % (16 * said.ctas) == 0 or (m == 64 and n in (8, 24))
    return n % (8 * said.ctas) == 0


def elements(data: Numbers, kind: str) -> Any:
    """Rows of bytes as rows of numbers; of tf32 the lower bits are not looked at."""
    data = np.ascontiguousarray(data)
    if kind == "tf32":
        return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if kind == "e2m1x2":
        both = np.stack([data & np.uint8(15), data >> np.uint8(4)], axis=2)
        return both.view(ml_dtypes.float4_e2m1fn).astype(np.float32).reshape(len(data), -1)
    if kind not in _SMALL:
        return data.view(FACTORS[kind])
    bits, dtype = _SMALL[kind]
    groups = data.reshape(len(data), -1, 16)[..., : 2 * bits]
    each = np.unpackbits(groups, axis=2, bitorder="little").reshape(len(data), -1, 16, bits)
    numbers = np.packbits(each, axis=3, bitorder="little")[..., 0]
    return numbers.view(dtype).astype(np.float32).reshape(len(data), -1)
