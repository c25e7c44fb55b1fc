"""The tables by which a loader finds symbols in an ELF file: symbols, their names, and two kinds of hash tables.

Input: the symbols that others see. Output: the bytes of the four sections. Sizes and order are those that LLD chooses.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate

from triptych.support.dataclass import dataclass

_SYMBOL = "<IBBHQQ"
SYMBOL_SIZE = struct.calcsize(_SYMBOL)
_BLOOM_SHIFT = 26
_BLOOM_BITS = 12
"""Of the Bloom filter, for each symbol."""


@dataclass(frozen=True, slots=True)
class DynamicSymbol:
    """A symbol as a loader sees it."""

    name: str
    info: int
    """Its kind and its binding."""
    other: int
    """Its visibility."""
    section: int
    value: int
    size: int


class SymbolTables:
    """The tables of some symbols; their places are known before their addresses are."""

    def __init__(self, names: Sequence[str]) -> None:
        self._buckets = max(1, len(names) // 4)
        self.order = sorted(range(len(names)), key=lambda i: _gnu(names[i]) % self._buckets)
        """Those of one bucket stand together."""
        self._names = [names[i] for i in self.order]
        self._given = tuple(names)

    def strings(self) -> bytes:
        """The names, in the order that they were given in."""
        return b"\0" + b"".join(name.encode() + b"\0" for name in self._given)

    def symbols(self, found: Sequence[DynamicSymbol]) -> bytes:
        """Of symbols in the order that they were given in."""
        sizes = [len(name.encode()) + 1 for name in self._given]
        places = list(accumulate(sizes, initial=1))
        rows = [bytes(SYMBOL_SIZE)]
        for i in self.order:
            each = found[i]
            rows.append(struct.pack(_SYMBOL, places[i], each.info, each.other, each.section, each.value, each.size))
        return b"".join(rows)

    def hash(self) -> bytes:
        """As System V has it: as many buckets as symbols, and chains through them."""
        count = len(self._names) + 1
        buckets, chains = [0] * count, [0] * count
        for place, name in enumerate(self._names, 1):
            bucket = _system_v(name) % count
            chains[place] = buckets[bucket]
            buckets[bucket] = place
        return struct.pack(f"<{2 + 2 * count}I", count, count, *buckets, *chains)

    def gnu_hash(self) -> bytes:
        """As GNU has it: a Bloom filter, then for each bucket where its symbols begin."""
        hashes = [_gnu(name) for name in self._names]
        words = 1 << (len(hashes) * _BLOOM_BITS // 64).bit_length()
        bloom = [0] * words
        for each in hashes:
            bloom[each // 64 % words] |= 1 << each % 64 | 1 << (each >> _BLOOM_SHIFT) % 64
        buckets, chains = [0] * self._buckets, []
        for place, each in enumerate(hashes):
            bucket = each % self._buckets
            buckets[bucket] = buckets[bucket] or place + 1
            is_last = place + 1 == len(hashes) or hashes[place + 1] % self._buckets != bucket
            chains.append(each & ~1 | is_last)
        head = struct.pack("<4I", self._buckets, 1, words, _BLOOM_SHIFT)
        return head + struct.pack(f"<{words}Q", *bloom) + struct.pack(f"<{len(buckets + chains)}I", *buckets, *chains)


def _gnu(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _system_v(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value
