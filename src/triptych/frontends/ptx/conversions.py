"""Inline PTX, lowerings of `cvt`: between integers, between floats, from one to the other, and packed pairs."""

from __future__ import annotations

from functools import partial

from triptych.frontends.ptx.code import FLOATS, WIDTHS, Code, Lowering, is_signed, mlir_of
from triptych.frontends.ptx.floats import flushed, saturated
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value
from triptych.metastage.values.promotion import TYPES, TypeInfo

_INFOS = {"f16": TYPES["Float16"], "bf16": TYPES["BFloat16"], "f32": TYPES["Float32"], "f64": TYPES["Float64"]}
_NARROW = {
    "e4m3x2": TYPES["Float8E4M3FN"],
    "e5m2x2": TYPES["Float8E5M2"],
    "e2m1x2": TYPES["Float4E2M1FN"],
}
"""Pairs of floats that fit into 16 bits or 8, and the type of each."""
_WHOLE = {"rni": "math.roundeven", "rzi": "math.trunc", "rmi": "math.floor", "rpi": "math.ceil"}
_INTEGERS = frozenset(f"{letter}{width}" for letter in "us" for width in (8, 16, 32, 64))


def conversion(instruction: Instruction) -> Lowering | None:
    """The meaning of a `cvt`; the last two words are the types of the result and of what is converted."""
    if len(instruction.marks) < 2:
        return None
    *given, to, source = instruction.marks
    words = frozenset(given)
    if len(words) != len(given):
        return None
    if to in _NARROW or source in _NARROW:
        return _narrow(words, to, source)
    if to in ("f16x2", "bf16x2"):
        return _pair(words, to, source)
    if to in _INTEGERS and source in _INTEGERS:
        return _between_integers(words, to, source)
    if to in FLOATS and source in _INTEGERS:
        return _from_integer(words, to, source)
    if to in _INTEGERS and source in FLOATS:
        return _to_integer(words, to, source)
    if to in FLOATS and source in FLOATS:
        return _between_floats(words, to, source)
    return None


def _convert(result: str, source: str, function: object) -> Lowering:
    """Registers of a conversion may be wider than its types."""
    assert callable(function), "a lowering is a function"
    return Lowering((result,), (source,), function, widens=True)


# integers -----------------------------------------------------------------------------------------------------------
def _between_integers(words: frozenset[str], to: str, source: str) -> Lowering | None:
    if not words <= {"sat"} or (words and _holds(to, source)):
        return None

    def function(code: Code, value: Value) -> Value:
        if words:
            value = _clamped(code, value, to, source)
        return code.resized(value, WIDTHS[to], is_signed(source))

    return _convert(to, source, function)


def _holds(to: str, source: str) -> bool:
    """Whether a type has all numbers of another: then nothing can be saturated, and there is no such instruction."""
    least, most = TYPES[_name(source)].bounds
    return TYPES[_name(to)].holds(least) and TYPES[_name(to)].holds(most)


def _clamped(code: Code, value: Value, to: str, source: str) -> Value:
    """To what the narrower type holds, in the type that it comes from."""
    width = WIDTHS[source]
    low, high = TYPES[_name(to)].bounds
    least, most = TYPES[_name(source)].bounds
    letter = "s" if is_signed(source) else "u"
    if low > least:
        value = code.like(f"arith.max{letter}i", value, code.integer(width, low))
    if high < most:
        value = code.like(f"arith.min{letter}i", value, code.integer(width, high))
    return value


def _name(kind: str) -> str:
    return f"{'Int' if is_signed(kind) else 'Uint'}{WIDTHS[kind]}"


def _from_integer(words: frozenset[str], to: str, source: str) -> Lowering | None:
    """A double holds any integer of 32 bits, and is rounded once more than it may be from 64 bits to f16 or bf16."""
    if words != {"rn"} or (to in ("f16", "bf16") and WIDTHS[source] == 64):
        return None
    operation = "arith.sitofp" if is_signed(source) else "arith.uitofp"

    def function(code: Code, value: Value) -> Value:
        if to in ("f16", "bf16"):
            return code.converted(code.value(operation, (value,), "f64"), _INFOS["f64"], _INFOS[to])
        return code.value(operation, (value,), mlir_of(to))

    return _convert(to, source, function)


