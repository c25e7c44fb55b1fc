"""Dialect declaration in Python as data, and its registration with an MLIR context.

Input: names, operand and result types. Output: operations that MLIR verifies, prints and moves like its own. The
declaration imports nothing, so a language may be declared where it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.ir.handles import Context, Operation
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """An attribute that an operation must have."""

    name: str
    values: tuple[str, ...] = ()
    """The attributes that it may be, as MLIR text; with none, any."""


@dataclass(frozen=True, slots=True)
class OperationSpec:
    """An operation by its operands and results, each the text of an MLIR type, a choice of them (`i32|i64`) or a
    type variable (`T`).

    A choice or a type variable stands for one type, whichever it is, everywhere in the operation. The last operand,
    or the last result, may be left out (`i32?`) or be any number of values (`i32*`).
    """

    name: str
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    pure: bool = False
    """Without effects: MLIR may drop it, move it and merge it with an equal one."""
    attributes: tuple[AttributeSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """The operations of a language, by the prefix of their names."""

    name: str
    operations: tuple[OperationSpec, ...]

    def load(self, context: Context) -> None:
        """Make the operations known to `context`; once is enough."""
        _LOADED[self.name] = self
        if context.is_dialect_loaded(self.name):
            return
        ir = bindings.mlir()
        bindings.mark_dialect_loaded(self.name)
        with context, ir.Location.unknown():
            bindings.load_irdl(ir.Module.parse(self.irdl()))
            for operation in self.operations:
                for interface in _purity() if operation.pure else ():
                    interface.attach(f"{self.name}.{operation.name}")

    def irdl(self) -> str:
        """The declaration as MLIR's own dialect of declarations."""
        return "\n".join([f"irdl.dialect @{self.name} {{", *map(_irdl, self.operations), "}"])


_LOADED: dict[str, Dialect] = {}
"""Every dialect that some thread has loaded, by name."""


def load_all(context: Context) -> None:
    """Make every dialect known that has been loaded anywhere: a module may be read by another thread than its own."""
    for dialect in list(_LOADED.values()):
        dialect.load(context)


_COUNTS = {"?": "optional ", "*": "variadic "}


def _irdl(operation: OperationSpec) -> str:
    types = list(dict.fromkeys(text.rstrip("?*") for text in (*operation.operands, *operation.results)))
    lines = [line for i, text in enumerate(types) for line in _constraint(text, f"%t{i}")]
    for kind, texts in (("operand", operation.operands), ("result", operation.results)):
        named = [
            f"{kind}{i}: {_COUNTS.get(text[-1], '')}%t{types.index(text.rstrip('?*'))}" for i, text in enumerate(texts)
        ]
        lines += [f"    irdl.{kind}s({', '.join(named)})"] if named else []
    lines += [line for i, attribute in enumerate(operation.attributes) for line in _choice(attribute, f"%a{i}")]
    listed = ", ".join(f'"{attribute.name}" = %a{i}' for i, attribute in enumerate(operation.attributes))
    lines += [f"    irdl.attributes {{ {listed} }}"] if listed else []
    return "\n".join([f"  irdl.operation @{operation.name} {{", *lines, "  }"])


def _choice(attribute: AttributeSpec, name: str) -> list[str]:
    return _one_of(attribute.values, name) if attribute.values else [f"    {name} = irdl.any"]


def _constraint(text: str, name: str) -> list[str]:
    if text.isidentifier() and text.isupper():
        return [f"    {name} = irdl.any"]
    choice = text.split("|")
    return _one_of(choice, name) if len(choice) > 1 else [f"    {name} = irdl.is {text}"]


def _one_of(values: Sequence[str], name: str) -> list[str]:
    """The lines that define a constraint: one of the values."""
    parts = [f"{name}_{i}" for i in range(len(values))]
    each = [f"    {part} = irdl.is {value}" for part, value in zip(parts, values, strict=True)]
    return [*each, f"    {name} = irdl.any_of({', '.join(parts)})"]


@cache
def _purity() -> tuple[Any, ...]:
    """What tells MLIR that an operation touches no memory and may run where it would not have run."""
    ir = bindings.mlir()

    def get_effects(operation: Operation, effects: object) -> None:
        """None."""

    def get_speculatability(operation: Operation) -> Any:
        return ir.Speculatability.Speculatable

    return (
        type("NoMemoryEffect", (ir.MemoryEffectsOpInterface,), {"get_effects": staticmethod(get_effects)}),
        type(
            "AlwaysSpeculatable",
            (ir.ConditionallySpeculatable,),
            {"get_speculatability": staticmethod(get_speculatability)},
        ),
    )
