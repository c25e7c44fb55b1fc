"""Pass `copy-at-once`: an asynchronous copy is a load and a store, complete when it has been asked for.

Waiting for it then does nothing. A program that forgets to wait gets a result here that no GPU promises.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.location import place_of
from triptych.ir.modules import operations_named

_COPY = "nvvm.cp.async.shared.global"
_GROUPS = ("nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group")
COPIES = frozenset({_COPY, *_GROUPS})
"""All that asynchronous copies are written with."""


def copy_at_once(module: Any) -> None:
    """Rewrite the copies and drop what waits for them."""
    for operation in operations_named(module, _COPY):
        _copy(operation)
    for operation in operations_named(module, *_GROUPS):
        operation.erase()


def _copy(operation: Any) -> None:
    target, source, *filled = operation.operands
    if filled:
        raise LoweringError("the CPU target has no asynchronous copy of part of a word", span=place_of(operation))
    size = int(operation.attributes["size"].value)
    kind = f"vector<{size // 4}xi32>" if size > 4 else "i32"
    builder = Builder(operation.context)
    builder.insertion = bindings.mlir().InsertionPoint(operation)
    attributes = {"alignment": builder.integer("i64", size), "ordering": builder.integer("i64", 0)}
    value = builder.value("llvm.load", (source,), builder.type(kind), operation.location, attributes)
    builder.operation("llvm.store", (value, target), (), operation.location, attributes)
    operation.erase()
