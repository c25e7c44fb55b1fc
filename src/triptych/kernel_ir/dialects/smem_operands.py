"""Shared memory operands of WGMMA and UMMA: how a matrix may lie there, and which byte an instruction then reads.

An instruction is told where its slice of a matrix begins and four numbers: which mode is contiguous, a swizzle, and two
distances. They come from the layout *without* its swizzle; the swizzle is applied to byte addresses when memory is
read, so the next slice is the next address. Swizzles have the numbers that tensor maps give them. Atoms that a layout
may be made of (rows by bytes of a row), under a swizzle of byte addresses:

    0  1  2  3   S<n,4,3>   K:   8 rows of 16 * 2**n bytes that lie along K
                            MN:  the same with rows and columns exchanged
    4            S<2,5,2>   MN:  4 columns of 128 bytes, of which 32 stay together: 32-bit operands of UMMA
"""

from __future__ import annotations

from typing import Any

from triptych.layout import ComposedLayout, Layout, Swizzle, coalesce
from triptych.layout import size as size_of
from triptych.support.dataclass import dataclass

CHUNK_BYTES = 16
"""What a swizzle keeps together; distances and addresses are counted in it."""
ATOM_ROWS = 8
LARGEST_SWIZZLE, WIDE_PIECES = 3, 4
"""Numbers of swizzles: of rows of 128 bytes in pieces of 16, and in pieces of 32."""
SWIZZLES = range(WIDE_PIECES + 1)
K_MAJOR, MN_MAJOR = 0, 1
UNUSED = CHUNK_BYTES
"""A distance that an instruction does not read."""
_LARGEST = (1 << 14) * CHUNK_BYTES
_MODES = (0, 3, 2, 1)
"""A descriptor's number for each swizzle."""
_UMMA_MODES = (0, 6, 4, 2, 1)


def byte_swizzle(number: int) -> Swizzle:
    """A swizzle of byte addresses: the places of a stretch of 128 bytes, by the stretch's number."""
    return Swizzle(2, 5, 2) if number == WIDE_PIECES else Swizzle(number, 4, 3)


def swizzle_number(swizzle: Swizzle) -> int | None:
    """The number of a swizzle of byte addresses; None where machines do not have it."""
    if swizzle.bits == 0:
        return 0
    return next((number for number in SWIZZLES if byte_swizzle(number) == swizzle), None)


def row_bytes(number: int) -> int:
    """The contiguous stretch of an atom under a swizzle."""
    return CHUNK_BYTES << min(number, LARGEST_SWIZZLE)


def atom_rows(number: int) -> int:
    """Such stretches in an atom."""
    return ATOM_ROWS // 2 if number == WIDE_PIECES else ATOM_ROWS


def pattern_bytes(number: int) -> int:
    """What a buffer with a swizzle is aligned to."""
    return ATOM_ROWS * row_bytes(number)


def smem_atom(major: int, number: int, width: int) -> ComposedLayout:
    """The atom (rows, columns) of elements of `width` bits that layouts of operands are tiled with."""
    long, short = row_bytes(number) * 8 // width, atom_rows(number)
    plain = Layout((short, long), (long, 1)) if major == K_MAJOR else Layout((long, short), (1, long))
    return ComposedLayout(byte_swizzle(number), 0, plain)


