"""Device functions: the trace in progress and its device; they exist in kernels only, and take any numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from triptych.cute.tracing.errors import DeviceOnlyError
from triptych.layout.integers import DynamicInt
from triptych.metastage.kernels.launch_configuration import static_dimensions
from triptych.metastage.trace.checks import warn_here
from triptych.metastage.trace.errors import LeakedValueError, OperandTypeError
from triptych.metastage.trace.trace import HostValue, KernelBody, Trace, active, place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.binding_time import is_dynamic
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Int32, Int64, Numeric, as_number, materialize
from triptych.support.device_model import COMMON, DeviceModel
from triptych.support.wording import with_article

P = ParamSpec("P")
R = TypeVar("R")
N = TypeVar("N", bound=Numeric)
L = TypeVar("L", bound=Numeric | float)
"""A number of each lane, which stays of its type."""

Integer: TypeAlias = Numeric | DynamicInt | int
"""An integer of the program: a number of it, an integer of a layout that only the run knows, or a Python int."""


def device_function(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse calls outside kernels. `loc` and `ip`, which public programs pass along, are dropped: places are known."""

    @functools.wraps(function)
    def called(*args: object, loc: object = None, ip: object = None, **kwargs: object) -> R:
        trace = active()
        if trace is None or trace.kernel is None:
            raise DeviceOnlyError(
                f"{function.__qualname__.removesuffix('.__init__')} exists only inside a kernel",
                span=place(),
                found="a call from " + ("Python" if trace is None else "host code"),
                expected="a call in a `@kernel` function, or in one that it calls",
                instead="move it into the kernel; what the host needs to know is an argument of its own",
            )
        return cast(Callable[..., R], function)(*args, **kwargs)

    return cast(Callable[P, R], called)


def device_trace() -> Trace:
    """The trace, inside a `device_function`."""
    trace = active()
    assert trace is not None, "a device function is called in a trace"
    return trace


def kernel_body() -> KernelBody:
    """The kernel that is being traced, inside a `device_function`."""
    kernel = device_trace().kernel
    assert kernel is not None, "a device function is called in a kernel"
    return kernel


def host_value(key: object, kind: str, compute: Callable[[Any], Any], mark: str = "") -> Any:
    """An MLIR value that the host computes in front of the launch, once for each key, inside a `device_function`.

    `compute` is called in host code with the bytes of shared memory that the launch provides.
    """
    trace, asked = device_trace(), kernel_body().host_values
    if key not in asked:
        argument = trace.entry.add_argument(trace.builder.type(kind), trace.location())
        asked[key] = HostValue(argument, compute, mark)
    return asked[key].argument


def device_model() -> DeviceModel:
    """The machine that is compiled for; outside of traces what is common to all."""
    trace = active()
    return COMMON if trace is None else trace.device_model


def emit_as(result: type[N], name: str, operands: Sequence[Any] = (), attributes: Mapping[str, str] | None = None) -> N:
    """One operation on MLIR values with one result of a numeric type; attributes are written as MLIR text."""
    trace = device_trace()
    parsed = {key: trace.builder.attribute(text) for key, text in (attributes or {}).items()}
    return result.of(trace.value(name, operands, result.info.mlir, parsed), trace.region)


def number(value: object) -> Numeric:
    """A number of a type: a Python number becomes the type that it has at run time."""
    known = plain_number(value)
    return known if isinstance(known, Numeric) else NUMERIC_CLASSES[PYTHON_NUMBERS[type(known)]].fitting(known)


def plain_number(value: object) -> Numeric | int | float:
    """A number as it is: of a type, or Python's."""
    known = as_number(value)
    if isinstance(known, Numeric) or type(known) in PYTHON_NUMBERS:
        found: Numeric | int | float = known
        return found
    raise OperandTypeError(
        f"{with_article(type(value).__name__)} is not a number",
        span=place(),
        found=describe(value),
        expected="a number",
    )


def bits32(value: object) -> Any:
    """The MLIR value of a 32-bit operand: integers of any type; Python's 0xFFFFFFFF and -1 are one."""
    return _bits(value, Int32)


def mask_type() -> type[Int32]:
    """The integers that masks of lanes are: wider where a warp has more than 32."""
    return cast(type[Int32], Int32 if device_model().mask_bits == Int32.info.width else Int64)


def lane_mask(mask: object) -> Any:
    """The MLIR value of a mask with a bit for each lane; None is all of them."""
    return _bits(device_model().all_lanes if mask is None else mask, mask_type())


def _bits(value: object, kind: type[Numeric]) -> Any:
    if isinstance(value, float) and value.is_integer():  # a number of warps that a program has found by `/`
        value = int(value)
    if isinstance(value, int):
        half = 1 << kind.info.width - 1
        return materialize((value + half) % (2 * half) - half, kind.info, device_trace())
    own = number(value)
    if own.info.kind == "float":
        require_integer("this operand of an instruction", own)
    return own.to(kind).ir_value()


def require_integer(what: str, value: Numeric) -> None:
    if not value.info.is_integer:
        raise OperandTypeError(
            f"{what} works on integers", span=place(), found=type(value).__name__, expected="an integer type"
        )


def require_float(what: str, value: Numeric) -> None:
    if value.info.kind != "float":
        raise OperandTypeError(
            f"{what} works on floats", span=place(), found=type(value).__name__, expected="a float type"
        )


def tracing() -> Trace:
    """The trace in progress; pointers and tensors have no meaning outside one."""
    trace = active()
    if trace is None:
        raise LeakedValueError(
            "pointers and tensors exist only while a function is traced",
            span=place(),
            expected="a call inside a `@jit` or `@kernel` function",
        )
    return trace


def warn_of_missing_threads(what: str, wanted: object, thread: object) -> None:
    """Warn when a thread of a block takes its part of something made for more threads than the block has."""
    trace = active()
    if trace is None or trace.kernel is None or not isinstance(wanted, int) or not is_dynamic(thread):
        return
    block = static_dimensions(trace.kernel.block)
    if block is not None and math.prod(block) < wanted:
        given = math.prod(block)
        warn_here(
            f"{what} has parts for {wanted} threads, and the block has {given}: nobody takes the other parts; "
            f"write: a block of {wanted} threads, or a tiling for {given}"
        )
