"""Rewrite rules: operations are replaced by what a Python function builds in their place.

`replacing` makes a pass of rules by name. A pass that finds its operations in another way hands them to `replace_each`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import Place
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import TypeOrText


class Replacement:
    """One operation that is being replaced. What is built goes before it and keeps its place in the user's source."""

    def __init__(self, operation: Operation, builder: Builder) -> None:
        builder.insertion = bindings.mlir().InsertionPoint(operation)
        self.operation = operation
        self.builder = builder
        self.attribute = builder.attribute
        """Any attribute by its text."""

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(self.operation.operands)

    @property
    def place(self) -> Place:
        """Where a formula is built that stands for the operation."""
        return Place(self.builder, self.operation.location)

    def value(
        self,
        name: str,
        operands: Sequence[Value],
        result: TypeOrText,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """Build an operation with one result of the MLIR type written `result`."""
        kind, place = self.builder.type(result), self.operation.location
        return self.builder.value(name, operands, kind, place, attributes)

    def effect(self, name: str, operands: Sequence[Value], attributes: Mapping[str, Attribute] | None = None) -> None:
        """Build an operation without results."""
        self.builder.operation(name, operands, (), self.operation.location, attributes)

    def integer(self, written: TypeOrText, value: int) -> Value:
        """Build an integer constant."""
        return self.value("arith.constant", (), written, {"value": self.builder.integer(written, value)})

    def element(self, vector: Value, place: int, kind: TypeOrText) -> Value:
        """Build the extraction of one element of a vector."""
        return self.value(
            "vector.extract", (vector,), kind, {"static_position": self.attribute(f"array<i64: {place}>")}
        )

    def finish(self, values: Sequence[Value]) -> None:
        """Let `values` stand for the operation's results and erase it."""
        for result, value in zip(list(self.operation.results), values, strict=True):
            result.replace_all_uses_with(value)
        self.operation.erase()


Rule = Callable[[Replacement], Sequence[Value] | None]
"""Builds what replaces an operation and returns the values that stand for its results; None leaves it as it is."""


def replacing(rules: Mapping[str, Rule]) -> Callable[[Module], None]:
    """A pass: the rules in order, each on every operation of its name."""

    def run(module: Module) -> None:
        for name, rule in rules.items():
            replace_each(operations_named(module, name), rule)

    return run


def replace_each(operations: Iterable[Operation], rule: Rule) -> None:
    """Apply a rule to operations that were collected before: nothing may be changed during a walk."""
    builder: Builder | None = None
    for operation in operations:
        if builder is None:
            builder = Builder(operation.context)
        replacement = Replacement(operation, builder)
        values = rule(replacement)
        if values is not None:
            replacement.finish(values)