@dataclass(frozen=True, slots=True)
class SmemOperand:
    """How an instruction's slice of a matrix lies in shared memory; distances are in bytes."""

    major: int
    """0: elements along K are neighbours; 1: those along M or N."""
    swizzle: int
    leading: int
    stride: int

    @property
    def row_bytes(self) -> int:
        """The contiguous stretch of an atom."""
        return row_bytes(self.swizzle)

    def plain_address(self, row: int, column: int, size: int) -> int:
        """The byte of an element of `size` bytes after the first one of the slice, without the swizzle."""
        chunk, wide = CHUNK_BYTES // size, self.row_bytes // size
        if self.major == K_MAJOR:
            along = self.leading if self.swizzle == 0 else CHUNK_BYTES
            inside = row % ATOM_ROWS * self.row_bytes + column % chunk * size
            return inside + row // ATOM_ROWS * self.stride + column // chunk * along
        rows, columns = (self.leading, self.stride) if self.swizzle else (self.stride, self.leading)
        high = atom_rows(self.swizzle)
        inside = row % wide * size + column % high * self.row_bytes
        return inside + row // wide * rows + column // high * columns

    def address(self, start: int, row: int, column: int, size: int) -> int:
        """The byte that an instruction reads for an element of a slice that begins at the byte `start`."""
        return byte_swizzle(self.swizzle)(start + self.plain_address(row, column, size))

    def descriptor(self) -> int:
        """The 64 bits that WGMMA takes for it, all but the address: that goes, in units of 16 bytes, into the lowest
        14."""
        return self._distances() | _MODES[self.swizzle] << 62

    def umma_descriptor(self) -> int:
        """Those that UMMA takes."""
        return self._distances() | 1 << 46 | _UMMA_MODES[self.swizzle] << 61

    def second_buffer_descriptor(self) -> int:
        """Those that UMMA takes where rows go on in a second buffer, all but the addresses of both."""
        return self.stride // CHUNK_BYTES << 32 | 1 << 46 | 1 << 52 | _UMMA_MODES[self.swizzle] << 61

    def _distances(self) -> int:
        return (self.leading // CHUNK_BYTES << 16) | (self.stride // CHUNK_BYTES << 32)

    def layout(self, rows: int, columns: int, size: int) -> Layout:
        """The layout of a slice in elements, without the swizzle."""
        chunk, wide = CHUNK_BYTES // size, min(self.row_bytes // size, rows)
        if self.major == K_MAJOR:
            along = self.leading if self.swizzle == 0 else CHUNK_BYTES
            return Layout(
                ((ATOM_ROWS, rows // ATOM_ROWS), (chunk, columns // chunk)),
                ((self.row_bytes // size, self.stride // size), (1, along // size)),
            )
        far, next_ = (self.leading, self.stride) if self.swizzle else (self.stride, self.leading)
        high = atom_rows(self.swizzle)
        return Layout(
            ((wide, rows // wide), (high, columns // high)),
            ((1, far // size), (self.row_bytes // size, next_ // size)),
        )


def smem_operand(slice_: Layout, size: int, major: int, number: int) -> SmemOperand | None:
    """How a slice (rows, columns) of elements of `size` bytes lies, given its layout without the swizzle.

    None for layouts that no instruction can read.
    """
    if number == WIDE_PIECES and major == K_MAJOR:
        return None
    rows, columns = (size_of(slice_, [mode]) for mode in (0, 1))
    if not slice_.is_static or not isinstance(rows, int) or not isinstance(columns, int):
        return None
    operand = _distances(slice_, (rows, columns), size, major, number)
    fits = all(0 <= part < _LARGEST and part % CHUNK_BYTES == 0 for part in (operand.leading, operand.stride))
    if not fits or rows % ATOM_ROWS or (major == MN_MAJOR and rows % min(operand.row_bytes // size, rows)):
        return None
    expected = operand.layout(rows, columns, size)
    return operand if coalesce(expected, (1, 1)) == coalesce(slice_, (1, 1)) else None


def _distances(slice_: Layout, extents: tuple[int, int], size: int, major: int, number: int) -> SmemOperand:
    chunk, wide = CHUNK_BYTES // size, row_bytes(number) // size

    def distance(row: int, column: int) -> Any:
        inside = row < extents[0] and column < extents[1]
        return slice_((row, column)) * size if inside else UNUSED

    if major == K_MAJOR:
        leading = distance(0, chunk) if number == 0 else UNUSED
        return SmemOperand(major, number, leading, distance(ATOM_ROWS, 0))
    far, next_ = distance(wide, 0), distance(0, atom_rows(number))
    return SmemOperand(major, number, *((far, next_) if number else (next_, far)))
