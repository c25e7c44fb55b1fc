"""Pass `lower-simt`: the operations of `simt` and the copies of `tile` become those of MLIR's dialect `nvvm`.

Input: kernels of any machine, their prefetches lowered with the hints for caches. Output: one operation of NVIDIA's for
each; the table says which. What stands for many instructions at once, `tile.mma`, is written out at the end of the pass
list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import is_integer
from triptych.kernel_ir.dialects import simt as dialect
from triptych.kernel_ir.dialects.matrix_copies import MATRIX_COPIES
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX, STORE_MATRIX

_DIALECT = "nvvm"
"""Known from here on: every pass behind this one may meet its operations."""
Attributes = Mapping[str, Attribute | str]
"""By name: MLIR text, or an attribute of the operation as it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """What an operation becomes; its operands and results stay, except that several results become a struct."""

    name: str | Callable[[Operation], str]
    attributes: Callable[[Operation], Attributes] = lambda _: {}


def _kind(enumeration: str) -> Callable[[Operation], Attributes]:
    """The attribute `kind` in a word of NVIDIA's; further ones stay."""

    def attributes(operation: Operation) -> Attributes:
        given = {name: operation.attributes[name] for name in operation.attributes}
        return {**given, "kind": f"#nvvm<{enumeration} {given['kind'].value}>"}

    return attributes


def _always(**texts: str) -> Callable[[Operation], Attributes]:
    return lambda _: dict(texts)


def _clock(operation: Operation) -> str:
    return "nvvm.read.ptx.sreg.clock" + ("64" if is_integer(operation.results[0].type, 64) else "")


def _segments(operation: Operation) -> Attributes:
    return {"operandSegmentSizes": f"array<i32: 1, {len(operation.operands) - 1}>"}


_CACHES = {"all": "ca", "global": "cg"}


def _copied(operation: Operation) -> Attributes:
    cache = _CACHES[operation.attributes["cache"].value]
    return {"size": operation.attributes["size"], "modifier": f"#nvvm<load_cache_modifier {cache}>"}


def _matrices(operation: Operation) -> Attributes:
    """The words of the instruction."""
    copy = MATRIX_COPIES[operation.attributes["instruction"].value]
    m, n = copy.shape
    words = {
        "layout": f"#nvvm.mma_layout<{'col' if copy.transposed else 'row'}>",
        "shape": f"#nvvm.ld_st_matrix_shape<m = {m}, n = {n}>",
        "eltType": f"#nvvm.ld_st_matrix_elt_type<{copy.element}>",
    }
    return {**words, "num": f"{copy.count} : i32"} if copy.is_load else words


ROWS: Mapping[str, Row] = {
    dialect.SHUFFLE: Row("nvvm.shfl.sync", _kind("shfl_kind")),
    dialect.VOTE: Row("nvvm.vote.sync", _kind("vote_sync_kind")),
    dialect.REDUCE: Row("nvvm.redux.sync", _kind("reduction_kind")),
    dialect.MATCH: Row("nvvm.match.sync", _always(kind="#nvvm<match_sync_kind any>")),
    dialect.ELECT: Row("nvvm.elect.sync"),
    dialect.SYNC_WARP: Row("nvvm.bar.warp.sync"),
    dialect.BARRIER: Row("nvvm.barrier", _segments),
    dialect.BARRIER_ARRIVE: Row("nvvm.barrier.arrive"),
    dialect.ASYNC_COPY: Row("nvvm.cp.async.shared.global", _copied),
    dialect.ASYNC_COMMIT: Row("nvvm.cp.async.commit.group"),
    dialect.ASYNC_WAIT: Row("nvvm.cp.async.wait.group", lambda operation: {"n": operation.attributes["groups"]}),
    dialect.AWAIT_PREVIOUS_GRID: Row("nvvm.griddepcontrol", _always(kind="#nvvm<grid_dep_action wait>")),
    dialect.LAUNCH_DEPENDENTS: Row("nvvm.griddepcontrol", _always(kind="#nvvm<grid_dep_action launch_dependents>")),
    dialect.CLOCK: Row(_clock),
    dialect.GLOBAL_TIMER: Row("nvvm.read.ptx.sreg.globaltimer"),
    dialect.SLEEP: Row("nvvm.nanosleep"),
    LOAD_MATRIX: Row("nvvm.ldmatrix", _matrices),
    STORE_MATRIX: Row("nvvm.stmatrix", _matrices),
}


def lower_simt(module: Module) -> None:
    """Replace all of them."""
    builder = Builder(module.context)
    bindings.mark_dialect_loaded(_DIALECT)
    for operation in operations_named(module, *ROWS):
        builder.insertion = builder.before(operation)
        _replace(operation, ROWS[operation.name], builder)


def _replace(operation: Operation, row: Row, builder: Builder) -> None:
    name = row.name if isinstance(row.name, str) else row.name(operation)
    attributes = {
        key: builder.attribute(found) if isinstance(found, str) else found
        for key, found in row.attributes(operation).items()
    }
    results = list(operation.results)
    kinds = [result.type for result in results]
    if len(results) > 1:
        kinds = [builder.type(f"!llvm.struct<({', '.join(map(str, kinds))})>")]
    made = builder.operation(name, list(operation.operands), kinds, attributes, location=operation.location)
    values = list(made.results) if len(results) < 2 else _parts(made, results, builder)
    for result, value in zip(results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def _parts(made: Operation, results: list[Value], builder: Builder) -> list[Value]:
    places = [{"position": builder.attribute(f"array<i64: {i}>")} for i in range(len(results))]
    return [
        builder.value("llvm.extractvalue", (made.result,), result.type, place, location=made.location)
        for result, place in zip(results, places, strict=True)
    ]
