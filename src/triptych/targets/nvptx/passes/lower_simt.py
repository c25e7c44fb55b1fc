"""Pass `lower-simt`: the dialect `simt` becomes MLIR's `nvvm`.

Input: kernels of any machine, their prefetches lowered with the hints for caches. Output: one operation of NVIDIA's for
each; the table of instructions says which. What stands for many instructions at once, `tile.mma`, is written out at the
end of the pass list.
"""

from __future__ import annotations

from collections.abc import Mapping

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.targets.nvptx.description.instructions import INSTRUCTIONS, Nvvm

_DIALECT = "nvvm"
"""Known from here on: every pass behind this one may meet its operations."""

ROWS: Mapping[str, Nvvm] = {row.operation: row.becomes for row in INSTRUCTIONS if row.becomes is not None}


def lower_simt(module: Module) -> None:
    """Replace all of them."""
    builder = Builder(module.context)
    bindings.mark_dialect_loaded(_DIALECT)
    for operation in operations_named(module, *ROWS):
        builder.stand_before(operation)
        _replace(operation, ROWS[operation.name], builder)


def _replace(operation: Operation, row: Nvvm, builder: Builder) -> None:
    name = row.name if isinstance(row.name, str) else row.name(operation)
    attributes = {
        key: builder.attribute(found) if isinstance(found, str) else found
        for key, found in row.attributes(operation).items()
    }
    results = list(operation.results)
    kinds = [result.type for result in results]
    if len(results) > 1:
        kinds = [builder.type(f"!llvm.struct<({', '.join(map(str, kinds))})>")]
    made = builder.operation(name, list(operation.operands), kinds, attributes)
    values = list(made.results) if len(results) < 2 else _parts(made, results, builder)
    for result, value in zip(results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def _parts(made: Operation, results: list[Value], builder: Builder) -> list[Value]:
    places = [{"position": builder.attribute(f"array<i64: {i}>")} for i in range(len(results))]
    return [
        builder.value("llvm.extractvalue", (made.result,), result.type, place)
        for result, place in zip(results, places, strict=True)
    ]
