"""Meta-stage, hints of copies: what a copy says of caches and of other readers stays with each of its accesses.

They are attributes of loads and stores of global memory: `triptych.cache`, in the words of PTX, `triptych.order`, an
order and who sees it, and `triptych.bits`, how many the copy moves at once. A target without such caches ignores them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triptych.cute.address_spaces import AddressSpace
from triptych.cute.nvgpu.copy_operations import CacheEvictionPriority, LoadCacheMode, MemoryOrder, MemoryScope
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.tracing import Trace, place

if TYPE_CHECKING:
    from triptych.cute.pointers import Pointer

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


def load_attributes(trace: Trace, pointer: Pointer) -> dict[str, Any]:
    """The hints of a load from here."""
    hints = _given.get()
    return {} if hints is _NONE else _attributes(trace, pointer, hints, _LOADS, "load", _MODES.get(hints.mode, ""))


def store_attributes(trace: Trace, pointer: Pointer) -> dict[str, Any]:
    """The hints of a store to here."""
    hints = _given.get()
    return {} if hints is _NONE else _attributes(trace, pointer, hints, _STORES, "store", "")


def _attributes(
    trace: Trace, pointer: Pointer, hints: Hints, orders: dict[MemoryOrder, str], what: str, mode: str
) -> dict[str, Any]:
    if pointer.memspace is not AddressSpace.gmem:
        return {}
    found: dict[str, Any] = {}
    if hints.priority not in (None, CacheEvictionPriority.EVICT_NORMAL):
        assert hints.priority is not None
        found["triptych.cache"] = trace.builder.string(f"L1::{hints.priority.value}")
    elif mode:
        found["triptych.cache"] = trace.builder.string(mode)
    if hints.order is not MemoryOrder.WEAK:
        if hints.order not in orders:
            raise OperandTypeError(
                f"no {what} is ordered as {hints.order.name}",
                span=place(),
                found=f"memory_order={hints.order}",
                expected=", ".join(order.name for order in (MemoryOrder.WEAK, *orders)),
            )
        seen_by = "" if hints.order in _UNSCOPED else f".{hints.scope.value}"
        found["triptych.order"] = trace.builder.string(orders[hints.order] + seen_by)
    if hints.bits:
        found["triptych.bits"] = trace.builder.integer("i64", hints.bits)
    return found
