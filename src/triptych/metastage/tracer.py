"""Tracer, the meta-stage top to bottom: run the rewritten function once, with run-time values as dynamic arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from triptych.hooks import Hooks
from triptych.ir.handles import Block, Module
from triptych.ir.modules import SerializedModule
from triptych.kernel_ir.analysis.written_memory import WrittenMemory
from triptych.metastage.arguments.argument_kinds import Received, received_types
from triptych.metastage.arguments.results import Rebuild, take_results
from triptych.metastage.arguments.specs import ArgumentSpec, arrange
from triptych.metastage.calls.call_local import assigned, check_left, end_of_call, overwritten
from triptych.metastage.kernels.launches import check_launched, symbol
from triptych.metastage.trace import locations
from triptych.metastage.trace.trace import Rewrite, Trace, TraceOptions, activated
from triptych.metastage.values.explaining import explained
from triptych.stages import Leaf, Rewritten, Traced
from triptych.support.dataclass import dataclass
from triptych.support.garbage import no_collection
from triptych.support.source import Span


@dataclass(frozen=True, slots=True)
class Specialization:
    """The arguments of one trace: static values and the shapes of dynamic ones, by parameter name."""

    static: Mapping[str, Any]
    shapes: Mapping[str, ArgumentSpec]

    def leaves(self) -> list[Leaf]:
        """The compiled signature."""
        seen: set[str] = set()
        return [leaf for shape in self.shapes.values() for leaf in shape.leaves(seen)]

    def signature(self) -> tuple[tuple[str, Any], ...]:
        """The key of each dynamic argument."""
        names: dict[str, int] = {}
        return tuple((name, shape.key(names)) for name, shape in self.shapes.items())


@locations.floor
def trace(
    rewritten: Rewritten | FunctionType,
    specialization: Specialization,
    make_hooks: Callable[[Trace], Hooks],
    rewrite: Rewrite,
    called: str = "",
    options: TraceOptions = TraceOptions(),  # noqa: B008 - it is frozen
) -> tuple[Traced, Rebuild]:
    """Trace a rewritten function (or, unrewritten, a plain one): the module, and how Python sees its results."""
    current = Trace(rewrite, options)
    current.hooks = make_hooks(current)
    function, code = _runnable(rewritten, current)
    locations.register(code, rewritten=isinstance(rewritten, Rewritten))
    span = Span(code.co_filename, code.co_firstlineno, function=code.co_name)
    builder, location = current.builder, current.locations.of((span,))
    leaves = specialization.leaves()
    types = [builder.type(text) for leaf in leaves for text in received_types(leaf)]
    module = current.module = builder.module(location)
    name = symbol(called or code.co_name)
    definition, block = builder.function(module, name, types, location)
    current.entry, current.progress.name = block, code.co_name
    with activated(current), no_collection():
        builder.insertion = builder.at_end(block)
        values = Received(leaves, list(block.arguments))
        dynamic = {name: shape.build(values, current) for name, shape in specialization.shapes.items()}
        positional, keywords = arrange(function, {**specialization.static, **dynamic})
        try:
            returned = _explaining(function, positional, keywords)
        finally:
            end_of_call(current, code.co_name)
        check_launched(current)
        check_left(current, [*_outside(rewritten), *specialization.static.values()], span, code.co_name)
        results, rebuild = take_results(returned, code)
        builder.operation("func.return", [value for _, value in results], (), location=location)
        builder.finish_function(definition, types, [value.type for _, value in results])
    traced = Traced(
        name=name,
        module=SerializedModule(module),
        parameters=tuple(_with_writing(leaves, block, module)),
        results=tuple(leaf for leaf, _ in results),
        prints=current.prints,
        loops=current.loops,
        span=span,
        overwritten=overwritten(current),
        assigns=assigned(current),
        unrepeatable=current.unrepeatable,
        found=tuple(current.found),
    )
    return traced, next if returned is None else rebuild  # None is what a native call without results gives


def _explaining(function: Callable[..., Any], positional: list[Any], keywords: dict[str, Any]) -> Any:
    """Call the program; an error that Python's words explain badly is replaced."""
    try:
        return function(*positional, **keywords)
    except Exception as error:
        better = explained(error)
        if better is None:
            raise
        raise better.with_traceback(error.__traceback__) from None


def _with_writing(leaves: list[Leaf], block: Block, module: Module) -> Iterator[Leaf]:
    """The leaves, tensors that the program only reads marked as such."""
    arguments, memory = iter(list(block.arguments)), WrittenMemory(module)
    for leaf in leaves:
        pointer, *_ = [next(arguments) for _ in received_types(leaf)]
        if leaf.memory is None or memory.may_be_written(pointer):
            yield leaf
        else:
            yield replace(leaf, memory=replace(leaf.memory, written=False))


def _outside(rewritten: Rewritten | FunctionType) -> tuple[Callable[..., Any]]:
    """The function as the user wrote it: its closure and the globals that it names outlive the call."""
    return (rewritten if isinstance(rewritten, FunctionType) else rewritten.source.function,)


def _runnable(rewritten: Rewritten | FunctionType, current: Trace) -> tuple[FunctionType, CodeType]:
    if isinstance(rewritten, FunctionType):
        return rewritten, rewritten.__code__
    return rewritten.bind(current.hooks), rewritten.code
