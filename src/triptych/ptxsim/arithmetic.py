"""Arithmetic instructions that each thread does for itself: numbers in arrays, one of each thread.

`meaning` gives for an instruction the type of its result, those of its operands, and the function between them.
Packed pairs (`f16x2`) and `bf16` are bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from triptych.ptxsim.conversions import (
    Numbers,
    conversion,
    exact_sum,
    flushed,
    from_bfloat,
    fused,
    fused_doubles,
    rounded,
    smaller,
    to_bfloat,
)
from triptych.ptxsim.reading import TYPE_BYTES, Instruction

ARRAYS: dict[str, Any] = {
    kind: np.dtype(name)
    for kind, name in (
        *((f"s{bits}", f"i{bits // 8}") for bits in (8, 16, 32, 64)),
        *((f"{letter}{bits}", f"u{bits // 8}") for letter in "ub" for bits in (8, 16, 32, 64)),
        *(("f16", "f2"), ("f32", "f4"), ("f64", "f8"), ("pred", "?"), ("bf16", "u2")),
        *((f"{kind}x2", "u4") for kind in ("f16", "bf16", "s16", "u16")),
        ("f32x2", "u8"),
    )
}
Meaning = tuple[str, Sequence[str], Callable[..., Any]]
ROUNDINGS = ("rn", "rz", "rm", "rp")
PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32", "s16x2": "s16", "u16x2": "u16"}
FLOATS = ("f16", "bf16", "f32", "f64")
_OF_FLOATS = {"sat", "cc", "ftz", "relu", "NaN"}
"""What means something else, or nothing yet, with integers."""
WIDE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}


class UnknownInstructionError(Exception):
    """The machine has not learnt an instruction yet."""


def meaning(instruction: Instruction) -> Meaning:
    """What a thread computes."""
    name, marks = instruction.name, instruction.modifiers
    if name == "cvt":
        return conversion(marks)
    types = [mark for mark in marks if mark in TYPE_BYTES]
    if len(types) == 2 and name in ("add", "sub", "fma"):
        return _mixed(name, marks, *types)
    kind = instruction.type
    if (len(types) > 1 and name not in ("set", "slct")) or (kind not in (*FLOATS, *PAIRS) and _OF_FLOATS & {*marks}):
        raise UnknownInstructionError(str(instruction))
    if name in ("min", "max") and len(instruction.operands) == 4:
        _, _, function = meaning(replace(instruction, operands=instruction.operands[:3]))
        return kind, [kind] * 3, lambda a, b, c: function(function(a, b), c)
    if kind in PAIRS and name not in ("mov", "setp", "selp"):
        single = replace(instruction, modifiers=tuple(PAIRS.get(mark, mark) for mark in marks))
        _, sources, function = meaning(single)
        return kind, [kind] * len(sources), partial(_pairwise, function, PAIRS[kind])
    found = _arithmetic(name, marks, kind) or _on_bits(name, marks, kind)
    if found is None:
        raise UnknownInstructionError(str(instruction))
    return found


def _arithmetic(name: str, marks: tuple[str, ...], kind: str) -> Meaning | None:
    match name:
        case "mov":
            return kind, [kind], lambda value: value
        case "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" if kind in FLOATS:
            return kind, [kind, kind], _float_function(name, marks, kind)
        case "fma" | "mad" if kind in FLOATS:
            return kind, [kind] * 3, _float_function("fma", marks, kind)
        case "neg" | "abs" | "sqrt" | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" if kind[0] in "fb":
            return kind, [kind], _float_function(name, marks, kind)
        case "copysign":
            return kind, [kind, kind], lambda sign, value: np.copysign(value, sign)
        case "testp":
            return "pred", [kind], _TESTS[marks[0]]
        case "mul" | "mad":
            return _product(name, marks, kind)
        case "add" | "sub" | "and" | "or" | "xor":
            return kind, [kind, kind], _INTEGERS[name]
        case "not":
            return kind, [kind], np.invert
        case "neg":
            return kind, [kind], np.negative
        case "abs":
            return kind, [kind], np.abs
        case "min" | "max":
            return kind, [kind, kind], np.minimum if name == "min" else np.maximum
        case "div" | "rem":
            return kind, [kind, kind], _quotient if name == "div" else _remainder
    return None


def _ones(value: Numbers) -> Any:
    """How many bits are set; NumPy 1 has no function for it."""
    return np.unpackbits(value.view(np.uint8).reshape(len(value), -1), axis=1).sum(axis=1, dtype=np.uint32)


def _on_bits(name: str, marks: tuple[str, ...], kind: str) -> Meaning | None:
    """Shifts, choices, comparisons, fields."""
    match name:
        case "shl" | "shr":
            return kind, [kind, "u32"], partial(_shifted, left=name == "shl")
        case "shf":
            return "b32", ["b32", "b32", "u32"], partial(_funnel, left=marks[0] == "l", wrap=marks[1] == "wrap")
        case "selp":
            return kind, [kind, kind, "pred"], lambda yes, no, choice: np.where(choice, yes, no)
        case "setp" if kind in PAIRS:
            return "pred", [kind, kind], partial(_compared_pairs, _comparison(marks[0], PAIRS[kind]), PAIRS[kind])
        case "setp" if marks[1] in _COMBINED:
            return "pred", [kind, kind, "pred"], partial(_combined, _comparison(marks[0], kind), _COMBINED[marks[1]])
        case "setp":
            return "pred", [kind, kind], _comparison(marks[0], kind)
        case "set":
            return marks[-2], [kind, kind], partial(_set, _comparison(marks[0], kind), marks[-2])
        case "slct":
            return marks[-2], [marks[-2], marks[-2], kind], lambda yes, no, sign: np.where(sign >= 0, yes, no)
        case "popc":
            return "u32", [kind], _ones
        case "clz":
            return "u32", [kind], partial(_leading_zeros, bits=8 * TYPE_BYTES[kind])
        case "brev":
            return kind, [kind], partial(_reversed, bits=8 * TYPE_BYTES[kind])
        case "bfe":
            return kind, [kind, "u32", "u32"], partial(_field, bits=8 * TYPE_BYTES[kind])
        case "bfi":
            return kind, [kind, kind, "u32", "u32"], partial(_with_field, bits=8 * TYPE_BYTES[kind])
        case "prmt" if marks == ("b32",):
            return "b32", ["b32", "b32", "b32"], _permuted
        case "lop3":
            return "b32", ["b32", "b32", "b32", "b32"], _logic
    return None


# floats -------------------------------------------------------------------------------------------------------------
def _float_function(name: str, marks: Sequence[str], kind: str) -> Callable[..., Any]:
    mode = next((mark for mark in marks if mark in ROUNDINGS), "rn")
    function = partial(_FLOATS[name], kind=kind, mode=mode, nan="NaN" in marks)
    return partial(_as_float, function, kind, "ftz" in marks, "sat" in marks)


def _mixed(name: str, marks: Sequence[str], kind: str, factor: str) -> Meaning:
    """Of a wide type, with first operands of a narrow one."""
    plain = _float_function(name, marks, kind)

    def widened(value: Numbers) -> Any:
        return (from_bfloat(value) if factor == "bf16" else value).astype(ARRAYS[kind])

    if name == "fma":
        return kind, [factor, factor, kind], lambda a, b, c: plain(widened(a), widened(b), c)
    return kind, [factor, kind], lambda a, c: plain(widened(a), c)


def _as_float(function: Callable[..., Any], kind: str, flushes: bool, saturates: bool, *operands: Numbers) -> Any:
    if kind == "bf16":
        operands = tuple(map(from_bfloat, operands))
    if flushes and kind == "f32":
        operands = tuple(map(flushed, operands))
    result = function(*operands)
    if flushes and kind == "f32":
        result = flushed(result)
    if saturates:
        result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)).astype(result.dtype)
    return to_bfloat(result) if kind == "bf16" else result.astype(ARRAYS[kind])


def _in_doubles(function: Callable[..., Any], *operands: Numbers, kind: str, mode: str, **_: object) -> Any:
    """Sums and products: enough digits for what is narrower, in any direction; doubles only to the nearest."""
    if kind == "f64":
        if mode != "rn":
            raise UnknownInstructionError(f"f64 with {mode}")
        return function(*operands)
    wide = function(*(operand.astype(np.float64) for operand in operands))
    return wide if kind == "bf16" else rounded(wide, ARRAYS[kind], mode)


def _sum(left: Numbers, right: Numbers, *, kind: str, mode: str, sign: int = 1, **_: object) -> Any:
    """A sum or difference. What is lost beside far larger numbers still decides where a directed rounding goes."""
    if kind == "f64":
        return _in_doubles(operator.add, left, sign * right, kind=kind, mode=mode)
    wide = left.astype(np.float64), sign * right.astype(np.float64)
    exact = exact_sum(*wide)
    return exact if kind == "bf16" else rounded(_signed_zero(exact, *wide, mode), ARRAYS[kind], mode)


def _signed_zero(total: Numbers, left: Numbers, right: Numbers, mode: str) -> Any:
    """Of numbers of both signs a sum that is zero is -0 where it is rounded down (IEEE 754, 6.3)."""
    negative = (np.signbit(left) | np.signbit(right)) & (mode == "rm")
    return np.where((total == 0) & negative, -0.0, total)


def _fma(a: Numbers, b: Numbers, c: Numbers, *, kind: str, mode: str, **_: object) -> Any:
    if kind == "f64":
        return fused_doubles(a, b, c)
    exact = fused(a, b, c)
    product = a.astype(np.float64) * b.astype(np.float64)
    return exact if kind == "bf16" else rounded(_signed_zero(exact, product, c, mode), ARRAYS[kind], mode)


def _extreme(left: Numbers, right: Numbers, *, larger: bool, nan: bool, **_: object) -> Any:
    return smaller(left, right, larger=larger, nan=nan)


def _sign(function: Callable[..., Any], value: Numbers, **_: object) -> Any:
    return function(value)


_FLOATS: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "sub": partial(_sum, sign=-1),
    "mul": partial(_in_doubles, operator.mul),
    "div": partial(_in_doubles, operator.truediv),
    "fma": _fma,
    "min": partial(_extreme, larger=False),
    "max": partial(_extreme, larger=True),
    "neg": partial(_sign, np.negative),
    "abs": partial(_sign, np.abs),
    "sqrt": partial(_in_doubles, np.sqrt),
    "rcp": partial(_in_doubles, np.reciprocal),
    "rsqrt": partial(_in_doubles, lambda value: 1 / np.sqrt(value)),
    "ex2": partial(_in_doubles, np.exp2),
    "lg2": partial(_in_doubles, np.log2),
    "sin": partial(_in_doubles, np.sin),
    "cos": partial(_in_doubles, np.cos),
    "tanh": partial(_in_doubles, np.tanh),
}
_TESTS: dict[str, Callable[..., Any]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda value: ~np.isnan(value),
    "notanumber": np.isnan,
}


def _pairwise(function: Callable[..., Any], kind: str, *operands: Numbers) -> Any:
    """The same on the lower and the upper halves of words."""
    half = 8 * TYPE_BYTES[kind]
    narrow, wide = np.dtype(f"u{half // 8}"), np.dtype(f"u{half // 4}")
    low, high = (np.asarray(function(*parts)).view(narrow).astype(wide) for parts in _halves(kind, operands))
    return low | (high << wide.type(half))


def _compared_pairs(test: Callable[..., Any], kind: str, *operands: Numbers) -> tuple[Any, Any]:
    """For `setp d|e`: of the lower halves and of the upper ones."""
    low, high = (test(*parts) for parts in _halves(kind, operands))
    return low, high


def _halves(kind: str, operands: Sequence[Any]) -> Any:
    bits = 8 * TYPE_BYTES[kind]
    for shift in (0, bits):
        yield [
            (operand >> operand.dtype.type(shift)).astype(f"u{bits // 8}").view(ARRAYS[kind]) for operand in operands
        ]


# integers -----------------------------------------------------------------------------------------------------------
_INTEGERS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _product(name: str, marks: Sequence[str], kind: str) -> Meaning:
    """`mul` and `mad` of the lower half, the upper half, or all."""
    function = {"wide": _wide, "hi": _high}.get(marks[0], np.multiply)
    result = WIDE[kind] if marks[0] == "wide" else kind
    if name == "mul":
        return result, [kind, kind], function
    return result, [kind, kind, result], lambda a, b, c: function(a, b) + c


def _wide(a: Numbers, b: Numbers) -> Any:
    wide = f"{a.dtype.kind}{2 * a.dtype.itemsize}"
    return a.astype(wide) * b.astype(wide)


def _high(a: Numbers, b: Numbers) -> Any:
    bits = 8 * a.dtype.itemsize
    high = (a.astype(object) * b.astype(object)) >> bits
    return np.array(high % (1 << bits), object).astype(f"u{a.dtype.itemsize}").view(a.dtype)


def _quotient(a: Numbers, b: Numbers) -> Any:
    """Towards zero. What a division by zero gives nobody knows: no kernel may use it."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    down = a // safe
    return down + ((down * safe != a) & ((a < 0) != (safe < 0)))


