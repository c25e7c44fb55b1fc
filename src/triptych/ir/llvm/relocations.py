"""Relocations of an object file, by machine: a table for x86-64 and one for AArch64.

Input: the bytes at a place, the address to be reached and that of the place. Output: the bytes with the address, or the
distance, in them. Kinds are numbered and defined by the ELF supplements of the System V ABI for each processor; a kind
that has no row, and a distance that has no room, are `NotLinkableError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType

from triptych.support.dataclass import dataclass

_PAGE = 12
"""AArch64 counts distances between pages of 4 KB, whatever the system's pages are."""


class NotLinkableError(Exception):
    """This object file, or this machine, needs more than is done here."""


class Reach(Enum):
    """What stands at the address that is written."""

    SYMBOL = "the symbol"
    CELL = "a cell of the image that holds the address of the symbol"
    CODE = "the symbol, or a jump to it in a cell of the image where it is outside"


Write = Callable[[int, int, int], int]
"""From the bytes at the place, the address reached and the address of the place, to the new bytes."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to write an address."""

    reach: Reach
    size: int
    write: Write


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor, as its object files are linked."""

    number: int
    """In the header of an ELF file."""
    kinds: Mapping[int, Kind]
    jump: bytes
    """Code that goes to the address in the eight bytes before it."""
    counts_from_end: bool = False
    """Distances count from the end of an instruction, so the addend of one to a cell belongs to the place."""
    clears_cache: bool = False
    """Written code has to be taken out of the cache of instructions."""


def _signed(value: int, bits: int) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise NotLinkableError(f"a distance of {value} bytes in {bits} bits")
    return value & (1 << bits) - 1


def _aligned(value: int, scale: int) -> int:
    if value & (1 << scale) - 1:
        raise NotLinkableError(f"an address that is no multiple of {1 << scale}")
    return value >> scale


def _field(word: int, value: int, bits: int, at: int) -> int:
    mask = (1 << bits) - 1
    return word & ~(mask << at) | (value & mask) << at


def _distance(bits: int) -> Write:
    return lambda _, target, place: _signed(target - place, bits)


def _address(bits: int) -> Write:
    """An address, which may also be read as a signed number."""

    def write(_: int, target: int, __: int) -> int:
        if bits < 64 and not -(1 << bits - 1) <= target < 1 << bits:
            raise NotLinkableError(f"the address {target:#x} in {bits} bits")
        return target & (1 << bits) - 1

    return write


def _branch(bits: int, at: int) -> Write:
    """A distance in instructions of four bytes."""

    def write(word: int, target: int, place: int) -> int:
        return _field(word, _aligned(_signed(target - place, bits + 2), 2), bits, at)

    return write


def _halved(word: int, value: int) -> int:
    """ADR and ADRP have the two lowest bits of their 21 apart from the others."""
    return _field(_field(word, value, 2, 29), value >> 2, 19, 5)


def _near(word: int, target: int, place: int) -> int:
    return _halved(word, _signed(target - place, 21))


def _pages(word: int, target: int, place: int) -> int:
    distance = (target >> _PAGE << _PAGE) - (place >> _PAGE << _PAGE)
    return _halved(word, _signed(distance, 21 + _PAGE) >> _PAGE)


def _pages_unchecked(word: int, target: int, place: int) -> int:
    return _halved(word, (target >> _PAGE) - (place >> _PAGE))


def _in_page(scale: int) -> Write:
    """Where in its page the target is, in units of what is loaded or stored."""
    return lambda word, target, _: _field(word, _aligned(target & (1 << _PAGE) - 1, scale), 12, 10)


def _quarter(number: int, *, is_checked: bool) -> Write:
    """Sixteen bits of an address; checked, those above them are zeros."""

    def write(word: int, target: int, _: int) -> int:
        if is_checked and target >> 16 * (number + 1):
            raise NotLinkableError(f"the address {target:#x} in {16 * (number + 1)} bits")
        return _field(word, target >> 16 * number, 16, 5)

    return write


def _signed_quarter(number: int, *, is_distance: bool) -> Write:
    """Sixteen bits of a signed number, of its complement if it is negative: MOVN then, MOVZ otherwise."""

    def write(word: int, target: int, place: int) -> int:
        value = target - place if is_distance else target
        if number < 3:
            _signed(value, 16 * (number + 1) + 1)
        word = _field(word, 0b00 if value < 0 else 0b10, 2, 29)
        return _field(word, (~value if value < 0 else value) >> 16 * number, 16, 5)

    return write


def _quarter_of_distance(number: int) -> Write:
    return lambda word, target, place: _field(word, target - place >> 16 * number, 16, 5)


def _rows(reach: Reach, size: int, writes: Mapping[int, Write]) -> dict[int, Kind]:
    return {number: Kind(reach, size, write) for number, write in writes.items()}


_X86_64 = Machine(
    number=62,
    kinds=MappingProxyType(
        _rows(Reach.SYMBOL, 8, {1: _address(64), 24: _distance(64)})
        | _rows(Reach.CODE, 4, {2: _distance(32), 4: _distance(32)})
        | _rows(Reach.CELL, 4, dict.fromkeys((9, 41, 42), _distance(32)))
    ),
    jump=bytes.fromhex("ff25f2ffffff"),  # jmp [rip - 14]
    counts_from_end=True,
)

_AARCH64_DATA = (
    _rows(Reach.SYMBOL, 8, {257: _address(64), 260: _distance(64)})
    | _rows(Reach.SYMBOL, 4, {258: _address(32), 261: _distance(32)})
    | _rows(Reach.SYMBOL, 2, {259: _address(16), 262: _distance(16)})
    | _rows(Reach.CODE, 4, {314: _distance(32)})
    | _rows(Reach.CELL, 4, {315: _distance(32)})
)
_AARCH64_MOVES = _rows(
    Reach.SYMBOL,
    4,
    {263 + 2 * number: _quarter(number, is_checked=number < 3) for number in range(4)}
    | {264 + 2 * number: _quarter(number, is_checked=False) for number in range(3)}
    | {270 + number: _signed_quarter(number, is_distance=False) for number in range(3)}
    | {287 + 2 * number: _signed_quarter(number, is_distance=True) for number in range(4)}
    | {288 + 2 * number: _quarter_of_distance(number) for number in range(3)},
)
_AARCH64_PLACES = _rows(
    Reach.SYMBOL,
    4,
    {273: _branch(19, 5), 274: _near, 275: _pages, 276: _pages_unchecked}
    | {277: _in_page(0), 278: _in_page(0), 284: _in_page(1), 285: _in_page(2), 286: _in_page(3), 299: _in_page(4)},
)
_AARCH64_JUMPS = _rows(
    Reach.CODE, 4, {279: _branch(14, 5), 280: _branch(19, 5), 282: _branch(26, 0), 283: _branch(26, 0)}
)
_AARCH64_CELLS = _rows(Reach.CELL, 4, {309: _branch(19, 5), 311: _pages, 312: _in_page(3)})

_AARCH64 = Machine(
    number=183,
    kinds=MappingProxyType(_AARCH64_DATA | _AARCH64_MOVES | _AARCH64_PLACES | _AARCH64_JUMPS | _AARCH64_CELLS),
    jump=bytes.fromhex("d0ffff5800021fd6"),  # ldr x16, . - 8; br x16
    clears_cache=True,
)

MACHINES: Mapping[str, Machine] = MappingProxyType({"x86_64": _X86_64, "aarch64": _AARCH64})
"""By `platform.machine()`."""
