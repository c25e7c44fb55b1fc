"""Inline PTX, lowerings of float arithmetic: one rounding, mostly to nearest; pairs are two floats in a register.

`.ftz` takes subnormal numbers of f32 for zeros and gives zeros for them, `.sat` clamps to 0 and 1. Approximations are
computed as well as the machine can: they are nearer than PTX promises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from triptych.frontends.ptx.code import Code, Lowering, width_of
from triptych.frontends.ptx.directed_rounding import DIRECTED, directed, rounded_to_odd
from triptych.frontends.ptx.kinds import FLOATS, PAIRS, mlir_of, type_in
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value
from triptych.metastage.values.promotion import TYPES

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
    kind = next(name for name, info in _INFOS.items() if info.mlir == str(value.type))
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
