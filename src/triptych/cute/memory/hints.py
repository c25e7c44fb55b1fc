"""Memory order and cache hints of accesses: what a copy says stays with each of its loads and stores, as attributes.

Accesses of global memory have `triptych.cache`, in the words of PTX, and `triptych.bits`, how many the copy moves at
once; a target without such caches ignores them. All memory that several threads see has `triptych.order`, an order and
who sees it, which no target may ignore.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import Addressed
from triptych.cute.memory.element_storage import storage_of
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.support.dataclass import dataclass


class MemoryOrder(Enum):
    """How an access is ordered with the other accesses of its thread, by the word of the instruction set."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"
    MMIO = "mmio"
    CONSTANT = "constant"
    VOLATILE = "volatile"


class MemoryScope(Enum):
    """Which threads see accesses in their order, by the word of the instruction set."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class LoadCacheMode(Enum):
    """Which caches keep what is loaded."""

    ALWAYS = "always"
    GLOBAL = "global"
    STREAMING = "streaming"
    LAST_USE = "last_use"
    NONE = "none"


class CacheEvictionPriority(Enum):
    """The eviction priority of what is accessed."""

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"
    EVICT_UNCHANGED = "evict_unchanged"
    NO_ALLOCATE = "no_allocate"


_MODES = {
    LoadCacheMode.GLOBAL: "cg",
    LoadCacheMode.STREAMING: "cs",
    LoadCacheMode.LAST_USE: "lu",
    LoadCacheMode.NONE: "cv",
}
_SAME = {order: order.value for order in (MemoryOrder.RELAXED, MemoryOrder.SC, MemoryOrder.MMIO, MemoryOrder.VOLATILE)}
_LOADS = _SAME | {
    MemoryOrder.ACQUIRE: "acquire",
    MemoryOrder.ACQ_REL: "acquire",
    MemoryOrder.CONSTANT: "constant",
}
_STORES = _SAME | {MemoryOrder.RELEASE: "release", MemoryOrder.ACQ_REL: "release"}
"""What orders mean for each of the two; a weak access has none."""
_WORDS = frozenset({1, 2, 4, 8})
"""Bytes that every machine accesses at once."""
_UNSCOPED = frozenset({MemoryOrder.CONSTANT, MemoryOrder.MMIO, MemoryOrder.VOLATILE})


@dataclass(frozen=True, slots=True)
class Hints:
    """What holds for all accesses of a copy."""

    priority: CacheEvictionPriority | None = None
    mode: LoadCacheMode = LoadCacheMode.ALWAYS
    order: MemoryOrder = MemoryOrder.WEAK
    scope: MemoryScope = MemoryScope.CTA
    bits: int = 0
    """0 leaves the width to what can be proven."""


_NONE = Hints()
_given: ContextVar[Hints] = ContextVar("triptych_access_hints", default=_NONE)


@contextmanager
def hinted(hints: Hints) -> Iterator[None]:
    """Let all accesses inside a `with` have hints."""
    token = _given.set(hints)
    try:
        yield
    finally:
        _given.reset(token)


def load_attributes(trace: Trace, pointer: Addressed, alignment: int) -> dict[str, Any]:
    """The hints of a load from here, at a multiple of so many bytes."""
    hints = _given.get()
    if hints is _NONE or pointer.memspace.is_private:
        return {}
    cached = _cache_attributes(trace, pointer, hints, _MODES.get(hints.mode, ""))
    return cached | _order_attributes(trace, pointer, alignment, hints, _LOADS, "load")


def store_attributes(trace: Trace, pointer: Addressed, alignment: int) -> dict[str, Any]:
    """The hints of a store to here, at a multiple of so many bytes."""
    hints = _given.get()
    if hints is _NONE or pointer.memspace.is_private:
        return {}
    cached = _cache_attributes(trace, pointer, hints, "")
    return cached | _order_attributes(trace, pointer, alignment, hints, _STORES, "store")


def _cache_attributes(trace: Trace, pointer: Addressed, hints: Hints, mode: str) -> dict[str, Any]:
    if pointer.memspace is not AddressSpace.gmem:
        return {}
    found: dict[str, Any] = {}
    if hints.priority not in (None, CacheEvictionPriority.EVICT_NORMAL):
        assert hints.priority is not None, "None is excluded above"
        found["triptych.cache"] = trace.builder.string(f"L1::{hints.priority.value}")
    elif mode:
        found["triptych.cache"] = trace.builder.string(mode)
    if hints.bits:
        found["triptych.bits"] = trace.builder.integer("i64", hints.bits)
    return found


def _order_attributes(
    trace: Trace, pointer: Addressed, alignment: int, hints: Hints, orders: dict[MemoryOrder, str], what: str
) -> dict[str, Any]:
    is_global = pointer.memspace is AddressSpace.gmem
    if hints.order is MemoryOrder.WEAK or (hints.order not in orders and not is_global):
        return {}  # what is loaded into a block's own memory in order is stored there as any other number
    if hints.order not in orders:
        raise OperandTypeError(
            f"no {what} is ordered as {hints.order.name}",
            span=place(),
            found=f"memory_order={hints.order}",
            expected=", ".join(order.name for order in (MemoryOrder.WEAK, *orders)),
        )
    if hints.order is not MemoryOrder.CONSTANT:
        _require_atomic(pointer, alignment, hints.order)
    elif not is_global:
        return {}
    seen_by = "" if hints.order in _UNSCOPED else f".{hints.scope.value}"
    return {"triptych.order": trace.builder.string(orders[hints.order] + seen_by)}


def _require_atomic(pointer: Addressed, alignment: int, order: MemoryOrder) -> None:
    """Machines access a word at once only where it is whole and at a multiple of its size."""
    storage = storage_of(pointer.dtype)
    size = 0 if storage.is_packed else storage.group_bytes
    if size not in _WORDS:
        raise OperandTypeError(
            f"no access to a {pointer.dtype.__name__} is ordered: machines do not access it at once",
            span=place(),
            found=f"elements of {pointer.dtype.width} bits, memory_order={order}",
            expected="elements of 8, 16, 32 or 64 bits",
            instead=f"a tensor of words: cute.recast_tensor(tensor, {'Uint8' if storage.is_packed else 'Uint64'})",
        )
    if alignment % size:
        raise OperandTypeError(
            "an ordered access to an address that may be in the middle of an element",
            span=place(),
            found=f"a multiple of {alignment} bytes, elements of {size}, memory_order={order}",
            expected=f"an address that is a multiple of {size} bytes",
            instead=f"assumed_align={size} where the pointer or the tensor is made",
        )
