"""Kernels: device functions launched from traced host code.

A launch traces the kernel's body into a `gpu.func` of its own and leaves a `gpu.launch_func` in the host function. The
two share nothing: what the body uses of the host is an argument, and what it computes stays in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, Unpack

from triptych.diagnostics.kernel_errors import LaunchShapeError
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Block
from triptych.ir.launch import LAUNCH, launch_parts
from triptych.ir.modules import NAME as MODULE
from triptych.ir.modules import DeviceModule
from triptych.ir.passes import verify
from triptych.kernel_ir.dialects.kernel_attributes import ASYNC_ATTRIBUTE, EARLY, LATE, device_attributes, name_parts
from triptych.kernel_ir.dialects.kernel_operations import CLUSTER_ATTRIBUTE
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.metastage.arguments.specs import Parameter, arrange
from triptych.metastage.arguments.streams import event_numbers, launch_stream, together
from triptych.metastage.calls.inlining import declared_arguments
from triptych.metastage.control_flow.join_plans import Aggregate, Plan, Static, carry
from triptych.metastage.control_flow.object_identity import involves_dynamic
from triptych.metastage.debugger.breakpoints import SITES, check_break_place
from triptych.metastage.kernels.launch_configuration import (
    LaunchKeywords,
    LaunchOptions,
    LaunchShape,
    static_dimensions,
)
from triptych.metastage.trace import locations
from triptych.metastage.trace.checks import check, warn_here
from triptych.metastage.trace.errors import ArgumentBindingError, KernelCallError, LeakedValueError, ReturnValueError
from triptych.metastage.trace.trace import KernelBody, Region, Trace, place
from triptych.metastage.values.aggregates import Parts, describe, is_dynamic_expression, list_parts, take_apart
from triptych.metastage.values.binding_time import STATIC_INTEGERS, Constexpr, part_annotations
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.metastage.values.provenance import note_received
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Int32, Numeric, materialize
from triptych.sanitizer.checkers import ASYNC, checkers
from triptych.support.device_model import COMMON, COUNTED_WHEN_IMPORTED


def kernel_argument(value: object, declared: object, trace: Trace) -> tuple[list[Any], Plan]:
    """As `flatten`, for a parameter with an annotation."""
    return ([], Static(value)) if declared is STATIC_INTEGERS and type(value) is int else flatten(value, trace)


def flatten(value: object, trace: Trace) -> tuple[list[Any], Plan]:
    """The MLIR values that a host value is made of, and the plan that makes the same of what the kernel receives."""
    parts = None if is_dynamic_expression(value) else _list_parts(value) or take_apart(value)
    if parts is None:
        if type(value) in PYTHON_NUMBERS:
            value = NUMERIC_CLASSES[PYTHON_NUMBERS[type(value)]].fitting(value)
        plan = carry(value)
        return plan.lower(value, trace), plan
    extents = type(value) in (tuple, list)
    said = [None] * len(parts.labels) if extents else part_annotations(value, None, parts.labels)
    flattened = [
        ([], Static(part))
        if (extents and type(part) is int) or (annotation is Constexpr and not involves_dynamic(part))
        else flatten(part, trace)
        for part, annotation in zip(parts.values, said, strict=True)
    ]
    plans = tuple(plan for _, plan in flattened)
    return [value for values, _ in flattened for value in values], Aggregate(parts, plans)


def _list_parts(value: object) -> Parts | None:
    """A list may be an argument of a kernel: it is as fixed as a tuple for a launch."""
    return list_parts(value) if type(value) is list else None


_ALLOCATION = {"aligned_alloc", "calloc", "free", "malloc", "memcpy", "memmove", "memset", "realloc"}
_OF_C = {*vars(math), *_ALLOCATION, "clock_gettime", "printf"}
"""Functions that compiled code may call: a function of the program with such a name would take their place."""


def symbol(name: str) -> str:
    """A Python name as a symbol that every assembler takes: ASCII, no digit first, not `_` alone, not one of C's."""
    mapped = "".join(c if c == "_" or (c.isascii() and c.isalnum()) else _letter(c) for c in name)
    if {mapped, mapped.removesuffix("f")} & _OF_C:
        return f"{mapped}_"
    return f"_{mapped}" if not mapped.strip("_") or mapped[0].isdigit() else mapped


