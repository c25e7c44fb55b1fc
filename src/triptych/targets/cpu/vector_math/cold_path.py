"""Expression that the common formula cannot serve: a separate function computes them, only when there is such a lane.

Input: the common results and the lanes they are wrong for. Output: results right in every lane. The function is made
once per module and lane count, so that a formula used often does not repeat its rare part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression, select
from triptych.ir.handles import Attribute, Operation, Type, Value
from triptych.ir.modules import symbols

Body = Callable[[Expression], tuple[Expression, ...]]


def corrected(
    common: Sequence[Expression], wrong: Expression, name: str, body: Body, x: Expression
) -> tuple[Expression, ...]:
    """`common`, with the lanes that are wrong taken from `body(x)`."""
    builder, location = x.place.builder, x.place.location
    types = [result.value.type for result in common]
    function = _function(name, body, x, types)
    choice = builder.operation("scf.if", (_any(wrong),), types, location, regions=2)
    after = builder.insertion
    builder.insertion = builder.at_end(builder.append_block(choice, 0, (), location))
    call = builder.operation("func.call", (x.value,), types, location, {"callee": function})
    rare = [replace(old, value=value) for value, old in zip(call.results, common, strict=True)]
    chosen = [select(wrong, new, old).value for new, old in zip(rare, common, strict=True)]
    builder.operation("scf.yield", chosen, (), location)
    builder.insertion = builder.at_end(builder.append_block(choice, 1, (), location))
    builder.operation("scf.yield", [result.value for result in common], (), location)
    builder.insertion = after
    return tuple(replace(old, value=value) for value, old in zip(choice.results, common, strict=True))


def _any(condition: Expression) -> Value:
    place = condition.place
    kind = {"kind": place.builder.attribute("#vector.kind<or>")}
    return place.builder.value("vector.reduction", (condition.value,), place.type("i1", None), place.location, kind)


def _function(name: str, body: Body, x: Expression, types: Sequence[Type]) -> Attribute:
    """The symbol of the function, which is built at the end of the module when it is not there yet."""
    builder, module = x.place.builder, x.place.module
    assert module is not None  # a formula with a part of its own is built in a module
    place = replace(x.place, location=builder.unknown)
    symbol = f"triptych.{name}.{x.lanes}"
    if symbol not in symbols(module):
        before = builder.insertion
        function, block = builder.function(module, symbol, [x.value.type], place.location)
        builder.finish_function(function, [x.value.type], types)
        builder.insertion = builder.at_end(block)
        results = body(replace(x, place=place, value=block.arguments[0]))
        builder.operation("func.return", [result.value for result in results], (), place.location)
        _mark(function, builder)
        builder.insertion = before
    reference: Attribute = bindings.mlir().FlatSymbolRefAttr.get(symbol, context=builder.context)
    return reference


def _mark(function: Operation, builder: Builder) -> None:
    function.attributes["sym_visibility"] = builder.string("private")
    function.attributes["llvm.linkage"] = builder.attribute("#llvm.linkage<internal>")
    function.attributes["llvm.readnone"] = builder.attribute("unit")
    function.attributes["llvm.passthrough"] = builder.attribute('["noinline", "cold", "nounwind", "willreturn"]')
