"""Tensor maps: 128 bytes that describe a tensor and the boxes that are copied of it, and where a box' elements lie.

The bytes are packed in a way of this file's own: a mark, nothing up to byte 16, then one field after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

BYTES = 128
_MARK = 0x7E5507AB
_FIELDS = struct.Struct("<I12x6B2xQ5Q4Q5H5B")
ELEMENTS: tuple[Any, ...] = (
    np.uint8,
    np.uint16,
    np.uint32,
    np.int32,
    np.uint64,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    np.float32,  # flushes what is not normal
    np.float32,  # tf32
    np.float32,  # tf32, which flushes
)
"""By the number that the driver gives a type."""
_SWIZZLED_BYTES = {1: 32, 2: 64, 3: 128, 4: 128}
_WIDE_PIECES = 4
"""The swizzle of 128 bytes that keeps 32 of them together."""
_REPLACED = {
    "global_address": "base",
    "global_dim": "extents",
    "global_stride": "strides",
    "box_dim": "box",
    "element_stride": "element_strides",
    "swizzle_mode": "swizzle",
    "fill_mode": "fill",
}


class MapError(Exception):
    """What a driver would call an invalid value, or a GPU an invalid map."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor of up to five dimensions, the innermost first."""

    type: int
    rank: int
    base: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes, of all dimensions but the innermost."""
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0

    @property
    def dtype(self) -> Any:
        return np.dtype(ELEMENTS[self.type])

    @property
    def box_bytes(self) -> int:
        return int(np.prod(self.box)) * int(self.dtype.itemsize)

    def checked(self) -> TensorMap:
        """With everything within the limits of NVIDIA's manual."""
        _require(0 <= self.type < len(ELEMENTS), f"type {self.type}")
        _require(1 <= self.rank <= 5, f"rank {self.rank}")
        for name, numbers, count in (
            ("extents", self.extents, self.rank),
            ("strides", self.strides, self.rank - 1),
            ("box", self.box, self.rank),
            ("element strides", self.element_strides, self.rank),
        ):
            _require(len(numbers) == count, f"{len(numbers)} {name} of rank {self.rank}")
        _require(self.interleave == 0, "interleaved tensors are not known here")
        _require(0 <= self.swizzle <= _WIDE_PIECES and 0 <= self.promotion <= 3 and 0 <= self.fill <= 1, "a mode")
        _require(self.fill == 0 or self.dtype.kind in "fV", "NaN as the value outside of integers")
        _require(self.base % 16 == 0, f"address {self.base:#x} is no multiple of 16")
        _require(all(1 <= extent <= 1 << 32 for extent in self.extents), f"extents {self.extents}")
        _require(all(s % 16 == 0 and 0 <= s < 1 << 40 for s in self.strides), f"strides {self.strides}")
        _require(all(1 <= extent <= 256 for extent in self.box), f"box {self.box}")
        _require(all(1 <= stride <= 8 for stride in self.element_strides), f"element strides {self.element_strides}")
        inner = self.box[0] * self.dtype.itemsize
        _require(inner % 16 == 0, f"a box' row of {inner} bytes is no multiple of 16")
        _require(inner <= _SWIZZLED_BYTES.get(self.swizzle, inner), f"a box' row of {inner} bytes, swizzled")
        return self

    def pack(self) -> bytes:
        def padded(numbers: Sequence[int], count: int) -> list[int]:
            return [*numbers, *[0] * (count - len(numbers))]

        modes = (self.type, self.rank, self.interleave, self.swizzle, self.promotion, self.fill)
        lists = (*padded(self.extents, 5), *padded(self.strides, 4), *padded(self.box, 5))
        packed = _FIELDS.pack(_MARK, *modes, self.base, *lists, *padded(self.element_strides, 5))
        return packed.ljust(BYTES, b"\0")

    def changed(self, field: str, place: int, value: int) -> TensorMap:
        """`tensormap.replace`."""
        name = _REPLACED[field]
        new: Any = value
        if isinstance(numbers := getattr(self, name), tuple):
            if place >= len(numbers):  # of a dimension that it does not have
                return self
            new = (*numbers[:place], value, *numbers[place + 1 :])
        return replace(self, **{name: new})

    # boxes ---------------------------------------------------------------------------------------------------------
    def places(self, first: Sequence[int]) -> tuple[Any, Any]:
        """Where the elements of a box lie in memory, the innermost dimension fastest, and which of them are inside."""
        if any(stride != 1 for stride in self.element_strides):
            raise MapError("element strides other than 1 are not known here")
        steps = (self.dtype.itemsize, *self.strides)
        offsets, inside = np.zeros(1, np.int64), np.ones(1, bool)
        for start, count, extent, step in zip(first, self.box, self.extents, steps, strict=True):
            index = start + np.arange(count, dtype=np.int64)
            offsets = (index[:, None] * step + offsets[None]).reshape(-1)
            inside = (((index >= 0) & (index < extent))[:, None] & inside[None]).reshape(-1)
        return offsets, inside

    def shared_places(self, start: int) -> Any:
        """Where they lie in shared memory: pieces change places as bits 7 and up of their address say."""
        addresses = start + np.arange(int(np.prod(self.box)), dtype=np.int64) * self.dtype.itemsize
        bits, base = (2, 5) if self.swizzle == _WIDE_PIECES else (self.swizzle, 4)
        return addresses ^ ((addresses >> 7) & ((1 << bits) - 1)) << base


def unpacked(data: bytes) -> TensorMap:
    """The map that bytes are."""
    mark, kind, rank, interleave, swizzle, promotion, fill, base, *rest = _FIELDS.unpack(data[: _FIELDS.size])
    if mark != _MARK:
        raise MapError("these 128 bytes are no tensor map")
    extents, strides, box, steps = rest[:5], rest[5:9], rest[9:14], rest[14:]
    lists = (tuple(extents[:rank]), tuple(strides[: rank - 1]), tuple(box[:rank]), tuple(steps[:rank]))
    return TensorMap(kind, rank, base, *lists, interleave, swizzle, promotion, fill)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise MapError(what)
