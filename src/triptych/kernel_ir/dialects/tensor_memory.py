"""Tensor memory (TMEM): addresses, what warps load and store of it, and how accumulators lie in it.

Every CTA has 128 lanes of 512 columns, each a word of 32 bits. An address is a number of 32 bits: the lane from bit 16
on, the column from bit 0 on. Pointers count elements: one lane is 2**16 words, one column one word, and the number of
an element inside its word is in the highest bits of the address, where instructions with scale factors read it.
Warp w of four loads and stores the lanes 32 * w to 32 * w + 31.
"""

from __future__ import annotations

from triptych.layout import IntTuple, Layout, composition, logical_product, size
from triptych.layout.layout import from_modes
from triptych.layout.tuples import compact_stride
from triptych.support.dataclass import dataclass

LANES, COLUMNS = 128, 512
WORD_BITS = 32
LANE_SHIFT = 16
LANE_MASK, COLUMN_MASK = LANES - 1, COLUMNS - 1
FEWEST_COLUMNS = 32
"""Of an allocation: a power of two from here to all of them."""
WARP_LANES = 32
_WRAP = (1 << WORD_BITS) - 1


def elements_per_word(width: int) -> int:
    """Elements of so many bits that a word holds."""
    return max(1, WORD_BITS // width)


def address_step(offset: int, width: int) -> int:
    """What an offset in elements of `width` bits adds to an address: words, and the rest in the highest bits. A number
    of 32 bits with a sign."""
    shift = elements_per_word(width).bit_length() - 1
    turned = offset & _WRAP
    step = (turned >> shift | turned << (WORD_BITS - shift)) & _WRAP if shift else turned
    return step - (1 << WORD_BITS) if step >> (WORD_BITS - 1) else step


def lane_stride(width: int) -> int:
    """From a lane to the next, in elements of `width` bits."""
    return elements_per_word(width) << LANE_SHIFT


# accumulators, and A --------------------------------------------------------------------------------------------------
# Layouts (m, n) -> number of a word, counted through the lanes of a column first, of one instruction in one CTA.


def accumulator_words(m: int, n: int, ctas: int) -> Layout:
    """Of an instruction over M x N by one CTA or a pair: where the words are that one of them keeps."""
    if ctas == 1 and m == LANES // 2:
        return Layout(((16, 4), n), ((1, WARP_LANES), LANES))
    if ctas == 2 and m == LANES:
        return Layout((LANES // 2, (n // 2, 2)), (1, (LANES, LANES // 2)))
    return Layout((LANES, n), (1, LANES))


def accumulator_layout(words: Layout, rest: IntTuple, width: int, *, whole: bool = False) -> Layout:
    """The layout of an instruction's words and of further tiles, in elements of `width` bits, one to a word."""
    places = Layout((LANES, COLUMNS), (lane_stride(width), elements_per_word(width)))
    return _in_columns(words, rest, places, whole=whole)


def operand_layout(m: int, k: int, rest: IntTuple, width: int) -> Layout:
    """The layout of A (m, k) and of further tiles, in elements of `width` bits, as many to a word as it holds."""
    places = Layout((LANES, COLUMNS * elements_per_word(width)), (lane_stride(width), 1))
    return _in_columns(accumulator_words(m, k, 1), rest, places, whole=True)


def _in_columns(tile: Layout, rest: IntTuple, places: Layout, *, whole: bool) -> Layout:
    """Further tiles go on in lanes that the first one leaves free; not so in `whole` columns, where A and D must begin
    in the same lane."""
    halves = 2 if whole and size(tile, [0]) == LANES // 2 else 1
    tiles = logical_product(tile, Layout(rest, compact_stride(rest, halves)))
    modes = (tile, *(tiles[1][mode] for mode in range(len(tiles[1]))))
    return from_modes(tuple(_unit_free(composition(places, mode)) for mode in modes))


def _unit_free(mode: Layout) -> Layout:
    """A mode of extent 1 has the stride 0."""
    return Layout(1, 0) if size(mode) == 1 else mode


# loads and stores ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TmemAccess:
    """`tcgen05.ld` and `tcgen05.st` of one shape: what thread t of a warp has in register r."""

    shape: str
    lanes: int
    threads: tuple[tuple[int, int, int], ...]
    """Of the number of a thread, from its lowest part on: how many, and the lanes and columns of a step."""
    registers: tuple[tuple[int, int, int], ...]
    """Of the registers of `.x1`; further ones repeat them `columns` further on."""
    columns: int

    def layout(self, repeat: int, of_lane: int = 1, of_column: int = LANES) -> Layout:
        """(thread, register) -> of_lane * lane + of_column * column."""
        of_thread, of_register = (
            [(count, of_lane * lane + of_column * column) for count, lane, column in steps if count > 1]
            for steps in (self.threads, (*self.registers, (repeat, 0, self.columns)))
        )
        return Layout(*zip(*(_mode(part) for part in (of_thread, of_register)), strict=True))

    def registers_of(self, repeat: int) -> int:
        """Registers of each thread."""
        count = repeat
        for many, _, _ in self.registers:
            count *= many
        return count


def _mode(steps: list[tuple[int, int]]) -> tuple[IntTuple, IntTuple]:
    if not steps:
        return 1, 0
    if len(steps) == 1:
        return steps[0]
    return tuple(count for count, _ in steps), tuple(stride for _, stride in steps)


ACCESSES = {
    access.shape: access
    for access in (
        TmemAccess("32x32b", 32, ((32, 1, 0),), (), 1),
        TmemAccess("16x64b", 16, ((2, 8, 0), (2, 0, 1), (8, 1, 0)), (), 2),
        TmemAccess("16x128b", 16, ((4, 0, 1), (8, 1, 0)), ((2, 8, 0),), 4),
        TmemAccess("16x256b", 16, ((4, 0, 2), (8, 1, 0)), ((2, 0, 1), (2, 8, 0)), 8),
    )
}
"""Every shape by the name that PTX has for it."""
MOST_REGISTERS = 128
