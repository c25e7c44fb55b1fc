"""Lanes that the common formula cannot serve: a separate function computes them, only when there is such a lane.

Input: the common results and the lanes they are wrong for. Output: results right in every lane. The function is made
once per module and lane count, so that a formula used often does not repeat its rare part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.modules import symbols
from triptych.targets.cpu.mathematics.lanes import Emitter, Lanes, select

Body = Callable[[Lanes], tuple[Lanes, ...]]


def corrected(common: Sequence[Lanes], wrong: Lanes, name: str, body: Body, x: Lanes) -> tuple[Lanes, ...]:
    """`common`, with the lanes that are wrong taken from `body(x)`."""
    emitter = x.emitter
    builder, place = emitter.builder, emitter.location
    types = [lanes.value.type for lanes in common]
    function = _function(emitter, name, body, x, types)
    choice = builder.operation("scf.if", (_any(wrong),), types, place, regions=2)
    after = builder.insertion
    builder.insertion = builder.at_end(builder.append_block(choice, 0, (), place))
    call = builder.operation("func.call", (x.value,), types, place, {"callee": function})
    rare = [Lanes(value, lanes.element, emitter) for value, lanes in zip(call.results, common, strict=True)]
    chosen = [select(wrong, new, old).value for new, old in zip(rare, common, strict=True)]
    builder.operation("scf.yield", chosen, (), place)
    builder.insertion = builder.at_end(builder.append_block(choice, 1, (), place))
    builder.operation("scf.yield", [lanes.value for lanes in common], (), place)
    builder.insertion = after
    return tuple(Lanes(value, lanes.element, emitter) for value, lanes in zip(choice.results, common, strict=True))


def _any(condition: Lanes) -> Any:
    builder = condition.emitter.builder
    kind = builder.attribute("#vector.kind<or>")
    return builder.value(
        "vector.reduction", (condition.value,), builder.type("i1"), condition.emitter.location, {"kind": kind}
    )


def _function(emitter: Emitter, name: str, body: Body, x: Lanes, types: Sequence[Any]) -> Any:
    """The symbol of the function, which is built at the end of the module when it is not there yet."""
    builder, place = emitter.builder, emitter.builder.unknown
    symbol = f"triptych.{name}.{emitter.count}"
    if symbol not in symbols(emitter.module):
        before = builder.insertion
        function, block = builder.function(emitter.module, symbol, [x.value.type], place)
        builder.finish_function(function, [x.value.type], types)
        builder.insertion = builder.at_end(block)
        results = body(Lanes(block.arguments[0], x.element, Emitter(builder, emitter.module, emitter.count, place)))
        builder.operation("func.return", [lanes.value for lanes in results], (), place)
        _mark(function, builder)
        builder.insertion = before
    return bindings.mlir().FlatSymbolRefAttr.get(symbol, context=builder.context)


def _mark(function: Any, builder: Any) -> None:
    function.attributes["sym_visibility"] = builder.string("private")
    function.attributes["llvm.linkage"] = builder.attribute("#llvm.linkage<internal>")
    function.attributes["llvm.readnone"] = builder.attribute("unit")
    function.attributes["passthrough"] = builder.attribute('["noinline", "cold", "nounwind", "willreturn"]')
