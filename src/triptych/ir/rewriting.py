"""Lowering by rules: a pass that replaces every operation of a name by what a Python function builds in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.modules import operations_named


class Replacement:
    """One operation that is being replaced. What is built goes before it and keeps its place in the user's source."""

    def __init__(self, operation: Any) -> None:
        self._operation = operation
        self._builder = Builder(operation.context)
        self._builder.insertion = bindings.mlir().InsertionPoint(operation)
        self.operands: tuple[Any, ...] = tuple(operation.operands)

    def value(
        self, name: str, operands: Sequence[Any], result: str, attributes: Mapping[str, Any] | None = None
    ) -> Any:
        """Build an operation with one result of the MLIR type written `result`."""
        kind, place = self._builder.type(result), self._operation.location
        return self._builder.value(name, operands, kind, place, attributes)

    def integer(self, type_text: str, value: int) -> Any:
        """Build an integer constant."""
        return self.value("arith.constant", (), type_text, {"value": self._builder.integer(type_text, value)})

    def finish(self, values: Sequence[Any]) -> None:
        """Let `values` stand for the operation's results and erase it."""
        for result, value in zip(list(self._operation.results), values, strict=True):
            result.replace_all_uses_with(value)
        self._operation.erase()


Rule = Callable[[Replacement], Sequence[Any]]
"""Builds what replaces an operation and returns the values that stand for its results."""


def replacing(rules: Mapping[str, Rule]) -> Callable[[Any], None]:
    """A pass: the rules in order, each on every operation of its name."""

    def run(module: Any) -> None:
        for name, rule in rules.items():
            for operation in operations_named(module, name):
                replacement = Replacement(operation)
                replacement.finish(rule(replacement))

    return run
