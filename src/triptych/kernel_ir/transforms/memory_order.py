"""Pass `lower-memory-order`: loads and stores that are ordered with those of other threads become atomic.

An atomic access is of one number, so a vector is accessed element by element: no order is promised between these. A
GPU accesses 16 bytes at once, and programs wait for the last word of them: so it is read first and stored last, and who
sees it sees the others where the machine keeps the order of loads and of stores. What a program or a loop that waits
calls volatile is relaxed and is never left out. LLVM leaves it to its targets what scopes are called: on a CPU, which
has one that everybody is in, they go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from triptych.ir.handles import Module, Type, Value
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import byte_size, count_and_element
from triptych.kernel_ir.analysis.addresses import is_private
from triptych.kernel_ir.dialects.kernel_operations import defining_op

_SCOPED = frozenset({"llvm.fence", "llvm.atomicrmw", "llvm.cmpxchg"})
_SCOPE = "syncscope"
ACCESSES = frozenset({"llvm.load", "llvm.store", *_SCOPED})
"""What can be ordered."""
_ORDER, _VOLATILE = "triptych.order", "volatile_"
_RELAXED = 2
_ORDERINGS = {"relaxed": _RELAXED, "volatile": _RELAXED, "mmio": _RELAXED, "acquire": 4, "release": 5, "sc": 7}
"""LLVM's numbers of the orderings, by the order of an access. Nobody writes what is read as `constant`."""
_NEVER_LEFT_OUT = frozenset({"volatile", "mmio"})


Scopes = Mapping[str, str]
"""The target's name of each scope that the order of an access may have; empty is the whole system."""


def lower_memory_order(module: Module) -> None:
    """Rewrite the accesses of kernels and of host functions, for a machine without scopes."""
    replace_each(operations_named(module, *ACCESSES), partial(_ordered, None))


def ordering_accesses(scopes: Scopes) -> Callable[[Module], None]:
    """The pass for a machine with scopes, whose atomic updates and fences have the target's names already."""

    def run(module: Module) -> None:
        replace_each(operations_named(module, "llvm.load", "llvm.store"), partial(_ordered, scopes))

    return run


def _ordered(scopes: Scopes | None, op: Replacement) -> list[Value] | None:
    attributes = op.operation.attributes
    if op.operation.name in _SCOPED:
        if _SCOPE in attributes:
            del attributes[_SCOPE]
        return None
    order, _, seen_by = (attributes[_ORDER].value if _ORDER in attributes else "").partition(".")
    scope = "" if scopes is None else scopes.get(seen_by, "")
    if order in _ORDERINGS:
        return _atomic(op, _ORDERINGS[order], scope, volatile=order in _NEVER_LEFT_OUT or _VOLATILE in attributes)
    if _VOLATILE in attributes and not is_private(defining_op(op.operands[-1])):
        return _atomic(op, _RELAXED, "", volatile=True)
    return None


def _atomic(op: Replacement, ordering: int, scope: str, *, volatile: bool) -> list[Value] | None:
    access = op.operation
    attributes = {"ordering": op.builder.integer("i64", ordering)}
    attributes |= {_SCOPE: op.builder.string(scope)} if scope else {}
    attributes |= {_VOLATILE: op.attribute("unit")} if volatile else {}
    is_load = access.name == "llvm.load"
    kind = (access.results[0] if is_load else op.operands[0]).type
    counted = count_and_element(kind)
    element = kind if counted is None else counted[1]
    attributes["alignment"] = op.builder.integer("i64", byte_size(element))
    if counted is None:
        for name, attribute in attributes.items():
            access.attributes[name] = attribute
        return None
    places = _element_addresses(op, *counted)
    if is_load:
        elements = [op.value("llvm.load", (place,), element, attributes) for place in reversed(places)]
        return [op.value("vector.from_elements", elements[::-1], kind)]
    for i, place in enumerate(places):
        op.effect("llvm.store", (op.element(op.operands[0], i, element), place), attributes)
    return []


def _element_addresses(op: Replacement, count: int, element: Type) -> list[Value]:
    address = op.operands[-1]
    facts = {"elem_type": op.builder.type_attribute(element)}
    indices = [{"rawConstantIndices": op.attribute(f"array<i32: {i}>")} for i in range(count)]
    return [op.value("llvm.getelementptr", (address,), address.type, facts | index) for index in indices]
