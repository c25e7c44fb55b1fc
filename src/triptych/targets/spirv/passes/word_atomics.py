"""Pass `word-atomics`: updates that OpenCL has no function for become loops that compare and swap whole words.

OpenCL updates integers of 32 and 64 bits, and adds to Float32. The extremes of floats, sums of Float64 and everything
of 16 bits are computed here, and written when nobody has changed the word meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.expressions import Expression
from triptych.ir.handles import Attribute, Module, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import type_text

UPDATES = frozenset({"llvm.atomicrmw"})
_NATIVE = {"i32", "i64"}
_EXCHANGE, _ADD, _SUBTRACT, _MAX, _MIN = 0, 11, 12, 13, 14
"""Updates of floats, by LLVM's numbers."""
_MONOTONIC = 2
_COMPUTED: dict[int, Callable[[Expression, Expression], Expression]] = {
    _EXCHANGE: lambda old, new: new,
    _ADD: lambda old, new: old + new,
    _SUBTRACT: lambda old, new: old - new,
    _MAX: lambda old, new: old.emit("arith.maxnumf", old, new),
    _MIN: lambda old, new: old.emit("arith.minnumf", old, new),
}


def word_atomics(module: Module) -> None:
    """Of all kernels."""
    for kernel in kernels(module):
        replace_each(operations_named(kernel, *UPDATES), _replaced)


def _replaced(op: Replacement) -> list[Value] | None:
    element = type_text(op.operation.results[0].type)
    update = op.operation.attributes["bin_op"].value
    if element in _NATIVE or (element == "f32" and update in (_ADD, _EXCHANGE)) or update not in _COMPUTED:
        return None
    return [_SwapLoop(op, element, _COMPUTED[update]).write()]


class _SwapLoop:
    """The word that an element lies in is read, changed, and swapped until it was the one that was read."""

    def __init__(self, op: Replacement, element: str, combine: Callable[[Expression, Expression], Expression]) -> None:
        self._op, self._element, self._combine = op, element, combine
        self._builder = builder = op.builder
        address, given = op.operands
        self._given = Expression(builder, given, element)
        self._word = f"i{max(32, self._given.width)}"
        self._address, self._shift = address, self._number(0)
        if self._given.width < 32:
            number = Expression(builder, builder.value("llvm.ptrtoint", (address,), "i64"), "i64")
            self._shift = ((number & 2) << 3).convert("trunci", "i32")
            self._address = builder.value("llvm.inttoptr", ((number & -4).value,), address.type)

    def _number(self, value: int) -> Expression:
        return Expression(self._builder, self._builder.constant(value, "i32"), "i32")

    def write(self) -> Value:
        builder = self._builder
        alignment = builder.integer("i64", int(self._word[1:]) // 8)
        ordinary = {"alignment": alignment, "ordering": builder.integer("i64", 0)}
        first = builder.value("llvm.load", (self._address,), self._word, ordinary | self._relaxed())
        loop = builder.operation("scf.while", (first,), [self._word], regions=2)
        before = builder.append_block(loop, 0, [self._word])
        after = builder.enter(before)
        seen = Expression(builder, before.arguments[0], self._word)
        swapped = builder.value(
            "llvm.cmpxchg",
            (self._address, seen.value, self._updated(seen).value),
            f"!llvm.struct<({self._word}, i1)>",
            {**self._swap(), "alignment": alignment},
        )
        found = builder.value(
            "llvm.extractvalue", (swapped,), self._word, {"position": builder.attribute("array<i64: 0>")}
        )
        again = builder.compare("ne", found, seen.value)
        builder.operation("scf.condition", (again, found))
        body = builder.append_block(loop, 1, [self._word])
        builder.enter(body)
        builder.operation("scf.yield", list(body.arguments))
        builder.leave(after)
        return self._old(Expression(builder, loop.results[0], self._word)).value

    def _old(self, word: Expression) -> Expression:
        """The element in a word."""
        bits = f"i{self._given.width}"
        if self._word != bits:
            word = (word >> self._shift).convert("trunci", bits)
        return word.bits_as(self._element)

    def _updated(self, word: Expression) -> Expression:
        made = self._combine(self._old(word), self._given).bits_as(f"i{self._given.width}")
        if self._word == made.element:
            return made
        mask = self._number((1 << self._given.width) - 1) << self._shift
        return (word & ~mask) | (made.convert("extui", "i32") << self._shift)

    def _relaxed(self) -> dict[str, Attribute]:
        return {"ordering": self._builder.integer("i64", _MONOTONIC), **self._scope()}

    def _swap(self) -> dict[str, Attribute]:
        order = self._op.operation.attributes["ordering"]
        return {
            "success_ordering": order,
            "failure_ordering": self._builder.integer("i64", _MONOTONIC),
            **self._scope(),
        }

    def _scope(self) -> dict[str, Attribute]:
        attributes = self._op.operation.attributes
        return {"syncscope": attributes["syncscope"]} if "syncscope" in attributes else {}
