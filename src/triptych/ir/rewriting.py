"""Rewrite rules: operations are replaced by what a Python function builds in their place.

`replacing` makes a pass of rules by name. A pass that finds its operations in another way hands them to `replace_each`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import TypeOrText


class Replacement:
    """One operation that is being replaced: its builder stands before it and has its place in the user's source."""

    def __init__(self, operation: Operation, builder: Builder) -> None:
        builder.insertion, builder.location = builder.before(operation), operation.location
        self.operation = operation
        self.builder = builder
        self.attribute = builder.attribute
        """Any attribute by its text."""
        self.value = builder.value
        """Build an operation with one result: `value(name, operands, type, attributes)`."""
        self.element = builder.extract
        """Build the extraction of one element of a vector."""

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(self.operation.operands)

    def effect(self, name: str, operands: Sequence[Value], attributes: Mapping[str, Attribute] | None = None) -> None:
        """Build an operation without results."""
        self.builder.operation(name, operands, attributes=attributes)

    def integer(self, written: TypeOrText, value: int) -> Value:
        """Build an integer constant."""
        return self.builder.constant(value, written)

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
