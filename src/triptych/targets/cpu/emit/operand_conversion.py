"""MMA operand conversion, as MLIR text: vectors of any element type, and of block scales, as f32 or i32, exactly."""

from __future__ import annotations

from collections.abc import Iterator

_STORED = {
    "bf16": "i16",
    "tf32": "f32",
    "s32": "i32",
    **dict.fromkeys(("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1", "s8", "u8"), "i8"),
}
"""Elements whose type in memory has another name."""


def stored_type(kind: str) -> str:
    """The type of an operand's elements in memory."""
    return _STORED.get(kind, kind)


def converted(result: str, value: str, kind: str, lanes: int) -> Iterator[str]:
    """Elements as f32 or i32, exactly."""
    f32, i32, i8, i16, f16 = (f"vector<{lanes}x{name}>" for name in ("f32", "i32", "i8", "i16", "f16"))
    if kind == "f16":
        yield f"{result} = arith.extf {value} : {f16} to {f32}"
    elif kind == "bf16":  # the upper half of an f32
        yield f"{result}w = arith.extui {value} : {i16} to {i32}"
        yield f"{result}n = arith.constant dense<16> : {i32}"
        yield f"{result}s = arith.shli {result}w, {result}n : {i32}"
        yield f"{result} = arith.bitcast {result}s : {i32} to {f32}"
    elif kind == "tf32":
        yield f"{result}i = arith.bitcast {value} : {f32} to {i32}"
        yield f"{result}m = arith.constant dense<-8192> : {i32}"
        yield f"{result}a = arith.andi {result}i, {result}m : {i32}"
        yield f"{result} = arith.bitcast {result}a : {i32} to {f32}"
    elif kind == "e2m1":
        yield from _converted_e2m1(result, value, lanes)
    elif kind in _FNUZ:
        yield from _converted_fnuz(result, value, kind, lanes)
    elif kind in ("ue4m3", "ue8m0"):
        yield from _converted_scale(result, value, kind, lanes)
    elif kind in ("s8", "u8"):
        yield f"{result} = arith.{'extsi' if kind == 's8' else 'extui'} {value} : {i8} to {i32}"
    elif kind == "e5m2":  # the upper half of an f16
        yield f"{result}w = arith.extui {value} : {i8} to {i16}"
        yield f"{result}n = arith.constant dense<8> : {i16}"
        yield f"{result}s = arith.shli {result}w, {result}n : {i16}"
        yield f"{result}h = arith.bitcast {result}s : {i16} to {f16}"
        yield f"{result} = arith.extf {result}h : {f16} to {f32}"
    else:
        yield from _converted_e4m3(result, value, lanes)


def _converted_e2m1(result: str, value: str, lanes: int) -> Iterator[str]:
    """The low four bits: as the bits of an f16, whose exponent has another bias, 2**14 too small."""
    i8, i16, f16, f32 = (f"vector<{lanes}x{kind}>" for kind in ("i8", "i16", "f16", "f32"))
    yield f"{result}w = arith.extui {value} : {i8} to {i16}"
    for name, bits, distance in (("s", 8, 12), ("u", 7, 9)):
        yield f"{result}{name}m = arith.constant dense<{bits}> : {i16}"
        yield f"{result}{name}n = arith.constant dense<{distance}> : {i16}"
        yield f"{result}{name}b = arith.andi {result}w, {result}{name}m : {i16}"
        yield f"{result}{name} = arith.shli {result}{name}b, {result}{name}n : {i16}"
    yield f"{result}b = arith.ori {result}s, {result}u : {i16}"
    yield f"{result}h = arith.bitcast {result}b : {i16} to {f16}"
    yield f"{result}e = arith.extf {result}h : {f16} to {f32}"
    yield f"{result}c = arith.constant dense<16384.0> : {f32}"
    yield f"{result} = arith.mulf {result}e, {result}c : {f32}"


