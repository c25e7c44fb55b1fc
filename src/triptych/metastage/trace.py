"""The meta-stage, top to bottom: run the rewritten function once, with run-time values for its dynamic arguments."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from triptych.hooks import Hooks
from triptych.metastage import places
from triptych.metastage.arguments import Shape, arrange
from triptych.metastage.kernels import check_launched
from triptych.metastage.promotion import TYPES
from triptych.metastage.results import Rebuild, take_results
from triptych.metastage.tracing import Rewrite, Trace, activated
from triptych.stages import Rewritten, Traced
from triptych.support.source import Span


@dataclass(frozen=True, slots=True)
class Specialization:
    """The arguments of one trace: static values and the shapes of dynamic ones, by parameter name."""

    static: Mapping[str, Any]
    shapes: Mapping[str, Shape]

    def leaves(self) -> list[Any]:
        return [leaf for shape in self.shapes.values() for leaf in shape.leaves()]


@places.floor
def trace(
    rewritten: Rewritten | FunctionType,
    specialization: Specialization,
    make_hooks: Callable[[Trace], Hooks],
    rewrite: Rewrite,
) -> tuple[Traced, Rebuild]:
    """Trace a rewritten function (or, unrewritten, a plain one): the module, and how Python sees its results."""
    current = Trace(rewrite)
    current.hooks = make_hooks(current)
    function, code = _runnable(rewritten, current)
    places.register(code)
    span = Span(code.co_filename, code.co_firstlineno, function=code.co_name)
    builder, location = current.builder, current.locations.of((span,))
    leaves = specialization.leaves()
    types = [builder.type(TYPES[leaf.dtype].mlir) for leaf in leaves]
    module = builder.module(location)
    name = _symbol(code.co_name)
    definition, block = builder.function(module, name, types, location)
    with activated(current), _no_collection():
        builder.insertion = builder.at_end(block)
        values = iter(list(block.arguments))
        dynamic = {name: shape.build(values, current) for name, shape in specialization.shapes.items()}
        positional, keywords = arrange(function, {**specialization.static, **dynamic})
        returned = function(*positional, **keywords)
        check_launched(current)
        results, rebuild = take_results(returned, code)
        builder.operation("func.return", [value for _, value in results], (), location)
        builder.finish_function(definition, types, [value.type for _, value in results])
    traced = Traced(
        name=name,
        module=module,
        parameters=tuple(leaves),
        results=tuple(leaf for leaf, _ in results),
        prints=current.prints,
        loops=current.loops,
        span=span,
    )
    return traced, rebuild


@contextmanager
def _no_collection() -> Iterator[None]:
    """Tracing makes many objects that live until it ends: looking for garbage among them costs a fifth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _runnable(rewritten: Rewritten | FunctionType, current: Trace) -> tuple[Callable[..., Any], Any]:
    if isinstance(rewritten, FunctionType):
        return rewritten, rewritten.__code__
    return rewritten.bind(current.hooks), rewritten.code


def _symbol(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