def _to_integer(words: frozenset[str], to: str, source: str) -> Lowering | None:
    """What is too large is the largest; NaN is 0, of 64 bits the highest bit alone."""
    mode = next((word for word in words if word in _WHOLE), "")
    if not mode or words - {mode} - ({"ftz"} if source == "f32" else set()) or (source == "bf16" and "ftz" in words):
        return None

    def function(code: Code, value: Value) -> Value:
        info = _INFOS[source]
        if "ftz" in words:
            value = flushed(code, value)
        if source in ("f16", "bf16"):
            value, info = code.converted(value, info, _INFOS["f32"]), _INFOS["f32"]
        whole = code.like(_WHOLE[mode], value)
        found = code.converted(whole, info, TYPES[_name(to)])
        if WIDTHS[to] < 64:
            return found
        return code.select(code.is_nan(value), code.integer(64, 1 << 63), found)

    return _convert(to, source, function)


# floats -------------------------------------------------------------------------------------------------------------
def _between_floats(words: frozenset[str], to: str, source: str) -> Lowering | None:
    """Wider ones hold every number; narrower ones are rounded to the nearest. `rni` and others give whole numbers."""
    mode = next((word for word in words if word in _WHOLE), "")
    allowed = {"sat"} if to in ("f32", "f64", "f16") else set()
    if "f32" in (to, source) and not {to, source} & {"f16", "bf16"}:
        allowed |= {"ftz"}
    is_narrower = WIDTHS[to] < WIDTHS[source]
    if is_narrower != ("rn" in words) or (mode and to != source) or (to == source and not mode):
        return None
    if words - allowed - {mode, "rn"} or {to, source} == {"f16", "bf16"} or (mode and to == "bf16"):
        return None

    def function(code: Code, value: Value) -> Value:
        if "ftz" in words and source == "f32":
            value = flushed(code, value)
        value = code.like(_WHOLE[mode], value) if mode else code.converted(value, _INFOS[source], _INFOS[to])
        if "ftz" in words and to == "f32":
            value = flushed(code, value)
        return saturated(code, value) if "sat" in words else value

    return _convert(to, source, function)


# pairs --------------------------------------------------------------------------------------------------------------
def _pair(words: frozenset[str], to: str, source: str) -> Lowering | None:
    """`cvt.rn.f16x2.f32 d, upper, lower`."""
    if words != {"rn"} or source != "f32":
        return None
    function = partial(_packed, source=_INFOS["f32"], to=_INFOS[to.removesuffix("x2")])
    return Lowering((to,), ("f32", "f32"), function)


def _packed(code: Code, upper: Value, lower: Value, *, source: TypeInfo, to: TypeInfo, saturate: bool = False) -> Value:
    bits = TYPES[f"Uint{to.width}"] if to.width > 4 else TYPES["Int4"]
    parts = [code.converted(each, source, to, saturate) for each in (lower, upper)]
    return code.joined([code.cast(each, to, bits) for each in parts])


def _narrow(words: frozenset[str], to: str, source: str) -> Lowering | None:
    """To pairs of fp8 and fp4, which are always saturated, and from them to pairs of f16."""
    if source in _NARROW:
        if to != "f16x2" or words != {"rn"}:
            return None
        return Lowering(("f16x2",), (f"b{2 * _NARROW[source].width}",), partial(_unpacked, source=_NARROW[source]))
    narrow = _NARROW[to]
    if words != {"rn", "satfinite"} or source not in ("f32", "f16x2") or (source == "f16x2" and narrow.width < 8):
        return None
    pack = partial(_packed, to=narrow, saturate=True)
    result = (f"b{2 * narrow.width}",)
    if source == "f32":
        return Lowering(result, ("f32", "f32"), partial(pack, source=_INFOS["f32"]))

    def of_pair(code: Code, both: Value) -> Value:
        lower, upper = (code.from_bits(half, "f16") for half in code.halves(both))
        return pack(code, upper, lower, source=_INFOS["f16"])

    return Lowering(result, ("f16x2",), of_pair)


def _unpacked(code: Code, both: Value, *, source: TypeInfo) -> Value:
    bits = TYPES[f"Uint{source.width}"] if source.width > 4 else TYPES["Int4"]
    floats = [code.cast(half, bits, source) for half in code.halves(both)]
    return code.joined([code.bits(code.converted(each, source, _INFOS["f16"]), "f16") for each in floats])
