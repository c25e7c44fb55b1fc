"""A dialect declared in Python as data, and made known to an MLIR context.

Input: names, operand and result types. Output: operations that MLIR verifies, prints and moves like its own. The
declaration imports nothing, so a language may be declared where it is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from triptych.ir import bindings


@dataclass(frozen=True, slots=True)
class OperationSpec:
    """An operation by its operands and results, each the text of an MLIR type or a type variable (`T`).

    A type variable stands for one type, whichever it is, everywhere in the operation.
    """

    name: str
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    pure: bool = False
    """Without effects: MLIR may drop it, move it and merge it with an equal one."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The operations of a language, by the prefix of their names."""

    name: str
    operations: tuple[OperationSpec, ...]

    def load(self, context: Any) -> None:
        """Make the operations known to `context`; once is enough."""
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


def _irdl(operation: OperationSpec) -> str:
    types = list(dict.fromkeys((*operation.operands, *operation.results)))
    constraints = [f"    %t{i} = {_constraint(text)}" for i, text in enumerate(types)]
    values = [
        f"    irdl.{kind}s({', '.join(f'{kind}{i}: %t{types.index(text)}' for i, text in enumerate(texts))})"
        for kind, texts in (("operand", operation.operands), ("result", operation.results))
        if texts
    ]
    return "\n".join([f"  irdl.operation @{operation.name} {{", *constraints, *values, "  }"])


def _constraint(text: str) -> str:
    return "irdl.any" if text.isidentifier() and text.isupper() else f"irdl.is {text}"


@cache
def _purity() -> tuple[Any, ...]:
    """What tells MLIR that an operation touches no memory and may run where it would not have run."""
    ir = bindings.mlir()

    def get_effects(operation: Any, effects: Any) -> None:
        """None."""

    def get_speculatability(operation: Any) -> Any:
        return ir.Speculatability.Speculatable

    return (
        type("NoMemoryEffect", (ir.MemoryEffectsOpInterface,), {"get_effects": staticmethod(get_effects)}),
        type(
            "AlwaysSpeculatable",
            (ir.ConditionallySpeculatable,),
            {"get_speculatability": staticmethod(get_speculatability)},
        ),
    )
