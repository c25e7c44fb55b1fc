"""Shared memory descriptors of WGMMA and of `tcgen05`: which byte each element of a matrix is, from the bits.

Rows of up to 128 bytes lie below one another, eight of them in a pattern; two distances lead to further patterns. Where
the pattern is swizzled, pieces of 16 bytes (or 32) change places as bits 7 and up of their address say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from triptych.ptxsim.conversions import Numbers


class DescriptorError(Exception):
    """Bits that no instruction knows."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pieces of 16 bytes in a row, how many bytes keep together, and rows until the pattern repeats."""

    chunks: int
    unit: int = 16
    rows: int = 8

    def swizzled(self, address: Numbers) -> Any:
        pieces = 16 * self.chunks // self.unit
        return address ^ ((address >> 7) & (pieces - 1)) * self.unit


@dataclass(frozen=True, slots=True)
class SharedMatrix:
    """What a descriptor says; all in bytes."""

    start: int
    leading: int
    stride: int
    pattern: Pattern
    second: int | None = None
    """Where the second buffer begins, in which rows go on that end in the first one."""

    def places(self, rows: int, depth: int, size: int, *, is_transposed: bool) -> Any:
        """The offset in shared memory of each element (row, k), of so many bytes."""
        chunks, high = self.pattern.chunks, self.pattern.rows
        each = 16 // size
        m, k = np.arange(rows)[:, None], np.arange(depth)[None, :]
        if not is_transposed:
            step = self.leading if chunks == 1 else 16
            at = m % 8 * 16 * chunks + m // 8 * self.stride + k // each * step + k % each * size
            if self.second is not None:
                row = 16 * chunks
                inside = self.start % row
                is_beyond = inside + k // each * step >= row
                at = at + np.where(is_beyond, self.second - self.start + inside - row, 0)
        elif chunks > 1:
            wide = each * chunks
            at = m % wide * size + m // wide * self.leading + k % high * 16 * chunks + k // high * self.stride
        else:
            at = m % each * size + m // each * self.stride + k % 8 * 16 + k // 8 * self.leading
        return self.pattern.swizzled(at + self.start)


_WGMMA = {0: Pattern(1), 1: Pattern(8), 2: Pattern(4), 3: Pattern(2)}
"""By the two uppermost bits."""
_TCGEN05 = {0: Pattern(1), 1: Pattern(8, 32, 4), 2: Pattern(8), 4: Pattern(4), 6: Pattern(2)}
"""By the three uppermost bits."""


def wgmma_matrix(descriptor: int) -> SharedMatrix:
    """The matrix that a descriptor of WGMMA describes."""
    if descriptor & (3 << 14 | 3 << 30 | 0xFFFF << 46):
        raise DescriptorError(f"descriptor {descriptor:#x} has bits or a base offset that are not known here")
    return SharedMatrix(*_distances(descriptor), _WGMMA[descriptor >> 62])


def tcgen05_matrix(descriptor: int, *, has_second: bool = False) -> SharedMatrix:
    """The matrix that a descriptor of `tcgen05.mma` or `tcgen05.cp` describes; one of K = 96 has a second buffer."""
    if descriptor >> 46 & 7 != 1:
        raise DescriptorError(f"descriptor {descriptor:#x}: bits 46 to 48 are {descriptor >> 46 & 7}, and must be 1")
    if descriptor & (3 << 14 | 3 << 30 | 0xFF7 << 49):
        raise DescriptorError(f"descriptor {descriptor:#x} has reserved bits, or a base offset")
    if descriptor >> 61 not in _TCGEN05:
        raise DescriptorError(f"descriptor {descriptor:#x}: there is no swizzle {descriptor >> 61}")
    if bool(descriptor >> 52 & 1) != has_second:
        raise DescriptorError(
            f"descriptor {descriptor:#x}: only products of K = 96 have a second buffer, and all of them"
        )
    start, leading, stride = _distances(descriptor)
    return SharedMatrix(start, leading, stride, _TCGEN05[descriptor >> 61], leading if has_second else None)


def _distances(descriptor: int) -> tuple[int, int, int]:
    start, leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    return start, leading, stride
