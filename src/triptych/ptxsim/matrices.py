"""Matrix instructions of a warp: which lane holds which element is written here as in NVIDIA's manual of PTX.

Products are added up in double precision and rounded once; a GPU rounds in between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.block_scales import SCALED, factors_of_row, scale_values
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.operands import WARP, BlockState, listed
from triptych.ptxsim.reading import Instruction

LANES = np.arange(WARP)
GROUP, PLACE = LANES // 4, LANES % 4
Act = Callable[[Any], None]
FACTORS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
_SMALL: dict[str, Any] = {
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
}
SUMS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "s32": np.int32}


def _warps(mask: Mask) -> Any:
    """The first threads of the warps that do it; a warp does it whole."""
    for start in range(0, len(mask), WARP):
        if mask[start : start + WARP].any():
            if not mask[start : start + WARP].all() or len(mask) < start + WARP:
                raise UnknownInstructionError("a matrix instruction of a part of a warp")
            yield start


# rows in shared memory --------------------------------------------------------------------------------------------
def _places(words: tuple[str, ...]) -> tuple[Any, Any]:
    """Rows and the two columns that each lane has of an 8 × 8 matrix, and the lanes whose addresses its rows are at."""
    pair = 2 * PLACE[:, None] + np.arange(2)
    row = np.broadcast_to(GROUP[:, None], (WARP, 2))
    return (pair, row) if "trans" in words else (row, pair)


def _matrix_words(instruction: Instruction) -> int:
    words = instruction.modifiers
    if words[2] != "m8n8" or words[-1] != "b16":
        raise UnknownInstructionError(str(instruction))
    return int(words[3][1:])


def _load(block: BlockState, instruction: Instruction) -> Act:
    count = _matrix_words(instruction)
    to, source = instruction.operands
    address = block.registers.address(source)
    writers = [block.registers.writer(part, "b32") for part in listed(to)]

    def act(mask: Mask) -> None:
        places = address()
        results = [np.zeros(block.threads, np.uint32) for _ in range(count)]
        for start in _warps(mask):
            for number in range(count):
                rows = places[start + 8 * number : start + 8 * number + 8]
                elements = np.stack(block.rooms["shared"].load(rows, 0, 2, 8), axis=1)
                chosen = elements[_places(instruction.modifiers)].astype(np.uint32)
                results[number][start : start + WARP] = chosen[:, 0] | (chosen[:, 1] << np.uint32(16))
        for write, result in zip(writers, results, strict=True):
            write(result, mask)

    return act


def _store(block: BlockState, instruction: Instruction) -> Act:
    count = _matrix_words(instruction)
    to, source = instruction.operands
    address = block.registers.address(to)
    readers = [block.registers.reader(part, "b32") for part in listed(source)]

    def act(mask: Mask) -> None:
        places = address()
        for start in _warps(mask):
            for number in range(count):
                word = readers[number]()[start : start + WARP]
                elements = np.zeros((8, 8), np.uint16)
                both = np.stack([word.astype(np.uint16), (word >> np.uint32(16)).astype(np.uint16)], axis=1)
                elements[_places(instruction.modifiers)] = both
                rows = places[start + 8 * number : start + 8 * number + 8]
                block.rooms["shared"].store(rows, start + 8 * number + np.arange(8), list(elements.T), 2)

    return act


# products ---------------------------------------------------------------------------------------------------------
def _product(block: BlockState, instruction: Instruction) -> Act:
    """`mma.sync.aligned.m16n8kK.row.col.d.a.b.c`."""
    words = instruction.modifiers
    scaling = _scaling(block, instruction) if "block_scale" in words else None
    shape = next((word for word in words if word.startswith("m16n8k")), "m16n8k0")
    to_kind, left_kind, right_kind, from_kind = words[-5:-1] if scaling else words[-4:]
    depth = int(shape[6:])
    decode = {kind: _decoder(instruction, kind, depth) for kind in (left_kind, right_kind)}
    if words[words.index(shape) + 1 :][:2] != ("row", "col") or to_kind != from_kind or to_kind not in SUMS:
        raise UnknownInstructionError(str(instruction))
    if len(instruction.operands) != (8 if scaling else 4):
        raise UnknownInstructionError(str(instruction))
    saturates = "satfinite" in words
    registers = block.registers
    operands = [listed(operand) for operand in instruction.operands]
    writers = [registers.writer(part, "b32") for part in operands[0]]
    left, right, sums = ([registers.reader(part, "b32") for part in each] for each in operands[1:4])

    def act(mask: Mask) -> None:
        results = [np.zeros(block.threads, np.uint32) for _ in writers]
        words_of = [[read() for read in each] for each in (left, right, sums)]
        for start in _warps(mask):
            a, b, c = ([word[start : start + WARP] for word in each] for each in words_of)
            if left_kind == "tf32":  # whose lower bits are not looked at
                a, b = ([word & np.uint32(0xFFFFE000) for word in each] for each in (a, b))
            wide = np.int64 if to_kind == "s32" else np.float64
            x, y = _left(a, decode[left_kind], depth).astype(wide), _right(b, decode[right_kind], depth).astype(wide)
            if scaling:
                scale_x, scale_y = scaling(start)
                x, y = (
                    x * np.repeat(scale_x, depth // scale_x.shape[1], axis=1),
                    y * np.repeat(scale_y.T, depth // scale_y.shape[1], axis=0),
                )
            total = x @ y + _sums(c, SUMS[to_kind]).astype(wide)
            if saturates:
                total = np.clip(total, -(2**31), 2**31 - 1)
            for result, part in zip(results, _apart(total.astype(SUMS[to_kind])), strict=True):
                result[start : start + WARP] = part
        for write, result in zip(writers, results, strict=True):
            write(result, mask)

    return act


def _scaling(block: BlockState, instruction: Instruction) -> Callable[[int], tuple[Any, Any]]:
    """How to get the factors of a warp's 16 rows and 8 columns, which pairs of lanes and single lanes give."""
    words = instruction.modifiers
    kind = next((word.removeprefix("kind::") for word in words if word.startswith("kind::")), "")
    count = factors_of_row(kind, words)
    shape = {"mxf8f6f4": "m16n8k32"}.get(kind, "m16n8k64")
    if count is None or words[-1] not in SCALED[kind, count] or shape not in words or len(instruction.operands) != 8:
        raise UnknownInstructionError(str(instruction))
    registers, row = block.registers, np.arange(16)
    data = [registers.reader(listed(instruction.operands[i])[0], "b32") for i in (4, 6)]
    chosen = [[registers.reader(part, "u16") for part in listed(instruction.operands[i])] for i in (5, 7)]

    def get(start: int) -> tuple[Any, Any]:
        (first, pair), (byte, lane) = ([int(read()[start]) for read in each] for each in chosen)
        if any(each % count or each + count > 4 for each in (first, byte)) or pair > 1 or lane > 3:
            raise UnknownInstructionError(f"{instruction}: bytes {first} and {byte} of threads {pair} and {lane}")
        lanes = row % 8 * 4 + 2 * pair + row // 8, np.arange(8) * 4 + lane
        codes = [read()[start + at].view(np.uint8).reshape(-1, 4) for read, at in zip(data, lanes, strict=True)]
        parts = (codes[0][:, first : first + count], codes[1][:, byte : byte + count])
        of_rows, of_columns = (scale_values(np.ascontiguousarray(part), words[-1]) for part in parts)
        return of_rows, of_columns

    return get


