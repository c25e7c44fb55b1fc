"""Launch operation: the one place that knows how `gpu.launch_func` orders its operands.

The meta-stage writes launches with `launch_parts`; every pass reads them as a `Launch`.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.support.dataclass import dataclass

LAUNCH = "gpu.launch_func"
_SIZES = "operandSegmentSizes"
_GRID, _BLOCK, _CLUSTER, _SHARED, _ARGUMENTS, _STREAM, _END = 1, 4, 7, 10, 11, 12, 13
"""Segments of the operands. In front of them are the launches to wait for, which nobody writes."""
_FLAG = "triptych."
MAPS = _FLAG + "maps"
"""On launches and on kernels: which of the arguments are tensor maps."""
_COOPERATIVE, _OVERLAPPING = "cooperative", "use_pdl"
PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT = "programmatic_event", "launch_completion_event"
EVENT_OPTIONS = {PROGRAMMATIC_EVENT: ("flags", "trigger_at_block_start"), LAUNCH_COMPLETION_EVENT: ("flags",)}
"""The events that a launch may record, and what goes with the handle of each."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One `gpu.launch_func`, by the names of what it is given."""

    operation: Operation

    @property
    def kernel(self) -> str:
        """The symbol of the kernel, in its `gpu.module`."""
        return str(bindings.mlir().SymbolRefAttr(self.operation.attributes["kernel"]).value[-1])

    @property
    def grid(self) -> tuple[Value, ...]:
        """The number of blocks along x, y, z."""
        return self._operands(_GRID, _BLOCK)

    @property
    def block(self) -> tuple[Value, ...]:
        """The number of threads of a block along x, y, z."""
        return self._operands(_BLOCK, _CLUSTER)

    @property
    def cluster(self) -> tuple[Value, ...]:
        """The blocks of a cluster along x, y, z; nothing for a launch without clusters."""
        return self._operands(_CLUSTER, _SHARED)

    @property
    def shared_bytes(self) -> Value | None:
        """The shared memory that it provides, if it says so."""
        return next(iter(self._operands(_SHARED, _ARGUMENTS)), None)

    @property
    def arguments(self) -> tuple[Value, ...]:
        """The values that the kernel gets."""
        return self._operands(_ARGUMENTS, _STREAM)

    @property
    def queue(self) -> Value | None:
        """The handle of the stream, if the launch names one; with events, a struct of i64: the handle of each with
        its options, then that of the stream."""
        return next(iter(self._operands(_STREAM, _END)), None)

    @property
    def streamed(self) -> bool:
        """Whether the launch names a stream; otherwise it is the call's."""
        queued = 0 if self.queue is None else str(self.queue.type).count("i64")
        return queued > sum(1 + len(EVENT_OPTIONS[event]) for event in self.events)

    @property
    def events(self) -> tuple[str, ...]:
        """The events that it records, in the order of the queue."""
        return tuple(event for event in EVENT_OPTIONS if self._has(event))

    @property
    def values(self) -> tuple[Value, ...]:
        """Grid, block, cluster, shared memory, arguments and queue, as far as they are there, in this order."""
        return self._operands(_GRID, _END)

    @property
    def cooperative(self) -> bool:
        """Whether its blocks synchronise as one grid."""
        return self._has(_COOPERATIVE)

    @property
    def overlapping(self) -> bool:
        """Whether the kernel may begin before the one in front of it in the stream has ended."""
        return self._has(_OVERLAPPING)

    @property
    def maps(self) -> frozenset[int]:
        """The places of its arguments that are tensor maps."""
        found = self.operation.attributes
        return frozenset(bindings.mlir().DenseI32ArrayAttr(found[MAPS]) if MAPS in found else ())

    def argument_of_operand(self, number: int) -> int | None:
        """The place among the kernel's arguments that an operand of the operation has; None for any other operand."""
        sizes = self._sizes
        place = number - sum(sizes[:_ARGUMENTS])
        return place if 0 <= place < sizes[_ARGUMENTS] else None

    def add_arguments(self, more: Sequence[Value]) -> Launch:
        """Replace the launch by one that gives its kernel more arguments after the ones it has."""
        old, sizes = self.operation, self._sizes
        end = sum(sizes[:_STREAM])
        sizes[_ARGUMENTS] += len(more)
        operands = list(old.operands)
        attributes = {name: old.attributes[name] for name in old.attributes}
        attributes[_SIZES] = bindings.mlir().DenseI32ArrayAttr.get(sizes, context=old.context)
        given = [*operands[:end], *more, *operands[end:]]
        new = builder_before(old).operation(LAUNCH, given, attributes=attributes)
        old.erase()
        return Launch(new)

    @property
    def _sizes(self) -> list[int]:
        return list(bindings.mlir().DenseI32ArrayAttr(self.operation.attributes[_SIZES]))

    def _operands(self, first: int, end: int) -> tuple[Value, ...]:
        sizes = self._sizes
        return tuple(self.operation.operands)[sum(sizes[:first]) : sum(sizes[:end])]

    def _has(self, flag: str) -> bool:
        return _FLAG + flag in self.operation.attributes


def launches(module: Module) -> list[Launch]:
    """Every launch of the host's functions, found without a walk over kernels or what they become: that is private."""
    functions = [function for function in module.body.operations if function.operation.name == "func.func"]
    hosts = [function for function in functions if "sym_visibility" not in function.operation.attributes]
    return [Launch(operation) for host in hosts for operation in operations_named(host, LAUNCH)]


def launch_parts(
    builder: Builder,
    kernel: str,
    *,
    grid: Sequence[Value],
    block: Sequence[Value],
    cluster: Sequence[Value],
    shared_bytes: Value,
    arguments: Sequence[Value],
    queue: Sequence[Value],
    events: Sequence[str],
    cooperative: bool,
    overlapping: bool,
) -> tuple[list[Value], dict[str, Attribute]]:
    """The operands and the attributes of a launch; `kernel` is written as a symbol, with that of its module."""
    each: list[list[Value]] = [[], *([n] for n in (*grid, *block)), *([n] for n in cluster or ())]
    each += [[]] * (_SHARED - len(each))
    each += [[shared_bytes], list(arguments), list(queue)]
    sizes = ", ".join(str(len(segment)) for segment in each)
    flags = {_COOPERATIVE: cooperative, _OVERLAPPING: overlapping, **dict.fromkeys(events, True)}
    attributes = {
        "kernel": builder.attribute(kernel),
        _SIZES: builder.attribute(f"array<i32: {sizes}>"),
        **{_FLAG + name: builder.attribute("unit") for name, wanted in flags.items() if wanted},
    }
    return [value for segment in each for value in segment], attributes