def _converted_scale(result: str, value: str, kind: str, lanes: int) -> Iterator[str]:
    """Block scales. Of ue8m0, the exponent of an f32: 0 is a subnormal number there, 255 none."""
    i8, i32, f32, i1 = (f"vector<{lanes}x{name}>" for name in ("i8", "i32", "f32", "i1"))
    if kind == "ue4m3":
        yield f"{result}_bits = arith.constant dense<127> : {i8}"
        yield f"{result}_unsigned = arith.andi {value}, {result}_bits : {i8}"
        yield from _converted_e4m3(result, f"{result}_unsigned", lanes)
        return
    yield f"{result}w = arith.extui {value} : {i8} to {i32}"
    yield f"{result}n = arith.constant dense<23> : {i32}"
    yield f"{result}s = arith.shli {result}w, {result}n : {i32}"
    for name, special, bits in (("z", 0, 0x00400000), ("x", 255, 0x7FC00000)):
        before = f"{result}s" if name == "z" else f"{result}z"
        yield f"{result}{name}o = arith.constant dense<{special}> : {i32}"
        yield f"{result}{name}q = arith.cmpi eq, {result}w, {result}{name}o : {i32}"
        yield f"{result}{name}v = arith.constant dense<{bits}> : {i32}"
        yield f"{result}{name} = arith.select {result}{name}q, {result}{name}v, {before} : {i1}, {i32}"
    yield f"{result} = arith.bitcast {result}x : {i32} to {f32}"


def _converted_e4m3(result: str, value: str, lanes: int) -> Iterator[str]:
    """As the bits of an f16, whose exponent has another bias: 2**8 too small. All ones stand for no number."""
    f32, i8, i16, f16, i1 = (f"vector<{lanes}x{name}>" for name in ("f32", "i8", "i16", "f16", "i1"))
    yield f"{result}w = arith.extsi {value} : {i8} to {i16}"
    yield f"{result}n = arith.constant dense<7> : {i16}"
    yield f"{result}s = arith.shli {result}w, {result}n : {i16}"
    yield f"{result}k = arith.constant dense<-16512> : {i16}"  # the sign, and not the copy of it below
    yield f"{result}b = arith.andi {result}s, {result}k : {i16}"
    yield f"{result}h = arith.bitcast {result}b : {i16} to {f16}"
    yield f"{result}e = arith.extf {result}h : {f16} to {f32}"
    yield f"{result}c = arith.constant dense<256.0> : {f32}"
    yield f"{result}f = arith.mulf {result}e, {result}c : {f32}"
    yield f"{result}m = arith.constant dense<127> : {i8}"
    yield f"{result}u = arith.andi {value}, {result}m : {i8}"
    yield f"{result}q = arith.cmpi eq, {result}u, {result}m : {i8}"
    yield f"{result}x = arith.constant dense<0x7FC00000> : {f32}"
    yield f"{result} = arith.select {result}q, {result}x, {result}f : {i1}, {f32}"


_FNUZ = {"e4m3fnuz": (3, 8), "e5m2fnuz": (2, 16)}
"""Of the formats with one zero: bits of the mantissa, and the bias of the exponent."""


def _converted_fnuz(result: str, value: str, kind: str, lanes: int) -> Iterator[str]:
    """As the bits of an f32, whose exponent has another bias. What would be minus zero stands for no number."""
    mantissa, bias = _FNUZ[kind]
    f32, i32, i8, i1 = (f"vector<{lanes}x{name}>" for name in ("f32", "i32", "i8", "i1"))
    yield f"{result}w = arith.extsi {value} : {i8} to {i32}"
    yield f"{result}n = arith.constant dense<{23 - mantissa}> : {i32}"
    yield f"{result}s = arith.shli {result}w, {result}n : {i32}"
    magnitude = 127 << 23 - mantissa
    yield f"{result}k = arith.constant dense<{magnitude - (1 << 31)}> : {i32}"  # the sign, and not the copies below
    yield f"{result}b = arith.andi {result}s, {result}k : {i32}"
    yield f"{result}h = arith.bitcast {result}b : {i32} to {f32}"
    yield f"{result}c = arith.constant dense<{float(2 ** (127 - bias))}> : {f32}"
    yield f"{result}f = arith.mulf {result}h, {result}c : {f32}"
    yield f"{result}m = arith.constant dense<-128> : {i8}"
    yield f"{result}q = arith.cmpi eq, {value}, {result}m : {i8}"
    yield f"{result}x = arith.constant dense<0x7FC00000> : {f32}"
    yield f"{result} = arith.select {result}q, {result}x, {result}f : {i1}, {f32}"