Elements = Callable[[Any], Any]


def _decoder(instruction: Instruction, kind: str, depth: int) -> Elements:
    """How to get what a register of each lane holds: (lanes, elements)."""
    if kind in _SMALL:
        return partial(_small, kind, is_packed=depth == 64)
    if kind not in FACTORS:
        raise UnknownInstructionError(str(instruction))
    return partial(_elements, kind=FACTORS[kind])


def _small(kind: str, word: Numbers, *, is_packed: bool) -> Any:
    """Of 32 along K each has a byte: e2m1 its bits 2 to 5, the others its lowest six. Of 64 there are two in a byte."""
    codes = _elements(word, np.uint8)
    if is_packed:
        codes = np.stack([codes & np.uint8(15), codes >> np.uint8(4)], axis=2).reshape(WARP, -1)
    else:
        codes = codes >> np.uint8(2) & np.uint8(15) if kind == "e2m1" else codes & np.uint8(63)
    return codes.view(_SMALL[kind]).astype(np.float32)


def _elements(word: Numbers, kind: DTypeLike) -> Any:
    return np.ascontiguousarray(word).view(kind).reshape(WARP, -1)


def _left(words: list[Any], decode: Elements, depth: int) -> Any:
    matrix = np.zeros((16, depth), decode(words[0]).dtype)
    for number, word in enumerate(words):
        elements = decode(word)
        each = elements.shape[1]
        columns = each * PLACE[:, None] + 4 * each * (number // 2) + np.arange(each)
        matrix[(GROUP + 8 * (number % 2))[:, None], columns] = elements
    return matrix


def _right(words: list[Any], decode: Elements, depth: int) -> Any:
    matrix = np.zeros((depth, 8), decode(words[0]).dtype)
    for number, word in enumerate(words):
        elements = decode(word)
        each = elements.shape[1]
        matrix[each * PLACE[:, None] + 4 * each * number + np.arange(each), GROUP[:, None]] = elements
    return matrix


def _sum_places(number: int, each: int) -> tuple[Any, Any]:
    """Where the elements of a register of sums are: two of f16, or one."""
    if each == 2:
        return (GROUP + 8 * number)[:, None], 2 * PLACE[:, None] + np.arange(2)
    return (GROUP + 8 * (number // 2))[:, None], (2 * PLACE + number % 2)[:, None]


def _sums(words: list[Any], kind: DTypeLike) -> Any:
    matrix = np.zeros((16, 8), kind)
    for number, word in enumerate(words):
        elements = _elements(word, kind)
        matrix[_sum_places(number, elements.shape[1])] = elements
    return matrix


def _apart(matrix: Numbers) -> list[Any]:
    each = 4 // matrix.dtype.itemsize
    parts = [matrix[_sum_places(number, each)] for number in range(4 // each)]
    return [np.ascontiguousarray(part).view(np.uint32).reshape(WARP) for part in parts]


MATRICES: dict[str, Callable[[BlockState, Instruction], Act]] = {"ldmatrix": _load, "stmatrix": _store, "mma": _product}