def _remainder(a: Numbers, b: Numbers) -> Any:
    return a - _quotient(a, b) * b


def _shifted(value: Numbers, count: Numbers, *, left: bool) -> Any:
    """Counts from the width on shift everything out, or to the sign."""
    bits = 8 * value.dtype.itemsize
    inside = np.minimum(count, bits - 1).astype(value.dtype)
    shifted = value << inside if left else value >> inside
    gone = (
        np.where(value < 0, -1, 0).astype(value.dtype) if not left and value.dtype.kind == "i" else value.dtype.type(0)
    )
    return np.where(count >= bits, gone, shifted)


def _funnel(low: Numbers, high: Numbers, count: Numbers, *, left: bool, wrap: bool) -> Any:
    count = (count & np.uint32(31) if wrap else np.minimum(count, 32)).astype(np.uint64)
    both = (high.astype(np.uint64) << np.uint64(32)) | low
    return ((both << count) >> np.uint64(32) if left else both >> count).astype(np.uint32)


def _comparison(test: str, kind: str) -> Callable[..., Any]:
    if test in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (test == "nan")
    plain = test[:2] if len(test) == 3 else test
    if plain in ("lo", "ls", "hi", "hs"):
        plain = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[plain]
    compare = getattr(operator, plain)
    if kind == "bf16":
        return lambda a, b: _comparison(test, "f32")(from_bfloat(a), from_bfloat(b))
    if kind not in ("f16", "f32", "f64"):
        return compare  # type: ignore[no-any-return]
    unordered = len(test) == 3
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), unordered, compare(a, b))


