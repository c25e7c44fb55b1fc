"""Loads and stores with a memory order, a scope and a cache operator (`ld`, `st`), at a pointer or a bare address; and
prefetches.

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
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.kernel_ir.dialects.tile import TENSORMAP_PREFETCH
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric, numeric_class

__all__ = ["load", "prefetch", "store"]

_CACHE_OPERATORS = {
    "ca": LoadCacheMode.ALWAYS,
    "cg": LoadCacheMode.GLOBAL,
    "cs": LoadCacheMode.STREAMING,
    "lu": LoadCacheMode.LAST_USE,
    "cv": LoadCacheMode.NONE,
}
_LOADED = (AddressSpace.gmem, AddressSpace.smem, AddressSpace.dsmem, AddressSpace.generic)
_SPACES = {space.pointer_type: space for space in _LOADED}
_STATE_SPACES = {
    "global": (AddressSpace.gmem, AddressSpace.generic),
    "shared": (AddressSpace.smem, AddressSpace.generic),
    "cta": (AddressSpace.smem, AddressSpace.generic),
    "cluster": (AddressSpace.smem, AddressSpace.dsmem, AddressSpace.generic),
}
"""The memories that a pointer may point into where a program names its state space (`ss`)."""
_Word = TypeVar("_Word")


@device_function
def load(
    ptr: Pointer | Value,
    dtype: type[Numeric],
    *,
    sem: str | None = None,
    scope: str | None = None,
    cop: str | None = None,
    ss: str | None = None,
) -> Any:
    """The number at an address: weak, or in an order (`sem`) that the threads of a scope see.

    `ss` says again which memory it is in, "cluster" for that of another block.
    """
    kind = numeric_class(dtype)
    mode = LoadCacheMode.ALWAYS if cop is None else _word("cache operator", cop, _CACHE_OPERATORS)
    with hinted(_hints(sem, scope, mode)):
        return _pointer(ptr, kind, kind.width // 8, ss).load()


@device_function
def prefetch(ptr: Pointer | Value, *, tensormap: bool = False) -> None:
    """Bring a line of memory into the cache that all share, or a tensor map where copies look for it."""
    address = ptr.ir_value() if isinstance(ptr, Pointer) else ptr
    if tensormap and type_text(address.type) != AddressSpace.generic.pointer_type:
        address = device_trace().value("llvm.addrspacecast", (address,), AddressSpace.generic.pointer_type)
    device_trace().operation(TENSORMAP_PREFETCH if tensormap else PREFETCH, (address,))


@device_function
def store(
    ptr: Pointer | Value,
    val: Integer | float | Value,
    *,
    sem: str | None = None,
    scope: str | None = None,
    ss: str | None = None,
) -> None:
    """Write a number at an address, or a vector of them from there on."""
    numbers = _numbers(val)
    kind = type(numbers[0])
    first = _pointer(ptr, kind, len(numbers) * kind.width // 8, ss)
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


def _pointer(ptr: object, dtype: type[Numeric], size: int, space: str | None) -> Pointer:
    """A pointer to such elements, of which a bare address is taken to be a whole access."""
    if isinstance(ptr, Pointer):
        found = ptr.recast(dtype, None)
    elif is_address(ptr) and type_text(ptr.type) in _SPACES:
        found = Pointer(ptr, dtype, _SPACES[type_text(ptr.type)], size)
    else:
        raise OperandTypeError(
            "a load or store needs an address", span=place(), found=type(ptr).__name__, expected="a Pointer"
        )
    if space is not None and found.memspace not in _word("state space", space, _STATE_SPACES):
        raise OperandTypeError(
            "the pointer points into another memory than the access says",
            span=place(),
            found=f"a pointer into {found.memspace.name} for ss={space!r}",
            expected=f"a pointer into {_STATE_SPACES[space][0].name}",
        )
    return found


def _numbers(val: object) -> list[Numeric]:
    """One number, or those of a vector, of MLIR or as a builder call has given it."""
    if isinstance(val, Numeric | int | float):
        return [number(val)]
    vector: Any = getattr(val, "ir_value", lambda: val)()
    trace = device_trace()
    count, element = type_text(vector.type).removeprefix("vector<").removesuffix(">").split("x")
    of = next(each for each in NUMERIC_CLASSES.values() if each.info.mlir == element)
    return [of.of(extract(trace, vector, i, element), trace.region) for i in range(int(count))]
