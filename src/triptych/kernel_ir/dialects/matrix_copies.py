"""`ldmatrix` and `stmatrix`: instructions of a warp that move small matrices between shared memory and registers.

In memory a matrix is rows of 16 bytes, and each thread gives the address of one row; in registers a thread holds
32-bit words. An entry is a layout (thread, bit) -> number of a bit for each side: equal numbers are the same bit, and
that is all an instruction means. Its native form follows from the words of PTX.
"""

from __future__ import annotations

from dataclasses import replace

from triptych.kernel_ir.dialects.tile import WARP_THREADS
from triptych.layout import Layout, coalesce
from triptych.support.dataclass import dataclass
from triptych.support.forking import lazy

ROW_BITS = 128
REGISTER_BITS = 32

Modes = tuple[tuple[int, int], ...]
"""Extents and strides, the fastest first."""


@dataclass(frozen=True, slots=True)
class Dealing:
    """How a matrix, or a few that belong together, are dealt out: all strides count bits."""

    rows: Modes
    """The threads that give the addresses of its rows."""
    lanes: Modes
    """The 32 threads that hold it."""
    held: Modes
    """The bits that each of them holds."""


WORDS = Dealing(rows=((8, ROW_BITS),), lanes=((32, 32),), held=((32, 1),))
"""Rows of four words, each held by a thread."""
HALVES = Dealing(rows=((8, ROW_BITS),), lanes=((4, 256), (8, 16)), held=((16, 1), (2, 128)))
"""Two elements of 16 bits of a column."""
BYTES = Dealing(rows=((8, ROW_BITS),), lanes=((4, 256), (8, 8)), held=((8, 1), (2, 128), (2, 64)))
"""Two bytes of a column, and two of the column eight further."""
SQUARES = Dealing(rows=((16, ROW_BITS),), lanes=((4, 512), (8, 8)), held=((8, 1), (4, 128), (2, 64)))
"""Sixteen rows: four bytes of a column, and four of the column eight further."""
PAIRS = Dealing(
    rows=((2, ROW_BITS), (2, 1024), (4, 256)), lanes=((4, 256), (8, 8)), held=((8, 1), (2, 128), (2, 64), (2, 1024))
)
"""Sixteen rows as two matrices of `BYTES`: rows in the order that makes them so when registers exchange halves."""


@dataclass(frozen=True)
class MatrixCopy:
    """`count` matrices at once. The words are those of PTX: the shape of a matrix, and what its elements are."""

    shape: tuple[int, int]
    element: str
    count: int
    transposed: bool
    is_load: bool
    dealing: Dealing
    since: int
    """The first generation of GPUs that has it."""

    @property
    def name(self) -> str:
        """Its name in the words of PTX."""
        kind, transposed = "ldmatrix" if self.is_load else "stmatrix", ".trans" if self.transposed else ""
        m, n = self.shape
        return f"{kind}.m{m}n{n}.x{self.count}{transposed}.{self.element}"

    @property
    def registers(self) -> int:
        """How many registers of each thread it fills or reads."""
        return self.count * _size(self.dealing.held) // REGISTER_BITS

    @property
    def rows(self) -> int:
        """How many rows each of the matrices has in memory."""
        return _size(self.dealing.rows)

    @property
    def exchanges_halves(self) -> bool:
        """Whether two registers exchange halves after the load."""
        return self.dealing is PAIRS

    @lazy
    def in_memory(self) -> Layout:
        """(thread, bit of the row it gives the address of) -> number. Threads without a row repeat those with one."""
        spare = WARP_THREADS // (self.rows * self.count), 0
        return _layout((*self.dealing.rows, self._repeated, spare), ((ROW_BITS, 1),))

    @lazy
    def in_registers(self) -> Layout:
        """(thread, bit of its registers) -> number."""
        return _layout(self.dealing.lanes, (*self.dealing.held, self._repeated))

    def held(self, thread: int, bit: int) -> int:
        """The number of a bit of a thread's registers."""
        number = self.in_registers((thread, bit))
        assert isinstance(number, int), "layouts of instructions are static"
        return number

    @property
    def _repeated(self) -> tuple[int, int]:
        return self.count, ROW_BITS * self.rows


def _size(modes: Modes) -> int:
    size = 1
    for extent, _ in modes:
        size *= extent
    return size


def _layout(threads: Modes, bits: Modes) -> Layout:
    shape, stride = (tuple(tuple(mode[part] for mode in modes) for modes in (threads, bits)) for part in (0, 1))
    return coalesce(Layout(shape, stride), (1, 1))


@dataclass(frozen=True, slots=True)
class Form:
    """What a program asks for: matrices of a shape and width, how many, and the bits of elements that become bytes."""

    matrix: str
    transposed: bool
    count: int
    unpacked: int | None = None


_BYTES: dict[int | None, str] = {None: "b8", 4: "b8x16.b4x16_p64", 6: "b8x16.b6x16_p32"}
"""Elements of 8 bits; or of 4 and 6, padded to rows of 16 bytes, that become bytes on the way."""


def _loads() -> dict[Form, MatrixCopy]:
    found: dict[Form, MatrixCopy] = {}
    for count in (1, 2, 4):
        plain = MatrixCopy((8, 8), "b16", count, False, True, WORDS, 75)
        found[Form("8x8x16b", False, count)] = found[Form("8x16x8b", False, count)] = plain
        found[Form("8x8x16b", True, count)] = MatrixCopy((8, 8), "b16", count, True, True, HALVES, 75)
        for narrow in (4, 6):
            unpacked = MatrixCopy((8, 16), _BYTES[narrow], count, False, True, WORDS, 100)
            found[Form("8x16x8b", False, count, narrow)] = unpacked
    for count in (1, 2):
        for bits, element in _BYTES.items():
            square = MatrixCopy((16, 16), element, count, True, True, SQUARES, 100)
            found[Form("16x16x8b", True, count, bits)] = square
            found[Form("16x8x8b", True, 2 * count, bits)] = replace(square, dealing=PAIRS)
    return found


def _stores() -> dict[Form, MatrixCopy]:
    found: dict[Form, MatrixCopy] = {}
    for count in (1, 2, 4):
        found[Form("8x8x16b", False, count)] = MatrixCopy((8, 8), "b16", count, False, False, WORDS, 90)
        found[Form("8x8x16b", True, count)] = MatrixCopy((8, 8), "b16", count, True, False, HALVES, 90)
        found[Form("16x8x8b", True, count)] = MatrixCopy((16, 8), "b8", count, True, False, BYTES, 100)
    return found


MATRIX_LOADS = _loads()
MATRIX_STORES = _stores()

MATRIX_COPIES = {
    copy.name: copy
    for copy in (*MATRIX_LOADS.values(), *MATRIX_STORES.values())
    if not copy.exchanges_halves  # which is done after the same instruction
}
"""By name."""
