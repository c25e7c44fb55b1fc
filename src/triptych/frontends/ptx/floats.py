"""Inline PTX, lowerings of float arithmetic: one rounding, mostly to nearest; pairs are two floats in a register.

`.ftz` takes subnormal numbers of f32 for zeros and gives zeros for them, `.sat` clamps to 0 and 1. Approximations are
computed as well as the machine can: they are nearer than PTX promises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from triptych.frontends.ptx.code import FLOATS, PAIRS, Code, Lowering, mlir_of, type_in, width_of
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value
from triptych.ir.types import type_text
from triptych.metastage.values.promotion import TYPES

DIRECTED = frozenset({"rz", "rm", "rp"})


def directed(name: str, mode: str, code: Code, *operands: Value) -> Value:
    """`add`, `sub`, `mul` or `fma` of f32, rounded in one direction."""
    wide = [code.converted(operand, _F32, _F64) for operand in operands]
    if name == "mul":
        return _rounded(code, mode, code.like("arith.mulf", *wide))
    if name == "sub":
        wide[1] = code.like("arith.negf", wide[1])
    elif name == "fma":
        wide = [code.like("arith.mulf", wide[0], wide[1]), wide[2]]
    return _rounded(code, mode, _signed_zero(code, mode, rounded_to_odd(code, *wide), *wide))


def _signed_zero(code: Code, mode: str, total: Value, left: Value, right: Value) -> Value:
    """Of numbers of both signs a sum that is zero is -0 where it is rounded down, and 0 otherwise."""
    if mode != "rm":
        return total
    zero = code.number("f64", 0.0)
    signs = code.like("arith.ori", code.bits(left, "f64"), code.bits(right, "f64"))
    signed = code.like("math.copysign", zero, code.from_bits(signs, "f64"))
    return code.select(code.compare_floats("eq", total, zero), signed, total)


def _rounded(code: Code, mode: str, exact: Value) -> Value:
    """The nearest f32, or the one before it where the nearest lies on the wrong side: infinities too."""
    near = code.converted(exact, _F64, _F32)
    back = code.converted(near, _F32, _F64)
    bits = code.bits(near, "f32")
    one = code.integer(32, 1)
    if mode == "rz":
        wrong = code.compare_floats("gt", code.like("math.absf", back), code.like("math.absf", exact))
        moved = code.like("arith.subi", bits, one)
    else:
        # Bits count from zero outwards: down is back for what is positive, and on for what is negative.
        outward = code.like("arith.ori", code.like("arith.shrsi", bits, code.integer(32, 31)), one)
        wrong = code.compare_floats("gt" if mode == "rm" else "lt", back, exact)
        moved = code.like("arith.subi" if mode == "rm" else "arith.addi", bits, outward)
    return code.select(wrong, code.from_bits(moved, "f32"), near)


def rounded_to_odd(code: Code, left: Value, right: Value) -> Value:
    """The sum of doubles: where it is not exact its last bit says so, and a further rounding is as good as one."""
    total = code.like("arith.addf", left, right)
    of_right = code.like("arith.subf", total, left)
    of_left = code.like("arith.subf", total, of_right)
    error = code.like("arith.addf", code.like("arith.subf", left, of_left), code.like("arith.subf", right, of_right))
    zero = code.number("f64", 0.0)
    bits = code.bits(total, "f64")
    negative = [code.compare_floats("lt", each, zero) for each in (error, total)]
    away = code.resized(code.like("arith.xori", *negative), 64)
    odd = code.like("arith.ori", code.like("arith.subi", bits, away), code.integer(64, 1))
    finite = code.compare_floats("lt", code.like("math.absf", total), code.number("f64", float("inf")))
    inexact = code.like("arith.andi", finite, code.compare_floats("ne", error, zero))
    return code.select(inexact, code.from_bits(odd, "f64"), total)


Compute = Callable[..., Value]
_SUMS = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf"}
_COUNTS = {**dict.fromkeys(_SUMS, 2), "fma": 3, "mad": 3}
"""Operands of what can be rounded in every direction."""
_NEAREST = frozenset({"rn"})
_SMALLEST_NORMAL = 2.0**-126
_APPROXIMATE = {
    "tanh": ("math.tanh", ("f32", "f16", "bf16")),
    "ex2": ("math.exp2", ("f32", "f16", "bf16")),
    "lg2": ("math.log2", ("f32",)),
    "sin": ("math.sin", ("f32",)),
    "cos": ("math.cos", ("f32",)),
}
"""The function, and the types that have an instruction for it."""
_F32, _F64 = TYPES["Float32"], TYPES["Float64"]
_INFOS = {"f16": TYPES["Float16"], "bf16": TYPES["BFloat16"], "f32": _F32, "f64": _F64}


def float_arithmetic(instruction: Instruction) -> Lowering | None:
    """`add`, `sub`, `mul`, `fma`, `mad`, `min`, `max`, `neg`, `abs` of floats and of pairs of them."""
    name, marks = instruction.name, instruction.marks
    kind = type_in(marks)
    element = PAIRS.get(kind, kind)
    words = frozenset(marks[:-1])
    if not marks or marks[-1] != kind or element not in FLOATS or len(words) != len(marks) - 1:
        return None
    found = _computed(name, element, kind in PAIRS, words)
    if found is None:
        return None
    compute, count = found
    if "sat" in words:
        compute = partial(_saturated, compute)
    if "ftz" in words:
        compute = partial(_flushing, compute)
    function = partial(_pairwise, compute, element) if kind in PAIRS else compute
    return Lowering((kind,), (kind,) * count, function)


def _computed(name: str, element: str, is_pair: bool, words: frozenset[str]) -> tuple[Compute, int] | None:
    """What an instruction computes of single floats, if all its words are known."""
    ftz = {"ftz"} if element == "f32" else set()
    sat = {"sat"} if element in ("f32", "f16") and not (is_pair and element == "f32") else set()
    modes = words & (DIRECTED | _NEAREST)
    if modes & DIRECTED:
        if len(modes) > 1 or element != "f32" or name not in _COUNTS or not words <= modes | ftz | sat:
            return None
        (mode,) = modes
        return partial(directed, "fma" if name == "mad" else name, mode), _COUNTS[name]
    if name in _SUMS:
        operation = _SUMS[name]
        return (lambda code, a, b: code.like(operation, a, b), 2) if words <= _NEAREST | ftz | sat else None
    if name in ("fma", "mad"):
        # `mad.f32` is rounded once on every machine that there still is; `fma` has to say how it rounds.
        named = "rn" in words or name == "mad"
        allowed = (named and element in ("f32", "f64")) or (name == "fma" and named)
        return (partial(_fma, kind=element), 3) if allowed and words <= _NEAREST | ftz | sat else None
    if name in ("min", "max"):
        nan = {"NaN"} if element != "f64" else set()
        function = partial(_extreme, larger=name == "max", nan="NaN" in words)
        return (function, 2) if words <= ftz | nan and not (is_pair and element == "f32") else None
    if name in ("neg", "abs") and words <= ftz and not (is_pair and element == "f32"):
        operation = "arith.negf" if name == "neg" else "math.absf"
        return (lambda code, a: code.like(operation, a)), 1
    return None


def division(instruction: Instruction) -> Lowering | None:
    """`div`, `rcp`, `sqrt` and `rsqrt` of f32 and f64, exact to the nearest or approximate."""
    name, marks = instruction.name, instruction.marks
    if len(marks) < 2 or marks[-1] not in ("f32", "f64"):
        return None
    kind, mode, words = marks[-1], marks[0], marks[1:-1]
    modes = {"div": ("approx", "full", "rn"), "rsqrt": ("approx",)}.get(name, ("approx", "rn"))
    is_double = kind == "f64"
    if mode not in modes or words not in ((), ("ftz",)) or (is_double and (mode != "rn" or words)):
        return None
    compute = _DIVISIONS[name]
    return Lowering((kind,), (kind,) * (2 if name == "div" else 1), partial(_flushing, compute) if words else compute)


def approximation(instruction: Instruction) -> Lowering | None:
    """`tanh`, `ex2`, `lg2`, `sin` and `cos`, which have approximate forms only."""
    marks = instruction.marks
    operation, known = _APPROXIMATE[instruction.name]
    if len(marks) < 2 or marks[0] != "approx":
        return None
    kind, words = marks[-1], marks[1:-1]
    element = PAIRS.get(kind, kind)
    flushes = words == ("ftz",)
    may_flush = instruction.name != "tanh" and element != "f16"
    if kind == "f32x2" or element not in known or words not in ((), ("ftz",)) or (flushes and not may_flush):
        return None
    if instruction.name == "ex2" and element == "bf16" and not flushes:
        return None
    compute: Compute = partial(_in_f32, operation, kind=element)
    if flushes:
        compute = partial(_flushing, compute)
    function = partial(_pairwise, compute, element) if kind in PAIRS else compute
    return Lowering((kind,), (kind,), function)


def copysign(instruction: Instruction) -> Lowering | None:
    """`copysign d, sign, value`."""
    kind = type_in(instruction.marks)
    if instruction.marks not in (("f32",), ("f64",)):
        return None
    return Lowering((kind,), (kind, kind), lambda code, sign, value: code.like("math.copysign", value, sign))


def test_of_float(instruction: Instruction) -> Lowering | None:
    """`testp`."""
    if len(instruction.marks) != 2 or instruction.marks[1] not in ("f32", "f64"):
        return None
    test, kind = instruction.marks
    tests: dict[str, Compute] = {
        "finite": lambda code, x: code.compare_floats("lt", code.like("math.absf", x), _infinity(code, kind)),
        "infinite": lambda code, x: code.compare_floats("eq", code.like("math.absf", x), _infinity(code, kind)),
        "number": lambda code, x: code.compare_floats("num", x, x),
        "notanumber": lambda code, x: code.is_nan(x),
    }
    return Lowering(("pred",), (kind,), tests[test]) if test in tests else None


def _infinity(code: Code, kind: str) -> Value:
    return code.number(mlir_of(kind), float("inf"))


# wrapped around others ----------------------------------------------------------------------------------------------
def _pairwise(compute: Compute, element: str, code: Code, *operands: Value) -> Value:
    halves = [[code.from_bits(half, element) for half in code.halves(operand)] for operand in operands]
    return code.joined([code.bits(compute(code, *parts), element) for parts in zip(*halves, strict=True)])


def _flushing(compute: Compute, code: Code, *operands: Value) -> Value:
    return flushed(code, compute(code, *(flushed(code, operand) for operand in operands)))


def flushed(code: Code, value: Value) -> Value:
    """Zero with its sign for what is smaller than a normal f32."""
    kind = "bf16" if width_of(value) == 16 else "f32"
    small = code.compare_floats("lt", code.like("math.absf", value), code.number(kind, _SMALLEST_NORMAL))
    return code.select(small, code.like("math.copysign", code.number(kind, 0.0), value), value)


def _saturated(compute: Compute, code: Code, *operands: Value) -> Value:
    return saturated(code, compute(code, *operands))


def saturated(code: Code, value: Value) -> Value:
    """Between 0 and 1; NaN and -0 are 0."""
    kind = next(name for name, info in _INFOS.items() if info.mlir == type_text(value.type))
    zero, one = code.number(kind, 0.0), code.number(kind, 1.0)
    above = code.select(code.compare_floats("gt", value, zero), value, zero)
    return code.select(code.compare_floats("gt", above, one), one, above)


# single floats ------------------------------------------------------------------------------------------------------
def _fma(code: Code, a: Value, b: Value, c: Value, *, kind: str) -> Value:
    if kind in ("f32", "f64"):
        return code.value("math.fma", (a, b, c), kind)
    wide = [code.converted(each, _INFOS[kind], _F64) for each in (a, b, c)]
    product = code.like("arith.mulf", wide[0], wide[1])
    return code.converted(rounded_to_odd(code, product, wide[2]), _F64, _INFOS[kind])


def _extreme(code: Code, left: Value, right: Value, *, larger: bool, nan: bool) -> Value:
    """-0 is less than 0; of a number and NaN it is the number, or NaN where that is asked for."""
    found = code.like("arith.maximumf" if larger else "arith.minimumf", left, right)
    if nan:
        return found
    return code.select(code.is_nan(left), right, code.select(code.is_nan(right), left, found))


def _divided(code: Code, a: Value, b: Value) -> Value:
    return code.like("arith.divf", a, b)


def _reciprocal(code: Code, a: Value) -> Value:
    return code.like("arith.divf", code.number(str(a.type), 1.0), a)


def _root(code: Code, a: Value) -> Value:
    return code.like("math.sqrt", a)


def _reciprocal_root(code: Code, a: Value) -> Value:
    return _reciprocal(code, _root(code, a))


def _in_f32(operation: str, code: Code, value: Value, *, kind: str) -> Value:
    wide = code.converted(value, _INFOS[kind], _F32)
    return code.converted(code.like(operation, wide), _F32, _INFOS[kind])


_DIVISIONS: dict[str, Compute] = {
    "div": _divided,
    "rcp": _reciprocal,
    "sqrt": _root,
    "rsqrt": _reciprocal_root,
}
