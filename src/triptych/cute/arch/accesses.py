"""Loads and stores with a memory order, a scope and a cache operator (`ld`, `st`), at a pointer or a bare address.

Input: where, the words of the instruction set, and for stores a number or a vector of them. Output: the number that is
there, or the access.
"""

from __future__ import annotations

from typing import Any, TypeVar

from triptych.cute.arch.atomics import is_address
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.hints import Hints, LoadCacheMode, MemoryOrder, MemoryScope, hinted
from triptych.cute.memory.pointers import Pointer
from triptych.cute.memory.vectors import extract
from triptych.cute.tracing.device import Integer, device_function, device_trace, number
from triptych.ir.handles import Value
from triptych.ir.types import type_text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric, numeric_class

__all__ = ["load", "store"]

_CACHE_OPERATORS = {
    "ca": LoadCacheMode.ALWAYS,
    "cg": LoadCacheMode.GLOBAL,
    "cs": LoadCacheMode.STREAMING,
    "lu": LoadCacheMode.LAST_USE,
    "cv": LoadCacheMode.NONE,
}
_SPACES = {space.pointer_type: space for space in (AddressSpace.gmem, AddressSpace.smem, AddressSpace.generic)}
_Word = TypeVar("_Word")


@device_function
def load(
    ptr: Pointer | Value,
    dtype: type[Numeric],
    *,
    sem: str | None = None,
    scope: str | None = None,
    cop: str | None = None,
) -> Any:
    """The number at an address: weak, or in an order (`sem`) that the threads of a scope see."""
    kind = numeric_class(dtype)
    mode = LoadCacheMode.ALWAYS if cop is None else _word("cache operator", cop, _CACHE_OPERATORS)
    with hinted(_hints(sem, scope, mode)):
        return _pointer(ptr, kind, kind.width // 8).load()


@device_function
def store(
    ptr: Pointer | Value, val: Integer | float | Value, *, sem: str | None = None, scope: str | None = None
) -> None:
    """Write a number at an address, or a vector of them from there on."""
    numbers = _numbers(val)
    kind = type(numbers[0])
    first = _pointer(ptr, kind, len(numbers) * kind.width // 8)
    with hinted(_hints(sem, scope, LoadCacheMode.ALWAYS)):
        for i, each in enumerate(numbers):
            (first + i).store(each)


def _hints(sem: str | None, scope: str | None, mode: LoadCacheMode) -> Hints:
    orders = {order.value: order for order in MemoryOrder}
    scopes = {each.value: each for each in MemoryScope}
    order = MemoryOrder.WEAK if sem is None else _word("memory order", sem, orders)
    return Hints(mode=mode, order=order, scope=MemoryScope.CTA if scope is None else _word("scope", scope, scopes))


def _word(what: str, given: str, known: dict[str, _Word]) -> _Word:
    if given in known:
        return known[given]
    raise OperandTypeError(
        f"there is no such {what}", span=place(), found=repr(given), expected=f"one of {', '.join(known)}"
    )


def _pointer(ptr: object, dtype: type[Numeric], size: int) -> Pointer:
    """A pointer to such elements, of which a bare address is taken to be a whole access."""
    if isinstance(ptr, Pointer):
        return ptr.recast(dtype, None)
    if is_address(ptr) and type_text(ptr.type) in _SPACES:
        return Pointer(ptr, dtype, _SPACES[type_text(ptr.type)], size)
    raise OperandTypeError(
        "a load or store needs an address", span=place(), found=type(ptr).__name__, expected="a Pointer"
    )


def _numbers(val: object) -> list[Numeric]:
    """One number, or those of a vector, of MLIR or as a builder call has given it."""
    if isinstance(val, Numeric | int | float):
        return [number(val)]
    vector: Any = getattr(val, "ir_value", lambda: val)()
    trace = device_trace()
    count, element = type_text(vector.type).removeprefix("vector<").removesuffix(">").split("x")
    of = next(each for each in NUMERIC_CLASSES.values() if each.info.mlir == element)
    return [of.of(extract(trace, vector, i, element), trace.region) for i in range(int(count))]
