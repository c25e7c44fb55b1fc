"""Pass manager: upstream MLIR passes by name, Python callables in between, and rewrite rules, by which operations are
replaced by what a Python function builds in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Attribute, Failure, Module, Operation, Value
from triptych.ir.location import spans_of
from triptych.ir.modules import operation_names, operations_named
from triptych.ir.types import TypeOrText
from triptych.stages import PassSpec
from triptych.support.dataclass import dataclass
from triptych.support.garbage import no_collection
from triptych.support.interrupts import check_signals, interruptible
from triptych.support.timeline import now, past


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One step of a run: the passes it consisted of, how long they took, and the module afterwards if asked for."""

    names: tuple[str, ...]
    seconds: float
    text: str


@interruptible
def run_passes(
    module: Module,
    passes: Sequence[PassSpec],
    observe: Callable[[PassRecord], None] | None = None,
) -> None:
    """Run the passes in order on `module`, in place. With an observer every pass is its own step and is shown.

    What callables at the end have made of it is not verified.
    """
    with module.context, no_collection():
        present: frozenset[str] | None = None
        for step in _steps(passes, separate=observe is not None):
            started = now()
            if step[0].looks_for and present is None:
                present = operation_names(module)
            if not step[0].looks_for or not step[0].looks_for.isdisjoint(present or ()):
                changed = _run_step(module, step)
                added = _added(step) if changed else frozenset()
                present = None if present is None or added is None else present | added
            check_signals()
            names = tuple(spec.name for spec in step)
            done = past(", ".join(names), started, "pass")
            if observe is not None:
                observe(PassRecord(names, (done - started) / 1e9, str(module)))


def verify(module: Module) -> None:
    """Raise at the user's line when the module is not well formed."""
    try:
        module.operation.verify()
    except bindings.mlir().MLIRError as error:
        raise lowering_error("the program became malformed IR", error) from None


def lowering_error(title: str, error: Failure) -> LoweringError:
    """An MLIR exception as an error at the Python line that the diagnostic's location names."""
    diagnostics = error.error_diagnostics
    if not diagnostics:
        return LoweringError(title, found=str(error))
    first = diagnostics[0]
    spans = spans_of(first.location)
    return LoweringError(
        title,
        span=spans[0] if spans else None,
        found=first.message,
        notes=[note.message for note in first.notes] + [other.message for other in diagnostics[1:]],
        related=[("called from", caller) for caller in spans[1:]],
    )


def _steps(passes: Sequence[PassSpec], *, separate: bool) -> Iterator[tuple[PassSpec, ...]]:
    for upstream, group in groupby(passes, key=lambda spec: spec.run is None):
        if upstream and not separate:
            yield tuple(group)
        else:
            yield from ((spec,) for spec in group)


def _added(step: tuple[PassSpec, ...]) -> frozenset[str] | None:
    """What other passes look for and a step may have made; None if it may have made anything."""
    known = [spec.adds for spec in step if spec.adds is not None]
    return frozenset().union(*known) if len(known) == len(step) else None


@interruptible
def _run_step(module: Module, step: tuple[PassSpec, ...]) -> bool:
    """Run it; whether it may have made or removed operations."""
    if step[0].run is not None:
        return step[0].run(module) is not False
    verify(module)
    pipeline = f"builtin.module({','.join(spec.name for spec in step)})"
    try:
        manager = bindings.pass_manager().parse(pipeline)
        manager.enable_verifier(False)
        manager.run(module.operation)
    except bindings.mlir().MLIRError as error:
        raise lowering_error(f"cannot lower: {_named(step)} failed", error) from None
    except ValueError as error:
        raise LoweringError(f"the pass list is not valid: {pipeline}", found=str(error)) from None
    return True


def _named(step: tuple[PassSpec, ...]) -> str:
    names = [spec.name for spec in step]
    return f"pass {names[0]}" if len(names) == 1 else f"one of the passes {', '.join(names)}"


class Replacement:
    """One operation that is being replaced: its builder stands before it and has its place in the user's source."""

    def __init__(self, operation: Operation, builder: Builder) -> None:
        builder.insertion, builder.location = builder.before(operation), operation.location
        self.operation = operation
        self.builder = builder
        self.attribute = builder.attribute
        """Any attribute by its text."""
        self.value = builder.value
        """Build an operation with one result: `value(name, operands, type, attributes)`."""
        self.element = builder.extract
        """Build the extraction of one element of a vector."""

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(self.operation.operands)

    def effect(self, name: str, operands: Sequence[Value], attributes: Mapping[str, Attribute] | None = None) -> None:
        """Build an operation without results."""
        self.builder.operation(name, operands, attributes=attributes)

    def integer(self, written: TypeOrText, value: int) -> Value:
        """Build an integer constant."""
        return self.builder.constant(value, written)

    def finish(self, values: Sequence[Value]) -> None:
        """Let `values` stand for the operation's results and erase it."""
        for result, value in zip(list(self.operation.results), values, strict=True):
            result.replace_all_uses_with(value)
        self.operation.erase()


Rule = Callable[[Replacement], Sequence[Value] | None]
"""Builds what replaces an operation and returns the values that stand for its results; None leaves it as it is."""


def replacing(rules: Mapping[str, Rule]) -> Callable[[Module], None]:
    """A pass: the rules in order, each on every operation of its name."""

    def run(module: Module) -> None:
        for name, rule in rules.items():
            replace_each(operations_named(module, name), rule)

    return run


def replace_each(operations: Iterable[Operation], rule: Rule) -> None:
    """Apply a rule to operations that were collected before: nothing may be changed during a walk."""
    builder: Builder | None = None
    for operation in operations:
        if builder is None:
            builder = Builder(operation.context)
        replacement = Replacement(operation, builder)
        values = rule(replacement)
        if values is not None:
            replacement.finish(values)
