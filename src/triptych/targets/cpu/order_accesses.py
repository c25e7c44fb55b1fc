"""Pass `order-accesses`: loads and stores that are ordered with those of other threads become atomic, with that order.

An atomic access is of one number, so a vector is accessed element by element: no order is promised between these. What
a program or a loop that waits calls volatile is relaxed and is never left out. A CPU has one scope, which everybody is
in: LLVM leaves open what the names of other scopes mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import operations_named
from triptych.simt.operations import element_size, maker
from triptych.simt.private_places import is_private
from triptych.targets.cpu.simt.values import vector_type

_SCOPED = ("llvm.fence", "llvm.atomicrmw", "llvm.cmpxchg")
_SCOPE = "syncscope"
ACCESSES = frozenset({"llvm.load", "llvm.store", *_SCOPED})
"""What can be ordered."""
_ORDER, _VOLATILE = "triptych.order", "volatile_"
_RELAXED = 2
_ORDERINGS = {"relaxed": _RELAXED, "volatile": _RELAXED, "mmio": _RELAXED, "acquire": 4, "release": 5, "sc": 7}
"""LLVM's numbers of the orderings, by the order of an access. Nobody writes what is read as `constant`."""
_NEVER_LEFT_OUT = frozenset({"volatile", "mmio"})


def order_accesses(module: Any) -> None:
    """Rewrite the accesses of kernels and of host functions."""
    for operation in operations_named(module, *_SCOPED):
        if _SCOPE in operation.attributes:
            del operation.attributes[_SCOPE]
    for access in operations_named(module, "llvm.load", "llvm.store"):
        order = access.attributes[_ORDER].value.partition(".")[0] if _ORDER in access.attributes else ""
        if order in _ORDERINGS:
            _make_atomic(access, _ORDERINGS[order], order in _NEVER_LEFT_OUT or _VOLATILE in access.attributes)
        elif _VOLATILE in access.attributes and not is_private(maker(access.operands[-1])):
            _make_atomic(access, _RELAXED, volatile=True)


def _make_atomic(access: Any, ordering: int, volatile: bool) -> None:
    builder = Builder(access.context)
    builder.insertion = bindings.mlir().InsertionPoint(access)
    attributes = {"ordering": builder.integer("i64", ordering)}
    attributes |= {_VOLATILE: builder.attribute("unit")} if volatile else {}
    is_load = access.name == "llvm.load"
    value = access.results[0] if is_load else access.operands[0]
    counted = vector_type(str(value.type))
    if counted is None:
        access.attributes["alignment"] = builder.integer("i64", element_size(str(value.type)))
        for name, attribute in attributes.items():
            access.attributes[name] = attribute
        return
    parts = _Elements(builder, access, counted, attributes)
    if is_load:
        value.replace_all_uses_with(parts.loaded(value.type))
    else:
        parts.store(value)
    access.erase()


class _Elements:
    """An access of a vector as accesses of its elements."""

    def __init__(self, builder: Builder, access: Any, counted: tuple[int, str], attributes: dict[str, Any]) -> None:
        self._builder = builder
        self._location = access.location
        self._address = access.operands[-1]
        self._count, self._element = counted
        self._attributes = {"alignment": builder.integer("i64", element_size(self._element)), **attributes}

    def loaded(self, vector: Any) -> Any:
        elements = [self._value("llvm.load", (place,), self._kind, self._attributes) for place in self._places()]
        return self._value("vector.from_elements", elements, vector)

    def store(self, vector: Any) -> None:
        for i, place in enumerate(self._places()):
            position = {"static_position": self._builder.attribute(f"array<i64: {i}>")}
            element = self._value("vector.extract", (vector,), self._kind, position)
            self._builder.operation("llvm.store", (element, place), (), self._location, self._attributes)

    @property
    def _kind(self) -> Any:
        return self._builder.type(self._element)

    def _places(self) -> list[Any]:
        places = []
        for i in range(self._count):
            indices = self._builder.attribute(f"array<i32: {i}>")
            facts = {"rawConstantIndices": indices, "elem_type": self._builder.type_attribute(self._element)}
            places.append(self._value("llvm.getelementptr", (self._address,), self._address.type, facts))
        return places

    def _value(self, name: str, operands: Sequence[Any], kind: Any, attributes: dict[str, Any] | None = None) -> Any:
        return self._builder.value(name, operands, kind, self._location, attributes)
