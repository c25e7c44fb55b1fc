"""Block scales: factors of 8 bits, each for 16 or 32 neighbours along K of a row of A or a column of B.

In tensor memory the factors of row r are in lane r % 32 of every quarter, in column r // 32: each quarter of the lanes
reads its own copy. A product of one factor takes a byte of the word, one of two takes two, one of four takes all. One
of K = 96 takes three or six, from a byte on and on in the next word, which is behind those of all rows, 128 at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from triptych.ptxsim.conversions import Numbers
from triptych.ptxsim.operands import WARP
from triptych.ptxsim.tensor_memory import LANES, TensorMemory, TensorMemoryError, parted

_ADDRESS = 0x3FFFFFFF
"""The two highest bits of the address of a word of factors say which byte; the instruction has it elsewhere."""
_COUNTS = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4}
_BLOCKS = {("mxf8f6f4", "block32"): 1, ("mxf4", "block32"): 2, ("mxf4nvf4", "block32"): 2, ("mxf4nvf4", "block16"): 4}
_DEFAULTS = {"mxf8f6f4": 1, "mxf4": 2}
SCALED = {
    ("mxf8f6f4", 1): ("ue8m0",),
    ("mxf4", 2): ("ue8m0",),
    ("mxf4nvf4", 2): ("ue8m0",),
    ("mxf4nvf4", 4): ("ue4m3", "ue8m0"),
}
"""Types of factors, by the kind and how many factors a row has."""


def factors_of_row(kind: str, words: tuple[str, ...]) -> int | None:
    """How many factors the words of an instruction say that each row has."""
    said = [_COUNTS[word] for word in words if word in _COUNTS]
    said += [_BLOCKS[kind, word] for word in words if (kind, word) in _BLOCKS]
    if len(said) > 1 or any(word in ("block16", "block32") and (kind, word) not in _BLOCKS for word in words):
        return None
    count = said[0] if said else _DEFAULTS.get(kind)
    return count if (kind, count) in SCALED else None


def scale_values(codes: Numbers, kind: str) -> Any:
    """Bytes as factors."""
    if kind == "ue4m3":
        return (codes & np.uint8(0x7F)).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    return codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)


@dataclass(frozen=True, slots=True)
class ScaleForm:
    """What an instruction says of its factors."""

    kind: str
    count: int
    first: tuple[int, int]
    """The byte of a word that the factors of A and of B begin at."""

    def _read(self, tensor: TensorMemory, lanes: Numbers, columns: Numbers, operand: int, rows: int) -> Any:
        """(..., factors) of words, and of those behind them."""
        first = self.first[operand]
        step, count = -(-rows // LANES) * (LANES // WARP), -(-(first + self.count) // 4)
        words = np.stack([tensor.words[lanes, columns + step * i] for i in range(count)], axis=-1)
        each = np.ascontiguousarray(words).view(np.uint8)[..., first : first + self.count]
        return scale_values(np.ascontiguousarray(each), self.kind)

    def _columns(self, operand: int, rows: int) -> int:
        """Columns from the first to behind the last word."""
        further = (self.first[operand] + self.count - 1) // 4
        return further * -(-rows // LANES) * (LANES // WARP) + -(-rows // WARP)

    def of_rows(self, tensor: TensorMemory, address: int, what: str) -> Any:
        """Factors of A: (lane, factors)."""
        first = _column(tensor, address, self._columns(0, LANES), what)
        lanes = np.arange(LANES)
        return self._read(tensor, lanes, first + lanes // WARP, 0, LANES)

    def of_columns(self, tensor: TensorMemory, address: int, n: int, what: str) -> Any:
        """Factors of B as each quarter of the lanes has them: (quarter, n, factors)."""
        first = _column(tensor, address, self._columns(1, n), what)
        columns = np.arange(n)
        quarters = WARP * np.arange(LANES // WARP)[:, None]
        return self._read(tensor, quarters + columns % WARP, first + columns // WARP, 1, n)


def _column(tensor: TensorMemory, address: int, count: int, what: str) -> int:
    lane, first = parted(address & _ADDRESS, what)
    if lane:
        raise TensorMemoryError(f"{what}: the scale factors begin in lane {lane}, and must begin in lane 0")
    tensor.check(first, count, what)
    return first


def scaled_sums(a: Numbers, b: Numbers, rows: Numbers, columns: Numbers) -> Any:
    """Products of (lane, k) and (n, k), whose factors are those of `of_rows` and `of_columns`."""
    block = a.shape[1] // rows.shape[-1]
    left = a.astype(np.float64) * np.repeat(rows, block, axis=-1)
    right = b.astype(np.float64) * np.repeat(columns, block, axis=-1)
    return (left.reshape(LANES // WARP, WARP, -1) @ right.transpose(0, 2, 1)).reshape(LANES, -1)
