"""Inline PTX, table of lowerings: the instructions that every machine runs, and what programs add to them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, overload

from triptych.cute.memory.shared_window import RANK_BIT, cluster_pointer
from triptych.frontends.ptx import bulk_copies, choices, conversions, floats, integers, memory, multicast, warps
from triptych.frontends.ptx.code import ADDRESS, WIDTHS, Code, Lowering
from triptych.frontends.ptx.statements import Instruction, listed
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects.simt import CLUSTER_ARRIVE, CLUSTER_WAIT, STORE_ASYNC
from triptych.metastage.calls.repeatability import LOWERINGS
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Boolean, Numeric, numeric_class
from triptych.support.errors import TriptychError

# Inline PTX, meanings of what blocks of a cluster do: addresses in each other's memory, stores, a barrier.

_STORE = ("shared::cluster", "mbarrier::complete_tx::bytes")
_STORED = ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
_ORDERS = {"arrive": ("release", "relaxed"), "wait": ("acquire",)}


def address(instruction: Instruction) -> Lowering | None:
    """`mapa.shared::cluster.u32 d, address, rank`: the rank is in the highest bits."""
    return Lowering(("u32",), ("u32", "u32"), _mapped) if instruction.marks == ("shared::cluster", "u32") else None


def _mapped(code: Code, place: Value, rank: Value) -> Value:
    within = code.like("arith.andi", place, code.integer(32, (1 << RANK_BIT) - 1))
    return code.like("arith.ori", within, code.like("arith.shli", rank, code.integer(32, RANK_BIT)))


def asynchronous_store(instruction: Instruction) -> Lowering | None:
    """`st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [address], value, [barrier]`, or `.v4.f32` of four."""
    marks = tuple(mark for mark in instruction.marks if mark != "weak")
    count = {"v2": 2, "v4": 4}.get(marks[3], 1) if len(marks) == 5 else 1
    if len(marks) != 4 + (count > 1) or marks[0] != "async" or marks[1:3] != _STORE or marks[-1] not in _STORED:
        return None
    stored = partial(_stored, size=WIDTHS[marks[-1]] // 8)
    return Lowering((), (ADDRESS, *(marks[-1],) * count, ADDRESS), stored, effect=True)


def _stored(code: Code, place: Value, *values: Value, size: int) -> None:
    """Each number by itself: the mbarrier counts bytes, however many at a time."""
    *numbers, barrier = values
    begin, counting = code.resized(place, 64), cluster_pointer(code.trace, code.resized(barrier, 64))
    for i, number in enumerate(numbers):
        address = code.like("arith.addi", begin, code.integer(64, i * size))
        code.effect(STORE_ASYNC, (cluster_pointer(code.trace, address), number, counting))


def barrier(instruction: Instruction) -> Lowering | None:
    """`barrier.cluster.arrive` and `barrier.cluster.wait`, with their order or without."""
    marks = tuple(mark for mark in instruction.marks if mark != "aligned")
    if instruction.name != "barrier" or len(marks) not in (2, 3) or marks[0] != "cluster" or marks[1] not in _ORDERS:
        return None
    orders = _ORDERS[marks[1]]
    if len(marks) == 3 and marks[2] not in orders:
        return None
    order = marks[2] if len(marks) == 3 else orders[0]

    def function(code: Code) -> None:
        if marks[1] == "wait":
            code.effect(CLUSTER_WAIT, ())
        else:
            code.effect(CLUSTER_ARRIVE, (), {"order": code.word(order)})

    return Lowering((), (), function, effect=True)


# What can be wrong with inline PTX.


class NoPtxMeaningError(TriptychError, NotImplementedError):
    """Inline PTX has an instruction that only NVIDIA's GPUs execute, and nobody has said what it means elsewhere."""

    code = "TT0518"


# Inline PTX, meanings of `mov`: copies, and registers taken apart and put together.


def move(instruction: Instruction) -> Lowering | None:
    """`mov.kind d, a`, and with braces on one side the parts of a register."""
    if len(instruction.marks) != 1 or len(instruction.operands) != 2:
        return None
    (kind,) = instruction.marks
    if kind not in WIDTHS or "x" in kind or WIDTHS[kind] == 8:
        return None
    sides = [len(listed(side)) if side.startswith("{") else 1 for side in instruction.operands]
    if sides == [1, 1]:
        return Lowering((kind,), (kind,), lambda _, value: value, special=True) if WIDTHS[kind] <= 64 else None
    parts = max(sides)
    if kind[0] != "b" or min(sides) != 1 or parts not in (2, 4) or WIDTHS[kind] // parts < 8:
        return None
    part = f"b{WIDTHS[kind] // parts}"
    if sides[0] == 1:
        return Lowering((kind,), (part,) * parts, _joined)
    return Lowering((part,) * parts, (kind,), lambda code, whole: code.halves(whole, parts))


def _joined(code: Code, *parts: Value) -> Value:
    return code.joined(parts)


F = TypeVar("F", bound=Callable[..., Any])
Family = Callable[[Instruction], Lowering | None]

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
    **dict.fromkeys(("popc", "clz"), (integers.counting,)),
    "brev": (integers.reversal,),
    **dict.fromkeys(("bfe", "bfi"), (integers.field,)),
    "prmt": (integers.permutation,),
    "lop3": (integers.logic_of_three,),
    "setp": (choices.comparison,),
    "set": (choices.set_number,),
    "selp": (choices.choice,),
    "slct": (choices.choice_by_sign,),
    "cvt": (conversions.conversion,),
    "mov": (move,),
    "ld": (memory.access,),
    "st": (memory.access, asynchronous_store),
    "cp": (bulk_copies.bulk_copy,),
    "mapa": (address,),
    **dict.fromkeys(("atom", "red"), (memory.update,)),
    **dict.fromkeys(("fence", "membar"), (memory.fence,)),
    "multimem": (multicast.load, multicast.store, multicast.update),
    "prefetch": (memory.prefetch,),
    "cvta": (memory.between_spaces,),
    "shfl": (warps.shuffle,),
    "vote": (warps.vote,),
    "match": (warps.match,),
    "redux": (warps.reduction,),
    **dict.fromkeys(("bar", "barrier"), (warps.barrier, barrier)),
    "nanosleep": (warps.sleep,),
    "griddepcontrol": (warps.dependent_grids,),
    "tcgen05": (warps.tensor_memory_order,),
}


def known_instructions() -> tuple[str, ...]:
    """The first words of the instructions that have a meaning on every machine."""
    return tuple(sorted(_FAMILIES))


def meaning(instruction: Instruction) -> Lowering:
    """What an instruction means; what a program has said of it counts before the table."""
    if instruction.opcode in LOWERINGS:
        return _registered(instruction.opcode, LOWERINGS[instruction.opcode])
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
    LOWERINGS[instruction] = function
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


def _registered(opcode: str, function: Callable[..., Any]) -> Lowering:
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

    return Lowering(tuple(map(_kind, results)), tuple(map(_kind, sources)), traced, effect=True)
