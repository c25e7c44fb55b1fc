"""The launches of a module: which kernel each starts, and with what, as far as that is written as constants."""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.simt.operations import constant_of

_GRID, _CLUSTER, _SHARED, _ARGUMENTS = 1, 7, 10, 11
"""Places among the segments of a launch's operands."""


def launches(module: Any) -> list[Any]:
    """Every `gpu.launch_func` of the host's functions."""
    hosts = [function for function in module.body.operations if function.operation.name == "func.func"]
    return [launch for host in hosts for launch in operations_named(host, "gpu.launch_func")]


def launched(launch: Any) -> str:
    """The name of the kernel."""
    return str(launch.attributes["kernel"]).rsplit("@", 1)[-1].strip('"')


def grid(launch: Any) -> list[Any]:
    """The number of blocks along x, y, z."""
    return [value for place in range(_GRID, _GRID + 3) for value in _segment(launch, place)]


def cluster(launch: Any) -> list[int | None]:
    """The blocks of a cluster along x, y, z; nothing for a launch without clusters."""
    return [constant_of(value) for place in range(_CLUSTER, _CLUSTER + 3) for value in _segment(launch, place)]


def shared_bytes(launch: Any) -> int | None:
    """The shared memory that it provides; None when only a run tells."""
    return constant_of(_segment(launch, _SHARED)[0])


def arguments(launch: Any) -> list[Any]:
    """The values that the kernel gets."""
    return _segment(launch, _ARGUMENTS)


def with_arguments(launch: Any, more: list[Any]) -> None:
    """Replace a launch by one that gives its kernel more arguments after the ones it has."""
    ir = bindings.mlir()
    sizes = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    end = sum(sizes[: _ARGUMENTS + 1])
    operands = list(launch.operands)
    sizes[_ARGUMENTS] += len(more)
    attributes = {name: launch.attributes[name] for name in launch.attributes}
    ir.Operation.create(
        launch.operation.name,
        operands=[*operands[:end], *more, *operands[end:]],
        attributes={**attributes, "operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes, context=launch.context)},
        loc=launch.location,
        ip=ir.InsertionPoint(launch),
    )
    launch.erase()


def _segment(launch: Any, place: int) -> list[Any]:
    sizes = list(bindings.mlir().DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    start = sum(sizes[:place])
    return list(launch.operands)[start : start + sizes[place]]