def _letter(character: str) -> str:
    """Letters of other alphabets by their numbers, so that two names stay two; marks (`<lambda>`) as underscores."""
    return "_" if character.isascii() else f"u{ord(character):x}_"


# How much shared memory a launch provides: what the kernel allocated while it was traced, or more if asked for.

_INSTEAD = "`smem=None`, which provides what the kernel allocates"
_TITLE = "a block cannot have that much shared memory"


def launch_bytes(trace: Trace, kernel: KernelBody, asked: object) -> Any:
    """An int or an Int32."""
    needed, most = kernel.shared_bytes, trace.device_model.shared_bytes
    if needed > most:
        raise _too_much(kernel, most)
    if asked is None:
        return needed
    if isinstance(asked, Numeric) and asked.is_dynamic and asked.info.is_integer:
        holds = (asked >= needed) & (asked <= most)
        expected = f"{needed} to {most} bytes"
        check(trace, holds.ir_value(), LaunchShapeError.__name__, _TITLE, expected=expected, instead=_INSTEAD)
        return asked.to(Int32)
    if isinstance(asked, bool) or not isinstance(asked, int | Numeric):
        raise LaunchShapeError(
            "the bytes of shared memory are not an integer",
            span=place(),
            found=describe(asked),
            expected="smem=bytes",
            instead=_INSTEAD,
        )
    if not 0 <= int(asked) <= most:
        expected = f"0 to {most} bytes"
        raise LaunchShapeError(_TITLE, span=place(), found=f"smem={int(asked)}", expected=expected, instead=_INSTEAD)
    if int(asked) < needed:
        warn_here(f"smem={int(asked)} is less than the {needed} bytes that {kernel.name} allocates: it gets {needed}")
    return max(int(asked), needed)


def _too_much(kernel: KernelBody, most: int) -> LaunchShapeError:
    return LaunchShapeError(
        f"the kernel {kernel.name} allocates more shared memory than a block has",
        span=place(),
        found=f"{kernel.shared_bytes} bytes",
        expected=f"at most {most} bytes",
        instead="smaller tiles, fewer stages, or a narrower element type",
        related=[(f"{part.size} bytes: {part.what}", part.span) for part in kernel.shared if part.span is not None],
    )


class KernelLaunch:
    """A kernel with its arguments, waiting for `.launch(...)`."""

    def __repr__(self) -> str:
        return f"<KernelLaunch {self._function.__qualname__}({', '.join(self._arguments)}), launched by `.launch(...)`>"

    def __init__(
        self,
        trace: Trace,
        function: FunctionType,
        name: str,
        parameters: tuple[Parameter, ...],
        arguments: dict[str, Any],
        contract: bool | None,
    ) -> None:
        self._trace = trace
        self._contract = contract
        self._function = function
        self._name = name
        self._parameters = parameters
        self._arguments = arguments
        self._call = (function.__name__, place())
        trace.unlaunched.append(self._call)

    def launch(
        self, *shape: object, grid: object = None, block: object = None, **keywords: Unpack[LaunchKeywords]
    ) -> None:
        """Run the kernel for every thread of every block; `smem=None` provides the shared memory it allocates."""
        trace, name = self._trace, self._function.__name__
        if shape:
            raise ArgumentBindingError(
                f"the launch of {name} takes its grid and block by name",
                span=place(),
                found=f"{len(shape)} arguments without a name",
                expected=f"`{name}(...).launch(grid=..., block=...)`",
                instead=f"`{name}(...).launch(grid={_written(shape[0])}, block={_written(*shape[1:2])})`",
            )
        _check_lanes(trace, self._function)
        options = LaunchOptions.of(name, keywords)
        launched = LaunchShape.of(trace, *_required(name, grid=grid, block=block))
        if self._call in trace.unlaunched:
            trace.unlaunched.remove(self._call)
        flattened = {
            p.name: kernel_argument(self._arguments[p.name], p.declared, trace)
            for p in self._parameters
            if not p.static
        }
        values = [value for values, _ in flattened.values() for value in values]
        kernel = self._traced(launched, options, values, {name: plan for name, (_, plan) in flattened.items()})
        trace.repetition.do_once()
        trace.loops = True  # the call then releases the interpreter lock: a grid may run long
        emit = partial(_emit_launch, trace, kernel, launched, options, values)
        if isinstance(options.use_pdl, bool):
            emit(options.use_pdl)
        else:
            trace.hooks.if_(options.use_pdl, partial(emit, True), partial(emit, False))

    @locations.device_floor
    def _traced(
        self, shape: LaunchShape, options: LaunchOptions, values: Sequence[Any], plans: dict[str, Plan]
    ) -> KernelBody:
        """The body as a function of the arguments' values."""
        trace, function = self._trace, self._function
        types = [value.type for value in values]
        kernel, entry = _new_kernel(trace, self._name, types, shape, options)
        sites = len(SITES)
        with _inside(trace, kernel, entry), trace.contraction.kernel(self._contract):
            received = iter(list(entry.arguments))
            note_received(trace, list(entry.arguments), values)
            rebuilt = {name: plan.build(received, trace) for name, plan in plans.items()}
            positional, keywords = arrange(function, {**self._arguments, **rebuilt})
            trace.decorated.add(function)
            returned = trace.hooks.call(function, *positional, **keywords)
            if returned is not None:
                raise _returns(function, returned)
            trace.operation("gpu.return")
        asked = kernel.host_values.values()
        if asked:
            trace.builder.finish_function(kernel.function, [*types, *(each.argument.type for each in asked)], ())
        marks = [mark for plan in plans.values() for mark in plan.marks()]
        _mark_arguments(trace, kernel, [*marks, *(each.mark for each in asked)])
        if trace.instrumentation.stops:
            check_break_place(sites)
        if checkers():
            parts = [(part.what, part.offset, part.size, part.span) for part in kernel.apart()]
            name_parts(kernel.function, trace.builder, parts)
        _verify(kernel)
        return kernel