_COMBINED: dict[str, Callable[..., Any]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _combined(
    test: Callable[..., Any], combine: Callable[..., Any], a: Numbers, b: Numbers, other: Numbers
) -> tuple[Any, Any]:
    """For `setp d|e`: a comparison and its opposite, each combined with a predicate."""
    found = test(a, b)
    return combine(found, other), combine(~found, other)


def _set(test: Callable[..., Any], kind: str, a: Numbers, b: Numbers) -> Any:
    one = ARRAYS[kind].type(1) if kind[0] == "f" else np.array(-1).astype(ARRAYS[kind])
    return np.where(test(a, b), one, ARRAYS[kind].type(0))


def _leading_zeros(value: Numbers, *, bits: int) -> Any:
    return np.array([bits - int(each).bit_length() for each in value], np.uint32)


def _reversed(value: Numbers, *, bits: int) -> Any:
    return np.array([int(f"{int(each):0{bits}b}"[::-1], 2) for each in value], value.dtype)


def _field(value: Numbers, start: Numbers, length: Numbers, *, bits: int) -> Any:
    start, length = start & np.uint32(255), length & np.uint32(255)
    results = []
    for number, first, count in np.broadcast(value, start, length):
        number, first, count = int(number), int(first), int(count)
        part = number % (1 << bits) >> first & (1 << count) - 1
        if value.dtype.kind == "i" and count:
            sign = number % (1 << bits) >> min(first + count - 1, bits - 1) & 1
            here = min(count, max(bits - first, 0))
            part = (part & (1 << here) - 1) - (sign << here)
        results.append(part % (1 << bits))
    return np.array(results, f"u{bits // 8}").view(value.dtype)


def _with_field(part: Numbers, value: Numbers, start: Numbers, length: Numbers, *, bits: int) -> Any:
    results = []
    for new, old, first, count in np.broadcast(part, value, start & np.uint32(255), length & np.uint32(255)):
        mask = (1 << int(count)) - 1 << int(first) & (1 << bits) - 1
        results.append(int(old) & ~mask | int(new) << int(first) & mask)
    return np.array(results, value.dtype)


def _permuted(a: Numbers, b: Numbers, selector: Numbers) -> Any:
    """Four bytes chosen from eight; the eighth bit of a choice asks for the byte's sign instead."""
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.zeros(np.broadcast(both, selector).shape, np.uint32)
    for place in range(4):
        choice = (selector >> np.uint32(4 * place)).astype(np.uint64)
        byte = (both >> ((choice & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        byte = np.where(choice & np.uint64(8), np.where(byte >> np.uint64(7), 255, 0), byte)
        result |= byte.astype(np.uint32) << np.uint32(8 * place)
    return result


def _logic(a: Numbers, b: Numbers, c: Numbers, table: Numbers) -> Any:
    result = np.zeros(np.broadcast(a, b, c).shape, np.uint32)
    chosen = int(table.flat[0])
    for row in range(8):
        if chosen >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result
