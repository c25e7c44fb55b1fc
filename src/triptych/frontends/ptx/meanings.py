"""Inline PTX, instruction -> meaning: the table of what has one on every machine, and what programs add to it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from triptych.frontends.ptx import bits, choices, clusters, conversions, floats, integers, memory, moves, warps
from triptych.frontends.ptx.code import Code, Meaning
from triptych.frontends.ptx.errors import NoPtxMeaningError
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.ptx_lowerings import MEANINGS
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Numeric, numeric_class

F = TypeVar("F", bound=Callable[..., Any])
Family = Callable[[Instruction], Meaning | None]

_FAMILIES: dict[str, tuple[Family, ...]] = {
    **dict.fromkeys(("add", "sub", "min", "max", "neg", "abs"), (integers.integer_arithmetic, floats.float_arithmetic)),
    **dict.fromkeys(("and", "or", "xor", "not", "rem"), (integers.integer_arithmetic,)),
    **dict.fromkeys(("mul", "mad"), (integers.product, floats.float_arithmetic)),
    "fma": (floats.float_arithmetic,),
    "div": (integers.integer_arithmetic, floats.division),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt"), (floats.division,)),
    **dict.fromkeys(("tanh", "ex2", "lg2", "sin", "cos"), (floats.approximation,)),
    "copysign": (floats.copysign,),
    "testp": (floats.test_of_float,),
    **dict.fromkeys(("shl", "shr"), (integers.shift,)),
    "shf": (integers.funnel_shift,),
    **dict.fromkeys(("popc", "clz"), (bits.counting,)),
    "brev": (bits.reversal,),
    **dict.fromkeys(("bfe", "bfi"), (bits.field,)),
    "prmt": (bits.permutation,),
    "lop3": (bits.logic_of_three,),
    "setp": (choices.comparison,),
    "set": (choices.set_number,),
    "selp": (choices.choice,),
    "slct": (choices.choice_by_sign,),
    "cvt": (conversions.conversion,),
    "mov": (moves.move,),
    "ld": (memory.access,),
    "st": (memory.access, clusters.asynchronous_store),
    "mapa": (clusters.address,),
    **dict.fromkeys(("atom", "red"), (memory.update,)),
    **dict.fromkeys(("fence", "membar"), (memory.fence,)),
    "prefetch": (memory.prefetch,),
    "cvta": (memory.between_spaces,),
    "shfl": (warps.shuffle,),
    "vote": (warps.vote,),
    "match": (warps.match,),
    "redux": (warps.reduction,),
    **dict.fromkeys(("bar", "barrier"), (warps.barrier, clusters.barrier)),
    "nanosleep": (warps.sleep,),
    "griddepcontrol": (warps.dependent_grids,),
}


def known_instructions() -> tuple[str, ...]:
    """The first words of the instructions that have a meaning on every machine."""
    return tuple(sorted(_FAMILIES))


def meaning(instruction: Instruction) -> Meaning:
    """What an instruction means; what a program has said of it counts before the table."""
    if instruction.opcode in MEANINGS:
        return _registered(instruction.opcode, MEANINGS[instruction.opcode])
    for family in _FAMILIES.get(instruction.name, ()):
        found = family(instruction)
        if found is not None:
            return found
    raise NoPtxMeaningError(
        f"`{instruction.opcode}` has a meaning on NVIDIA's GPUs only",
        span=place(),
        found=f"`{instruction}` in inline PTX, compiled for another machine",
        expected="an instruction of the table in the guide inline-ptx.md, in share/triptych/docs/guides of this Python",
        instead=f'`@cute.register_ptx_meaning("{instruction.opcode}")` on a function that computes the same',
    )


# what programs add --------------------------------------------------------------------------------------------------
@overload
def register_ptx_meaning(instruction: str) -> Callable[[F], F]: ...
@overload
def register_ptx_meaning(instruction: str, function: F) -> F: ...
def register_ptx_meaning(instruction: str, function: F | None = None) -> F | Callable[[F], F]:
    """Say what an instruction of inline PTX computes on machines that do not read PTX.

    `instruction` is its text without operands, `"tanh.approx.f64"`. The function takes a number for each source operand
    and returns one for each result; their annotations say as what types the registers are read and written. It is
    traced, so it may be a `@jit` function. Also a decorator: `@register_ptx_meaning("tanh.approx.f64")`.
    """
    if function is None:
        return lambda given: register_ptx_meaning(instruction, given)
    _signature(instruction, function)
    MEANINGS[instruction] = function
    return function


def _signature(instruction: str, function: Callable[..., Any]) -> tuple[list[type[Numeric]], list[type[Numeric]]]:
    """The types of sources and of results."""
    plain = inspect.unwrap(function)
    hints = typing.get_type_hints(plain)
    names = list(inspect.signature(plain).parameters)
    given = hints.get("return", inspect.Parameter.empty)
    if given is inspect.Parameter.empty or any(name not in hints for name in names):
        raise OperandTypeError(
            f"the types of the meaning of `{instruction}` are not all written",
            span=place(),
            found=f"{plain.__qualname__}{inspect.signature(plain)}",
            expected="an annotation for every parameter and for what is returned",
            instead=f"def {plain.__name__}({', '.join(f'{name}: Float32' for name in names)}) -> Float32",
        )
    results = [] if given is type(None) else list(typing.get_args(given) or (given,))
    return [numeric_class(hints[name]) for name in names], [numeric_class(result) for result in results]


def _kind(dtype: type[Numeric]) -> str:
    """The type of PTX that a register of a number has."""
    info = dtype.info
    if dtype is Boolean:
        return "pred"
    if info.kind == "float":
        return info.mlir
    return f"{'s' if info.kind == 'int' else 'u'}{info.width}"


def _registered(opcode: str, function: Callable[..., Any]) -> Meaning:
    sources, results = _signature(opcode, function)

    def traced(code: Code, *values: Value) -> list[Value]:
        trace = code.trace
        numbers = [dtype.of(value, trace.region) for dtype, value in zip(sources, values, strict=True)]
        found = trace.hooks.call(function, *numbers)
        returned: Sequence[object] = found if isinstance(found, tuple) else () if found is None else (found,)
        if len(returned) != len(results):
            raise OperandTypeError(
                f"the meaning of `{opcode}` returns another number of results than it says",
                span=place(),
                found=f"{len(returned)}",
                expected=f"{len(results)}",
            )
        return [dtype(number).ir_value() for dtype, number in zip(results, returned, strict=True)]

    return Meaning(tuple(map(_kind, results)), tuple(map(_kind, sources)), traced, effect=True)