def kernel_call(
    trace: Trace,
    function: FunctionType,
    name: str,
    parameters: tuple[Parameter, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    contract: bool | None,
) -> KernelLaunch:
    """A call of a kernel in traced code: allowed in host code, where it is launched under a name.

    `contract` is what the kernel says of contraction."""
    if trace.kernel is not None:
        raise KernelCallError(
            f"the kernel {function.__qualname__} cannot be called from another kernel",
            span=place(),
            found="a call of a `@kernel` function in device code",
            expected="a `@jit` or plain Python function, which is inlined",
            instead=f"`@jit` instead of `@kernel` on {function.__name__}",
        )
    arguments = declared_arguments(function, parameters, args, kwargs)
    return KernelLaunch(trace, function, name, parameters, arguments, contract)


def check_launched(trace: Trace) -> None:
    """Refuse a kernel call without a launch, which would do nothing."""
    for name, span in trace.unlaunched:
        raise KernelCallError(
            f"the kernel {name} is called but never launched",
            span=span,
            found="a call of a `@kernel` function, which runs nothing by itself",
            expected="a launch",
            instead=f"`{name}(...).launch(grid=..., block=...)`",
        )


def _check_lanes(trace: Trace, function: FunctionType) -> None:
    """Refuse a kernel of a module that has computed with the lanes of another machine."""
    counted, lanes = COUNTED_WHEN_IMPORTED.get(function.__module__), trace.device_model.lanes
    if counted is not None and lanes != COMMON.lanes:
        raise KernelCallError(
            f"the module of {function.__name__} counts on warps of {COMMON.lanes} lanes, and here they have {lanes}",
            span=place(),
            found="the number of lanes, asked for when the module was imported",
            expected="`cute.arch.WARP_SIZE` and `cute.arch.FULL_MASK` inside of functions",
            related=[("asked here", counted)],
        )


def _required(name: str, **shape: object) -> Iterator[Any]:
    for keyword, value in shape.items():
        if value is None:
            raise ArgumentBindingError(
                f"the launch of {name} has no {keyword}",
                span=place(),
                expected="the number of blocks, and of threads in each",
                instead=f"`{name}(...).launch(grid=..., block=...)`",
            )
        yield value


def _written(dimension: object = ...) -> str:
    return repr(dimension) if isinstance(dimension, int | tuple | list) else "..."


def _new_kernel(
    trace: Trace, name: str, types: list[Any], shape: LaunchShape, options: LaunchOptions
) -> tuple[KernelBody, Any]:
    builder, location = trace.builder, trace.location()
    if trace.device is None:
        trace.device = DeviceModule(builder, trace.module, location, device_attributes(trace.device_model))
        for dialect in KERNEL_DIALECTS:
            dialect.load(builder.context)
    attributes = {f"triptych.{hint}": builder.integer("i32", value) for hint, value in options.hints.items()}
    for attribute, dimensions in (("known_block_size", shape.block), ("known_grid_size", shape.grid)):
        known = static_dimensions(dimensions)
        if known is not None and min(known) > 0:
            attributes[attribute] = builder.attribute(f"array<i32: {', '.join(map(str, known))}>")
    if ASYNC in checkers() or trace.async_order != EARLY:
        order = LATE if trace.async_order == EARLY else trace.async_order
        attributes[ASYNC_ATTRIBUTE] = builder.string(order)
    if options.cluster != (1, 1, 1):
        attributes[CLUSTER_ATTRIBUTE] = builder.attribute(f"array<i32: {', '.join(map(str, options.cluster))}>")
    unique, function, entry = trace.device.kernel(symbol(name), types, attributes, location)
    return KernelBody(unique, function, shape.block, options.cluster, options.smem_merge_branch_allocs), entry


def _mark_arguments(trace: Trace, kernel: KernelBody, marks: list[str]) -> None:
    """Attributes of arguments that are more than their types say."""
    if not any(marks):
        return
    text = ", ".join("{}" if not mark else f"{{{mark}}}" for mark in marks)
    kernel.function.attributes["arg_attrs"] = trace.builder.attribute(f"[{text}]")


@contextmanager
def _inside(trace: Trace, kernel: KernelBody, entry: Block) -> Iterator[None]:
    """Trace the body: the values of the host are out of reach, and nothing decides how often it runs but the launch."""
    hosts = _open_regions(trace.region)
    outer_entry, trace.entry, trace.kernel = trace.entry, entry, kernel
    for region in hosts:
        region.open = False
    try:
        with trace.inside(entry, "kernel") as region:
            region.dynamic = hosts[0].dynamic
            kernel.region = region
            yield
    finally:
        for region in hosts:
            region.open = True
        trace.entry, trace.kernel = outer_entry, None


def _open_regions(region: Region | None) -> list[Region]:
    found: list[Region] = []
    while region is not None:
        found += [region] if region.open else []
        region = region.parent
    return found


def _verify(kernel: KernelBody) -> None:
    """Raw MLIR values of the host, which some object holds, are found only here."""
    try:
        verify(kernel.function)
    except LoweringError as error:
        if "defined outside the region" not in error.found:
            raise
        raise LeakedValueError(
            f"the kernel {kernel.name} uses a run-time value of the host that is not an argument",
            span=error.span,
            found="a value that the host function computes",
            expected="values that the kernel receives or computes",
            instead="pass it as an argument",
        ) from None


def _emit_launch(
    trace: Trace,
    kernel: KernelBody,
    shape: LaunchShape,
    options: LaunchOptions,
    values: Sequence[Any],
    overlapping: bool,
) -> None:
    builder = trace.builder
    grid, block = ([materialize(n, Int32.info, trace) for n in dimensions] for dimensions in (shape.grid, shape.block))
    cluster = [materialize(n, Int32.info, trace) for n in options.cluster] if options.cluster != (1, 1, 1) else []
    size = materialize(launch_bytes(trace, kernel, options.smem), Int32.info, trace)
    values = [*values, *(asked.compute(size) for asked in kernel.host_values.values())]
    stream = launch_stream(options.stream, trace)
    recorded = [number for event in options.events.values() for number in event_numbers(event, trace)]
    operands, attributes = launch_parts(
        builder,
        f"@{MODULE}::@{kernel.name}",
        grid=grid,
        block=block,
        cluster=cluster,
        shared_bytes=size,
        arguments=values,
        queue=[together([*recorded, *stream], trace)] if recorded else stream,
        events=list(options.events),
        cooperative=options.cooperative,
        overlapping=overlapping,
    )
    trace.operation(LAUNCH, operands, (), attributes)


def _returns(function: FunctionType, returned: object) -> ReturnValueError:
    return ReturnValueError(
        f"the kernel {function.__name__} returns a value",
        span=locations.last_return(function.__code__),
        found=describe(returned),
        expected="nothing: every thread would return its own",
        instead="a store to a tensor that is an argument",
    )
